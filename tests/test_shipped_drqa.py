"""DrQA's reader that comes with wherefrom: its files, and what it makes of awkward input."""

from __future__ import annotations

import re

import msgspec
import pytest

from wherefrom.build import build
from wherefrom.config import Settings, resolve
from wherefrom.origin import file_hash
from wherefrom.pipeline import Pipeline
from wherefrom.runtime.weights import SHIPPED
from wherefrom.types import Hit, Passage, Question

FOLDER = SHIPPED / "drqa"
AWKWARD = {
    "one word": "Marta",
    "long": "The gate of the yard was painted. " * 300 + "The key of the tower hangs behind the clock.",
    "Japanese": "灯台の鍵は時計の後ろにある。鍵番は田中である。",
    "combining": "Zoe\u0301 keeps the key of the tower behind the clo\u0308ck 🕰️.",
    "underscores": "__init__ ___ a_b",
    "dots": "." * 1000,
    "nothing": " \n\t",
}
HARBOUR = "The harbour opened in 1908. Its lighthouse was built by Ines Moreau."
QUESTIONS = ["Where does the key of the tower hang?", "?", "key " * 300, "鍵はどこですか", "\u200b", ""]
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="these weights are in the source of wherefrom-lab")


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    settings: Settings = resolve(
        overrides=[
            "read.kind=drqa",
            "rank.kind=none",
            "judge.kind=lexical",
            "judge.english_only=false",
            "write.kind=verbatim",
        ]
    )
    return build(settings, None)


def whole(id: str, text: str) -> Hit:
    return Hit(Passage(id, id, text, 0, len(text)), 1.0)


def test_the_files_are_those_that_were_measured() -> None:
    provenance = msgspec.json.decode((FOLDER / "provenance.json").read_bytes())
    assert {name: file_hash(FOLDER / name) for name in provenance["files"]} == provenance["files"]
    assert {file.name for file in FOLDER.iterdir()} == {*provenance["files"], "provenance.json"}
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 25e6
    content = b"".join((FOLDER / name).read_bytes() for name in ("model.onnx", "settings.toml", "provenance.json"))
    assert not re.search(rb"/(home|root|tmp|usr|opt|var|work)/|site-packages", content)


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who built the lighthouse?", HARBOUR, "Ines Moreau"),
        ("When did the harbour open?", HARBOUR, "1908"),
        ("Where does the key of the tower hang?", AWKWARD["long"], "behind the clock"),
    ],
)
def test_it_reads(pipeline: Pipeline, question: str, text: str, answer: str) -> None:
    (candidates,) = pipeline.reader.read([Question("q", question)], [[whole("p", text)]])
    assert candidates[0].text == answer


@pytest.mark.parametrize("question", QUESTIONS)
def test_awkward_passages(pipeline: Pipeline, question: str) -> None:
    hits = [whole(name, text) for name, text in AWKWARD.items()]
    (trace,) = pipeline.answer_many([Question("q", question)], [hits], "short", 0.0)
    for candidate in trace.candidates:
        assert candidate.text
        assert candidate.passage.text[candidate.start : candidate.end] == candidate.text
        assert candidate.passage.id != "nothing"
    assert bool(trace.candidates) == bool(question)  # a sign alone is a question too


def test_the_runs_note_their_folders(pipeline: Pipeline) -> None:
    assert [folder.name for folder in pipeline.weights] == ["drqa", "tagger", "yes-no", "selector"]
