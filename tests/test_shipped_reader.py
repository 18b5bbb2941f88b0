"""The reader that comes with wherefrom: its files, and what it makes of awkward input."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from wherefrom import Library
from wherefrom.build import build
from wherefrom.config import Settings
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.types import Document, Hit, Passage, Question, Trace

FOLDER = SHIPPED / "reader"


def long(yards: int) -> str:
    """Nine words a yard, then what is asked for, then the same again."""
    around = " ".join(f"The gate of yard {number} was painted in March." for number in range(yards))
    return f"{around} The key of the tower hangs behind the clock. {around}"


AWKWARD = {
    "one word": "Marta",
    "long": long(120),  # about 2,000 words: many windows
    "Japanese": "灯台の鍵は時計の後ろにある。鍵番は田中である。",
    "Arabic": "مفتاح المنارة خلف الساعة.",
    "combining": "Zoe\u0301 keeps the key of the tower behind the clo\u0308ck 🕰️.",
    "marks": "[CLS] [SEP] [MASK] [PAD] <s> ## ## ((( ",
    "dots": "." * 3000,
}
QUESTIONS = ["Where does the key of the tower hang?", "?", "key " * 1000, "鍵はどこですか", "[SEP] [SEP]", "\u200b"]


def test_the_files_are_those_that_were_measured() -> None:
    provenance = msgspec.json.decode((FOLDER / "provenance.json").read_bytes())
    assert {name: file_hash(FOLDER / name) for name in provenance["files"]} == provenance["files"]
    assert provenance["uncommitted_changes"] is False
    assert sum(file.stat().st_size for file in FOLDER.glob("*.onnx")) < 30e6
    content = b"".join(file.read_bytes() for file in FOLDER.iterdir())
    assert not re.search(rb"/(home|root|tmp|usr|opt|var)/|site-packages", content)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    library = Library(tmp_path_factory.mktemp("awkward") / "library")
    library.put([Document(name.replace(" ", "-"), text, "") for name, text in AWKWARD.items()])
    return library


def places_are_exact(trace: Trace, library: Library | None = None) -> None:
    for candidate in trace.candidates:
        assert candidate.passage.text[candidate.start : candidate.end] == candidate.text
    assert trace.answer is not None
    assert 0.0 <= trace.answer.chance <= 1.0
    evidence = {passage.id: passage for passage in trace.answer.evidence}
    for word in trace.answer.words:
        assert word.passage_id is not None
        passage = evidence[word.passage_id]
        assert passage.text[word.start : word.end] == word.text
        if library is not None:
            assert library.document(passage.document_id).text[passage.start : passage.end] == passage.text


@pytest.mark.parametrize("question", QUESTIONS)
def test_awkward_texts_in_a_library(library: Library, question: str) -> None:
    places_are_exact(library.ask(question, min_chance=0.0), library)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_passages_whole(question: str, name: str) -> None:
    text = AWKWARD[name]
    hits = [Hit(Passage("p", "d", text, 0, len(text), ""), 1.0)]
    (trace,) = build(Settings(), None).answer_many([Question("q", question)], [hits], "short", 0.0)
    places_are_exact(trace)


def test_an_answer_deep_in_a_long_passage_is_found() -> None:
    text = long(560)  # about 10,000 words
    hits = [Hit(Passage("p", "d", text, 0, len(text), ""), 1.0)]
    (trace,) = build(Settings(), None).answer_many([Question("q", QUESTIONS[0])], [hits], "short", 0.0)
    assert trace.candidates[0].text == "behind the clock"


def test_no_hits_is_a_decline(tmp_path: Path) -> None:
    empty = Library(tmp_path / "library")
    empty.put([Document("d", "Roses grow by the wall.", "")])
    answer = empty.ask("zzz qqq").answer
    assert answer is not None
    assert (answer.text, answer.chance) == (None, 0.0)
