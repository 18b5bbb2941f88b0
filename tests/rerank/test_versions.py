"""Old and new versions of one text."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.rerank.versions import VersionedSources, are_versions, is_newer
from wherefrom.types import Candidate, Hit, Passage

RULE = "Guests may park in the yard. The gate closes at {} every evening, and the porter keeps the key until morning."
OTHER = "In the annex the doors are shut at 9 pm, when the caretaker goes home and the lights are put out."


def passage(document: str, text: str, title: str = "") -> Passage:
    return Passage(f"{document}#0", document, text, 0, len(text), title)


def candidate(answer: str, document: str, text: str, score: float = -1.0, title: str = "") -> Candidate:
    start = text.index(answer)
    return Candidate(answer, passage(document, text, title), start, start + len(answer), score, {"span": score})


def rule(hour: str, document: str, score: float = -1.0, title: str = "House rules") -> Candidate:
    return candidate(hour, document, RULE.format(hour), score, title)


def sources(dates: Mapping[str, str] | None = None) -> VersionedSources:
    return VersionedSources(lambda ids: {id: date for id, date in (dates or {}).items() if id in ids})


def no_dates(_ids: Sequence[str]) -> Mapping[str, str]:
    raise AssertionError("one document has no versions")


def relevant(*candidates: Candidate, relevance: float = 0.9) -> list[Hit]:
    return [Hit(each.passage, relevance, {"rank": relevance}) for each in candidates]


@pytest.mark.parametrize(
    ("old", "new", "dates"),
    [
        ("rules-2.9.md", "rules-2.10.md", {}),
        ("rules v1.txt", "rules v2.txt", {}),
        ("rules-2021.md", "rules-2023.md", {}),
        ("rules_2023-01-31.md", "rules_2023-02-01.md", {}),
        ("a.md", "b.md", {"a.md": "2020-01-01", "b.md": "2021-06-30T10:00:00Z"}),
        ("rules-1.0.md", "rules-2.0.md", {"rules-1.0.md": "2024-01-01", "rules-2.0.md": "2023-01-01"}),  # names first
    ],
)
def test_the_newest_version_is_believed(old: str, new: str, dates: Mapping[str, str]) -> None:
    older, newer = rule("10 pm", old, -0.5), rule("11 pm", new, -1.5)
    ordered = sources(dates).newest_first([older, newer])
    assert [each.text for each in ordered] == ["11 pm", "10 pm"]
    assert ordered[0].score >= ordered[1].score
    (told,) = sources(dates).disagreements(relevant(older, newer), ordered)
    assert (told.text, told.older, told.passage.document_id) == ("10 pm", True, old)
    assert told.passage.text[told.start : told.end] == "10 pm"
    assert sources(dates).newest_first([newer, older])[0] is newer


def test_without_a_date_the_order_stays_and_the_disagreement_is_told() -> None:
    one, two = rule("10 pm", "a.md"), rule("11 pm", "b.md", -1.2)
    assert sources().newest_first([one, two]) == [one, two]
    assert [told.text for told in sources().disagreements(relevant(one, two), [one, two])] == ["11 pm"]


def test_a_newer_version_far_behind_is_not_believed() -> None:
    one, two = rule("10 pm", "rules-1.0.md", -0.1), rule("11 pm", "rules-2.0.md", -6.0)
    assert sources().newest_first([one, two]) == [one, two]
    assert sources().disagreements(relevant(one, two), [one, two]) == ()


def test_documents_that_are_no_versions_keep_their_order() -> None:
    one, two = rule("10 pm", "rules-1.0.md"), candidate("9 pm", "annex-2.0.md", OTHER, -1.2, "Annex")
    assert sources().newest_first([one, two]) == [one, two]
    assert [told.text for told in sources().disagreements(relevant(one, two), [one, two])] == ["9 pm"]
    assert sources().disagreements(relevant(one, two, relevance=0.1), [one, two]) == ()


def test_one_document_and_equal_answers_cost_and_tell_nothing() -> None:
    one = rule("10 pm", "rules.md")
    alone = VersionedSources(no_dates)
    assert alone.newest_first([one, one]) == [one, one]
    assert alone.disagreements(relevant(one), [one, one]) == ()
    same = rule("10 pm", "copy.md", -1.1)
    assert alone.disagreements(relevant(one, same), [one, same]) == ()
    part = candidate("at 10 pm", "copy.md", RULE.format("10 pm"), -1.1)
    assert alone.disagreements(relevant(one, part), [one, part]) == ()


def test_the_same_title_alone_makes_no_versions() -> None:
    readme, other = passage("a/README.md", RULE.format("ten"), "README"), passage("b/README.md", OTHER, "README")
    assert not are_versions(readme, other)
    assert not is_newer(readme, other, {})


def write(file: Path, hour: str, seconds: int, matter: str = "") -> None:
    file.write_text(f"{matter}# House rules\n\n{RULE.format(hour)}\n")
    os.utime(file, (seconds, seconds))


def test_a_library_prefers_the_file_that_was_changed_last(tmp_path: Path) -> None:
    write(tmp_path / "one.md", "10 pm", 1_700_000_000)
    write(tmp_path / "two.md", "11 pm", 1_600_000_000)
    with Library(tmp_path / "library") as library:
        library.ingest([tmp_path / "one.md", tmp_path / "two.md"])
        assert library.document("two.md").date == "2020-09-13T12:26:40Z"
        answer = library.ask("When does the gate close?", min_chance=0.0).answer
        assert answer is not None
        assert answer.text
        assert answer.text.startswith("10 pm")
        (told,) = answer.disagrees
        assert told.text.startswith("11 pm")
        assert (told.older, told.date[:10]) == (True, "2020-09-13")
        # A date in front matter counts for more than the file's own.
        write(tmp_path / "two.md", "11 pm", 1_600_000_000, "---\ntitle: House rules\nupdated: 2031-02-01\n---\n")
        library.ingest([tmp_path / "two.md"])
        answer = library.ask("When does the gate close?", min_chance=0.0).answer
        assert answer is not None
        assert answer.text
        assert answer.text.startswith("11 pm")


def test_documents_of_an_older_library_get_their_dates_when_ingested_again(tmp_path: Path) -> None:
    write(tmp_path / "one.md", "10 pm", 1_700_000_000)
    with Library(tmp_path / "library") as library:
        library.ingest([tmp_path / "one.md"])
        with sqlite3.connect(tmp_path / "library" / "documents.sqlite", isolation_level=None) as connection:
            connection.execute("DELETE FROM dated")
        connection.close()
        assert library.document("one.md").date == ""
        assert library.ingest([tmp_path / "one.md"]).unchanged == 1
        assert library.document("one.md").date == "2023-11-14T22:13:20Z"
