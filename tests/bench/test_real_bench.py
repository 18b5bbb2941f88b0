"""The real-document bench: a sound file of questions, fair rules of judging, the right stage blamed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from bench.real.check import missing_quotes
from bench.real.coverage import stored_share
from bench.real.fetch import Collection, FetchError, Package, collections, digest, make
from bench.real.questions import FILE, KINDS, Evidence, RealQuestion, faults, load
from bench.real.run import RealRun, main, run
from bench.real.scoring import BY_CHANCE, NONE_RIGHT, broken_words, first_sentence, is_right, judged, share_held
from bench.real.summary import QuestionResult, figures
from bench.real.visible import visible_text, words

from wherefrom.config import resolve
from wherefrom.types import Answer, Candidate, Hit, Passage, Question, Trace

QUESTIONS = load()
WITHOUT_NETWORKS = (
    "rank.kind=overlap",
    "read.kind=sentence",
    "judge.kind=lexical",
    "write.kind=verbatim",
    "write.yes_no=false",
)

DOCUMENT = "The harbour opens at six. The fee for a small boat is 12 crowns a night. Dogs must stay on board."
FEE = RealQuestion(
    "q-1",
    "harbour",
    "tune",
    "number",
    "what does a night cost?",
    ("12 crowns", "12"),
    Evidence("fees.txt", "The fee for a small boat is 12 crowns a night."),
    answerable=True,
    near_miss=False,
)
ABSENT = replace(FEE, answers=(), evidence=None, answerable=False)
DOGS = replace(FEE, kind="yes-no", answers=("no",), evidence=Evidence("fees.txt", "Dogs must stay on board."))


# ------------------------------------------------------------------------------------------- questions


def test_the_file_of_questions_is_sound() -> None:
    assert list(faults(QUESTIONS)) == []


def test_there_are_as_many_questions_of_each_sort_as_the_readme_says() -> None:
    assert len(QUESTIONS) == 300
    for half in ("tune", "test"):
        some = [question for question in QUESTIONS if question.half == half]
        assert len(some) == 150
        assert sum(question.answerable for question in some) == 110
        assert sum(question.near_miss for question in some) == 20
    assert {question.collection for question in QUESTIONS} == set(collections())
    assert set(Counter(question.kind for question in QUESTIONS)) == set(KINDS)
    assert sum(question.kind == "keywords" for question in QUESTIONS) >= 30


def test_the_file_has_exactly_the_fields_that_are_promised() -> None:
    names = {"id", "collection", "half", "kind", "question", "answers", "evidence", "answerable", "near_miss"}
    assert all(set(json.loads(line)) == names for line in FILE.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (replace(FEE, half="test"), "serves both halves"),
        (replace(FEE, kind="riddle"), "is unknown"),
        (replace(FEE, answers=()), "has answers, and nothing else has"),
        (replace(FEE, evidence=None), "has evidence"),
        (replace(FEE, answers=("13 crowns",)), "no accepted answer stands in its quote"),
        (replace(ABSENT, near_miss=True), "names what it nearly hits"),
        (replace(FEE, id="q-1"), "stands there 2 times"),
    ],
)
def test_a_fault_is_found(changed: RealQuestion, fault: str) -> None:
    other = changed if changed.id == FEE.id and changed == FEE else replace(changed, id="q-2", question="another?")
    assert any(fault in found for found in faults([FEE, other]))


def test_most_questions_are_not_worded_like_their_evidence() -> None:
    """At most two in five may have most of their longer words from the quote."""
    answerable = [question for question in QUESTIONS if question.answerable and question.evidence]
    alike = 0
    for question in answerable:
        asked = {word for word in words(question.question).split() if len(word) > 3}
        assert question.evidence is not None
        quoted = set(words(question.evidence.quote).split())
        alike += len(asked & quoted) > len(asked) / 2
    assert alike <= 0.4 * len(answerable)


# ------------------------------------------------------------------------------------------- documents


def test_every_quote_of_our_own_papers_stands_in_them(tmp_path: Path) -> None:
    assert list(missing_quotes(collections()["private"], tmp_path, QUESTIONS)) == []


def test_a_quote_that_is_not_in_its_document_is_told(tmp_path: Path) -> None:
    mine = next(question for question in QUESTIONS if question.collection == "private" and question.evidence)
    assert mine.evidence is not None
    wrong = replace(mine, evidence=replace(mine.evidence, quote="Nobody wrote this."))
    nowhere = replace(mine, evidence=replace(mine.evidence, document="nowhere.txt"))
    told = list(missing_quotes(collections()["private"], tmp_path, [wrong, nowhere]))
    assert "does not say" in told[0]
    assert "there is no" in told[1]


def test_what_is_visible_of_a_page_has_no_scripts_and_of_markdown_no_addresses(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<head><title>T</title></head><p>One&nbsp;two<script>three()</script></p><td>4</td><td>5</td>")
    assert words(visible_text(page)) == "one two 4 5"
    note = tmp_path / "note.md"
    note.write_text("See [the *guide*](guide.html) and <b>this</b>.")
    assert words(visible_text(note)) == "see the guide and this"


def test_versions_are_exact_and_no_registry_is_named() -> None:
    for collection in collections().values():
        assert collection.own or collection.packages
        for package in collection.packages:
            mark = {"apt": "=", "npm": "@", "pip": "=="}[package.client]
            assert all(name.rpartition(mark)[2][:1].isdigit() for name in package.names)
    here = FILE.parent
    assert "://" not in (here / "collections.toml").read_text() + (here / "fetch.py").read_text()


FAKE_NPM = """#!{python}
import io, sys, tarfile
assert sys.argv[1:] == ["pack", "boats@1.2.0", "--silent"]
with tarfile.open("boats-1.2.0.tgz", "w:gz") as packed:
    for name in ("package/README.md", "package/docs/old/CHANGELOG.md", "package/index.js"):
        entry = tarfile.TarInfo(name)
        entry.size = 5
        packed.addfile(entry, io.BytesIO(b"boats"))
"""


def test_a_collection_is_made_by_the_registry_s_own_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = tmp_path / "bin" / "npm"
    client.parent.mkdir()
    client.write_text(FAKE_NPM.format(python=sys.executable))
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(client.parent))
    boats = Collection("boats", "", "MIT", packages=(Package("npm", ("boats@1.2.0",), take=("readme.md",)),))
    told: list[str] = []
    make(boats, tmp_path / "made", say=told.append)
    made = [path for path in (tmp_path / "made").rglob("*") if path.is_file()]
    assert [path.relative_to(tmp_path / "made").as_posix() for path in made] == ["boats/boats/README.md"]
    assert "NOT the same" in told[0]
    make(replace(boats, sha256=digest(tmp_path / "made" / "boats")), tmp_path / "made", say=told.append)
    assert told[1] == "boats: is there"


def test_a_missing_client_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    boats = Collection("boats", "", "MIT", packages=(Package("apt", ("boats=1",), take=("*",)),))
    with pytest.raises(FetchError, match="`apt-get` is needed"):
        make(boats, tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []


# ---------------------------------------------------------------------------------------------- judging


@pytest.mark.parametrize(
    ("said", "kind", "accepted", "right"),
    [
        ("12 crowns a night", "number", ("12 crowns",), True),  # holds it
        ("112 crowns", "number", ("12 crowns",), False),  # but not as whole words
        ("crowns", "number", ("12 crowns a night",), False),  # too little of it
        ("12 crowns", "number", ("12 crowns a night",), True),  # inside it, F1 0.8
        ("3 May 2024", "fact", ("3 June 2024",), False),  # F1 0.67, but neither holds the other
        ("the pump was quite worn out", "why", ("the pump is worn out",), True),  # F1 alone, where wording is free
        ("the radiator is cold", "why", ("the pump is worn out",), False),
        ("Yes: dogs may land", "yes-no", ("yes",), True),
        ("No", "yes-no", ("yes",), False),
        ("dogs may land", "yes-no", ("yes",), False),  # the word is missing
        ("2 for 1", "number", ("2%",), False),
        ("the yield is 2 %", "number", ("2%",), True),
        ("*", "how-to", ("*",), True),
        ("&", "how-to", ("*",), False),
        (None, "fact", ("12",), False),
        ("12", "fact", (), False),
    ],
)
def test_an_answer_is_judged(said: str | None, kind: str, accepted: tuple[str, ...], right: bool) -> None:
    assert is_right(said, replace(FEE, kind=kind, answers=accepted)) is right


def test_how_much_of_a_quote_a_text_holds() -> None:
    assert share_held("one two three four", "ONE, two\nthree four.") == 1.0
    assert share_held("one two three four five", "zero one two three four") == pytest.approx(2 / 3)
    assert share_held("one two", "two one") == 0.0


def _hit(number: int, text: str, score: float = 1.0) -> Hit:
    return Hit(Passage(f"fees.txt#{number}", "fees.txt", text, 0, len(text)), score, {"retrieve": score})


def _candidate(hit: Hit, text: str) -> Candidate:
    start = hit.passage.text.index(text)
    return Candidate(text, hit.passage, start, start + len(text), 1.0)


def _trace(hits: list[Hit], candidates: list[Candidate], text: str | None) -> Trace:
    return Trace(Question("", FEE.question), tuple(hits), tuple(candidates), Answer(text, "short", 0.5))


OWN = _hit(0, DOCUMENT)
OTHERS = [_hit(number, f"Nothing of note happened in year {number}.") for number in range(1, 8)]
STORED = {"fees.txt": DOCUMENT}


@pytest.mark.parametrize(
    ("trace", "answered", "stored", "outcome", "stage"),
    [
        (_trace([OWN], [_candidate(OWN, "12 crowns")], "12 crowns"), True, STORED, "right", None),
        (_trace([OWN], [_candidate(OWN, "12 crowns")], "12 crowns"), False, STORED, "wrongly declined", "judging"),
        (_trace([OWN], [_candidate(OWN, "12 crowns")], "a few coins"), True, STORED, "wrong", "writing"),
        (_trace([OWN], [_candidate(OWN, "six")], "six"), True, STORED, "wrong", "reading"),
        (_trace([OWN], [_candidate(OWN, "six")], "six"), False, STORED, "wrongly declined", "reading"),
        (_trace([*OTHERS, OWN], [_candidate(OTHERS[0], "year 1")], "year 1"), True, STORED, "wrong", "ranking"),
        (_trace(OTHERS, [_candidate(OTHERS[0], "year 1")], "year 1"), True, STORED, "wrong", "retrieval"),
        (_trace([], [], None), False, STORED, "wrongly declined", "retrieval"),
        (_trace(OTHERS, [], None), False, {"fees.txt": "The harbour opens."}, "wrongly declined", "extraction"),
    ],
)
def test_the_stage_to_blame(
    trace: Trace, answered: bool, stored: dict[str, str], outcome: str, stage: str | None
) -> None:
    found = judged(FEE, trace, answered, stored)
    assert (found.outcome, found.stage) == (outcome, stage)


def test_a_later_candidate_that_is_right_is_told() -> None:
    trace = _trace([OWN], [_candidate(OWN, "six"), _candidate(OWN, "12 crowns")], "six")
    assert judged(FEE, trace, True, STORED).detail == "candidate 2 is right"


def test_what_the_collection_does_not_say_is_to_be_declined() -> None:
    trace = _trace([OWN], [_candidate(OWN, "six")], "six")
    assert judged(ABSENT, trace, False, STORED).outcome == "rightly declined"
    said = judged(ABSENT, trace, True, STORED)
    assert (said.outcome, said.stage) == ("wrong", "judging")


def test_the_wrong_word_over_the_right_quotation_is_an_error_of_writing() -> None:
    trace = _trace([OWN], [_candidate(OWN, "Dogs must stay on board")], "Yes")
    assert judged(DOGS, trace, True, STORED).stage == "writing"
    assert judged(DOGS, replace(trace, answer=Answer("No", "short", 0.5)), True, STORED).outcome == "right"


def test_a_word_that_is_right_by_chance_is_right_but_told_and_no_fault_of_the_judge() -> None:
    trace = _trace([OWN], [_candidate(OWN, "The harbour opens at six")], "No")
    right = judged(DOGS, trace, True, STORED)
    assert (right.outcome, right.detail) == ("right", BY_CHANCE)
    assert judged(DOGS, trace, False, STORED).stage == "reading"


def test_words_that_were_broken_in_reading_the_file_are_an_error_of_extraction() -> None:
    trace = _trace(OTHERS, [], None)
    for read, stage in (
        (DOCUMENT.replace("12 crowns", "12cro wns"), "extraction"),
        (DOCUMENT.replace("crowns a night", "cro wns a night") + " Elsewhere it is 12 crowns a night.", "extraction"),
        (DOCUMENT.replace("a night.", "a nig ht."), "retrieval"),  # not a word of the answer
        (DOCUMENT, "retrieval"),
    ):
        asked = replace(FEE, answers=("12 crowns",))
        assert judged(asked, trace, False, {"fees.txt": read}).stage == stage
    assert broken_words("one two three", "nothing near it") == ["one", "two", "three"]
    assert broken_words("one two three", "some one two thr ee") == ["three"]


def test_how_much_of_a_document_is_stored() -> None:
    assert stored_share("one two three four", "One two three. Four") == 1.0
    assert stored_share("one two three four five", "one two three") == pytest.approx(1 / 3)


def test_the_first_sentence_is_that_of_the_passage_found_first_not_of_the_one_ranked_first() -> None:
    assert first_sentence([OTHERS[0], replace(OWN, features={"retrieve": 7.0})]) == "The harbour opens at six."
    assert first_sentence([]) is None


# ---------------------------------------------------------------------------------------------- figures


def _line(answerable: bool, answered: bool, right: bool, near_miss: bool = False) -> QuestionResult:
    if answerable:
        outcome = "right" if answered and right else "wrong" if answered else "wrongly declined"
    else:
        outcome = "wrong" if answered else "rightly declined"
    return QuestionResult(
        id="",
        collection="",
        half="tune",
        kind="fact",
        question="",
        answerable=answerable,
        near_miss=near_miss,
        text="",
        chance=0.75 if answered else 0.25,
        answered=answered,
        right=right,
        outcome=outcome,
        stage=None if outcome in ("right", "rightly declined") else "reading" if answerable else "judging",
        detail="candidate 3 is right" if answerable and answered and not right else NONE_RIGHT,
        rank=None,
        passage=None,
        candidates=[],
        accepted=[],
        first_sentence=None,
        first_sentence_right=False,
        seconds=0.0,
    )


def test_figures_worked_out_by_hand() -> None:
    got = figures(
        [
            _line(True, True, True),
            _line(True, True, True),
            _line(True, True, False),
            _line(True, False, True),
            _line(True, False, False),
            _line(False, False, False, near_miss=True),
            _line(False, True, False, near_miss=True),
            _line(False, False, False),
        ]
    )
    assert (got.right, got.wrong, got.wrongly_declined, got.rightly_declined) == (2, 2, 2, 2)
    assert got.precision == 2 / 4
    assert got.right_share == 2 / 5
    assert got.absent_declined == 2 / 3
    assert got.near_miss_declined == 1 / 2
    assert got.stages["reading"] == 3
    assert got.stages["judging"] == got.absent_answered == 1
    assert got.read_later == 1
    # 4 at 0.75 of which 2 are right, 4 at 0.25 of which 1 is: (4 * 0.25 + 4 * 0) / 8
    assert got.calibration_error == pytest.approx(0.125)


# -------------------------------------------------------------------------------------------- a whole run


def test_a_run_over_our_own_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl"
    set_options = [part for each in WITHOUT_NETWORKS for part in ("--set", each)]
    assert main([str(tmp_path), "--collection", "private", "--half", "test", "--out", str(out), *set_options]) == 0
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    wanted = [question for question in QUESTIONS if question.collection == "private" and question.half == "test"]
    assert [line["id"] for line in lines] == [question.id for question in wanted]
    assert any(line["outcome"] == "right" for line in lines)
    # All that stands in these papers is read out of them, and with 50 passages nearly all of it is found.
    assert not [line["id"] for line in lines if line["stage"] == "extraction"]
    assert sum(line["rank"] is None for line in lines if line["answerable"]) <= 3
    printed = capsys.readouterr().out
    assert "first sentence of the best BM25 passage" in printed
    assert out.with_suffix(".md").read_text(encoding="utf-8").startswith(printed[:100])
    assert json.loads(out.with_suffix(".summary.json").read_text())["figures"]["questions"] == len(wanted)


def test_the_library_is_kept_and_used_again(tmp_path: Path) -> None:
    one = [question for question in QUESTIONS if question.collection == "private"][:1]
    plan = RealRun(tmp_path, resolve(overrides=WITHOUT_NETWORKS), one)
    first = run(plan, lambda _: None)
    (kept,) = (tmp_path / ".libraries").iterdir()
    before = (kept / "documents.sqlite").stat().st_ino
    assert [line["text"] for line in run(plan, lambda _: None)] == [line["text"] for line in first]
    assert (kept / "documents.sqlite").stat().st_ino == before
    run(replace(plan, settings=resolve(overrides=[*WITHOUT_NETWORKS, "split.words=60"])), lambda _: None)
    assert len(list((tmp_path / ".libraries").iterdir())) == 2


def test_a_collection_that_was_not_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--collection", "pdf", "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "bench.real.fetch" in capsys.readouterr().err
