"""The writer that is shipped: what it writes keeps to its sources, and it is no larger than promised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

from wherefrom import Library
from wherefrom.build import build
from wherefrom.config import resolve
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.types import Answer, Hit, Passage, Question, joined
from wherefrom.write.attest import holds_answer, unattested
from wherefrom.write.explaining import ExplainingWriter
from wherefrom.write.masque import MasqueWriter
from wherefrom.write.pictures import picture

WEIGHTS = SHIPPED / "writer"
SAMPLE = Path(__file__).parents[1] / "sample" / "library"
QUESTIONS = {
    "Where was Marie Curie born?": "Warsaw",
    "Who took the X-ray picture known as Photo 51?": "Raymond Gosling",
    "Who found Neptune's largest moon?": "William Lassell",
    "Why are clouds white?": "because their droplets are much larger than light waves and scatter all colours alike",
    "Where does the tree called General Sherman stand?": "Sequoia National Park",
}

pytestmark = pytest.mark.skipif(not WEIGHTS.exists(), reason="no writer is shipped yet")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    settings = resolve(overrides=["write.kind=masque", "write.yes_no=false"])
    with Library(tmp_path_factory.mktemp("written") / "library", settings) as opened:
        opened.ingest([SAMPLE])
        yield opened


def answer_to(library: Library, question: str) -> Answer:
    answer = library.ask(question, "sentence").answer
    assert answer is not None
    return answer


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_sentence_tells_the_answer_and_nothing_of_its_own(library: Library, question: str) -> None:
    answer = answer_to(library, question)
    assert answer.text is not None
    assert holds_answer(answer.text, QUESTIONS[question])
    assert joined(answer.words) == answer.text
    assert unattested(answer.words, [question, *(passage.text for passage in answer.evidence)]) == []
    texts = {passage.id: passage.text for passage in answer.evidence}
    for word in answer.words:
        if word.source == "passage":
            assert word.passage_id is not None
            assert texts[word.passage_id][word.start : word.end].casefold() == word.text.casefold()


def test_the_picture_of_the_documentation_is_of_this_writer(library: Library) -> None:
    question = "How does a male emperor penguin hold the egg?"
    shown = (SAMPLE.parents[1] / "docs" / "images" / "writing.svg").read_text(encoding="utf-8")
    trace = library.ask(question, "sentence", min_chance=0.5)
    assert trace.answer is not None
    drawn = picture(library.explain(trace))
    for label in (question, trace.answer.text, "the reader&#x27;s short answer", "passage 1: The emperor penguin"):
        assert f">{label}</text>" in shown
        assert f">{label}</text>" in drawn


def test_most_sentences_are_written_at_the_first_try(library: Library) -> None:
    for question in QUESTIONS:
        answer_to(library, question)
    writer = library.pipeline().writer
    assert isinstance(writer, ExplainingWriter)
    writer = writer.other
    assert isinstance(writer, MasqueWriter)
    assert writer.counts["written"] >= 0.6 * sum(writer.counts.values())


def test_the_files_are_those_that_were_measured() -> None:
    provenance = msgspec.json.decode((WEIGHTS / "provenance.json").read_bytes())
    assert {name: file_hash(WEIGHTS / name) for name in provenance["files"]} == provenance["files"]
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) <= 45e6
    content = b"".join(file.read_bytes() for file in WEIGHTS.iterdir())
    assert not re.search(rb"/(home|root|tmp|usr|opt|var)/|site-packages", content)


AWKWARD = [
    Passage("marks#0", "marks", "[CLS] [SEP] [MASK] [PAD] <s> ## ((( the key", 0, 42),
    Passage("japanese#0", "japanese", "灯台の鍵は時計の後ろにある。鍵番は田中である。", 0, 23),
    Passage("combining#0", "combining", "Zoe\u0301 keeps the key of the tower behind the clo\u0308ck 🕰️.", 0, 58),
    Passage("empty#0", "empty", "", 0, 0),
    Passage("long#0", "long", "The gate of yard 3,051 was painted in March. " * 200 + "The key hangs there.", 0, 9020),
]


@pytest.mark.parametrize("question", ["Where does the key hang?", "?", "key " * 1000, "鍵はどこですか", "[SEP] [SEP]"])
@pytest.mark.parametrize("count", [1, 5, 30])
def test_awkward_input_is_written_from_all_the_same(question: str, count: int) -> None:
    pipeline = build(resolve(overrides=["write.kind=masque", "write.passages=30", "judge.english_only=false"]), None)
    passages = [replace(AWKWARD[n % 5], id=f"{n}#0", document_id=str(n)) for n in range(count)]
    (trace,) = pipeline.answer_many([Question("", question)], [[Hit(one, 0.0) for one in passages]], "sentence", 0.0)
    assert trace.answer is not None
    assert trace.answer.text
    texts = {passage.id: passage.text for passage in trace.answer.evidence}
    for word in trace.answer.words:
        if word.passage_id is not None:
            assert texts[word.passage_id][word.start : word.end].casefold() == word.text.casefold()
