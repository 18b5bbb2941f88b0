"""Small libraries to fit the judge on: what is left out is out, and equal arguments make equal libraries."""

from __future__ import annotations

import json
import os
import random
import zlib
from pathlib import Path

import pytest

from wherefrom.errors import SettingsError
from wherefrom.systems.judge.libraries import KINDS, Paragraph, cut, libraries, manual_libraries
from wherefrom.systems.judge.material import is_right

DATA = os.environ.get("WHEREFROM_DATA")


def town(number: int) -> list[Paragraph]:
    return [
        Paragraph(
            f"town-{number}",
            f"Street {number}.{place} has {place} lamps.",
            f"Town {number}",
            [(f"How many lamps has street {number}.{place}?", (f"{place} lamps",))],
            [f"Who lit street {number}.{place}?"] if place == 0 else [],
        )
        for place in range(12)
    ]


def test_left_out_paragraphs_are_in_no_document_and_their_questions_are_asked() -> None:
    paragraphs = [paragraph for number in range(6) for paragraph in town(number)]
    made = list(cut("towns", paragraphs, (1, 2, 0), 60, random.Random(1)))
    assert [len(library.documents) for library in made] == [1, 2, 3]
    for library in made:
        text = "\n".join(document.text for document in library.documents)
        answered = [question for question in library.questions if question.answers]
        held = [f"has {question.answers[0]}." in text and _street(question.text) in text for question in answered]
        absent = [question for question in library.questions if not question.answers]
        assert 0 < held.count(False) <= 5  # near misses: about a fifth of 20
        assert held.count(True) >= 8
        assert any(question.text.startswith("Who lit") for question in absent)
        assert any(_street(question.text) not in text for question in absent)  # of another library
        assert len({question.id for question in library.questions}) == len(library.questions)


def _street(question: str) -> str:
    return f"Street {question.rpartition(' ')[2].rstrip('?')} "


def test_strangers_replace_questions_of_the_same_kind() -> None:
    policies = [paragraph for number in range(3) for paragraph in town(number)]
    others = [Paragraph("moon", "The moon is far.", "", [("How far is the moon?", ("far",))])]
    for library in cut("policies", policies, (1, 1, 1), 24, random.Random(1), others):
        strange = [question.text for question in library.questions if not question.answers]
        assert set(strange) - {text for text in strange if text.startswith("Who lit")} == {"How far is the moon?"}
        assert sum(len(document.text.split("\n\n")) for document in library.documents) == 12  # nothing is left out


@pytest.fixture
def manuals(tmp_path: Path) -> Path:
    lines = []
    for number in range(200):
        line = {
            "collection": "web" if number % 2 else "mail",
            "document": f"doc-{number}",
            "title": "Manual",
            "section": f"Option {number}",
            "passage": f"Option {number} waits {number} seconds by default.",
            "question": f"how long does option {number} wait",
            "answer": f"{number} seconds",
            "kind": "number",
            "near_miss": False,
            "others": [["Other", "", f"Nothing on option {number}."]],
        }
        lines += [line, line | {"question": f"Why does option {number} wait?", "answer": None, "near_miss": True}]
        lines.append(line | {"question": f"Does option {number} wait?", "answer": "yes", "kind": "yes-no"})
    file = tmp_path / "manuals.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_manuals_become_a_library_a_collection_and_held_out_documents_are_asked_about(manuals: Path) -> None:
    made = manual_libraries(manuals, 40, seed=1)
    assert made == manual_libraries(manuals, 40, seed=1)
    assert made != manual_libraries(manuals, 40, seed=2)
    assert [library.name for library in made] == ["manuals-mail", "manuals-web", "yes-no-mail", "yes-no-web"]
    assert {library.kind for library in made} == {"manuals", "yes-no"}
    for library in made:
        assert "Option 1" in "".join(document.text for document in library.documents)
        assert {document.title for document in library.documents} == {"Manual", "Other"}
        collection = library.name.removeprefix(f"{library.kind}-")
        held_out = [n for n in range(200) if zlib.crc32(f"{collection}/doc-{n}".encode()) % 5 == 0]
        own = [question.text.rstrip("?") for question in library.questions if question.answers]
        assert {int(word) for text in own for word in text.split() if word.isdigit()} <= set(held_out)
        texts = [question.text for question in library.questions]
        assert {text.startswith("Does") for text in texts} == {library.kind == "yes-no"}
        assert any(text.startswith("Why") for text in texts) == (library.kind == "manuals")
        assert 11 <= len(texts) <= 20


def test_an_unknown_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="knows no 'films'; it knows encyclopedia"):
        libraries(["films"], tmp_path, 10, seed=1)


@pytest.mark.skipif(not DATA, reason="the datasets are where WHEREFROM_DATA points")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_questions_with_and_without_answers(kind: str) -> None:
    assert DATA
    made = libraries([kind], Path(DATA), 60, seed=1)
    questions = [question for library in made for question in library.questions]
    assert 35 <= len(questions) <= 70
    assert len({question.id for question in questions}) == len(questions)
    assert all(library.documents for library in made)
    assert all(question.text.strip() for question in questions)
    if kind != "search":  # where nobody knows
        assert 0.1 <= sum(not question.answers for question in questions) / len(questions) < 0.5


def test_what_counts_as_right() -> None:
    assert is_right("in May 2019", ["May 2019", "2019"])
    assert is_right("Lake Victoria", ["lake Victoria in Africa"])  # nearly the same words
    assert not is_right("2019", ["the second of May 2019"])
    sentence = "I would say it depends, but the pizzas are probably unsafe to eat by now"
    assert is_right("probably unsafe to eat", [sentence])
    assert not is_right("pizzas", [sentence])
    assert not is_right("", [""])
