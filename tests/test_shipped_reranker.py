"""The re-ranker that comes with wherefrom: its files, and what it makes of a library; it is not on by default."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from wherefrom import Library
from wherefrom.build import build
from wherefrom.config import Settings, resolve
from wherefrom.origin import file_hash
from wherefrom.rerank.merits import MeritReranker
from wherefrom.runtime.weights import SHIPPED, Weights
from wherefrom.types import Document, Hit, Passage, Question

FOLDER = SHIPPED / "rankqa"
AWKWARD = {
    "one-word": "Marta",
    "japanese": "灯台の鍵は時計の後ろにある。鍵番は田中である。",
    "marks": "[CLS] [SEP] ## ## (((",
    "tower": "The key of the tower hangs behind the clock. The key of the mill hangs behind the door.",
}


def test_the_files_are_those_that_were_made() -> None:
    provenance = msgspec.json.decode((FOLDER / "provenance.json").read_bytes())
    assert {name: file_hash(FOLDER / name) for name in provenance["files"]} == provenance["files"]
    assert provenance["training"]["finished"] is True
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 200_000
    content = b"".join(file.read_bytes() for file in FOLDER.iterdir())
    assert not re.search(rb"/(home|root|tmp|usr|opt|var)/|site-packages", content)


def test_it_was_trained_on_candidates_of_a_reader_before_the_shipped_one() -> None:
    provenance = msgspec.json.decode((FOLDER / "provenance.json").read_bytes())
    networks = provenance["candidates"]["networks"]
    earlier = Path(__file__).parents[1] / "runs" / "trainings" / "reader-manuals.json"
    reader = msgspec.json.decode(earlier.read_bytes())
    assert networks["reader/model.onnx"] == reader["stages"]["start"]["made_of"]["model"]


def test_it_is_off_unless_asked_for() -> None:
    assert build(Settings(), None).reranker.__class__ is MeritReranker  # a line fitted for the reader


@pytest.mark.parametrize("kind", ["sentence", "drqa"])
def test_scores_that_are_no_probabilities_are_not_added_up(kind: str) -> None:
    assert (
        build(resolve(overrides=[f"read.kind={kind}", "rank.kind=none", "judge.kind=lexical"]), None).reranker is None
    )


@pytest.mark.parametrize("name", ["rankqa", "rankqa-drqa"])
def test_it_sees_candidates_as_it_learned_from(name: str) -> None:
    """Both were fitted before short spans were preferred."""
    provenance = msgspec.json.decode((SHIPPED / name / "provenance.json").read_bytes())
    assert provenance["candidates"]["settings"]["read"].get("brevity", False) is False
    assert Weights.named(name).settings["brevity"] is False


@pytest.mark.skipif(not (SHIPPED / "drqa").exists(), reason="DrQA's weights are in the source of wherefrom-lab")
def test_drqa_reads_for_its_re_ranker_without_the_preference_for_short_spans() -> None:
    hits = [[Hit(Passage("tower#0", "tower", AWKWARD["tower"], 0, len(AWKWARD["tower"])), 1.0)]]
    preferred = []
    for kind in ("none", "rankqa"):
        chosen = ["read.kind=drqa", "rank.kind=none", f"rerank.kind={kind}", "rerank.weights=rankqa-drqa"]
        reader = build(resolve(overrides=[*chosen, "judge.kind=lexical"]), None).reader
        (candidates,) = reader.read([Question("", "Where does the key hang?")], hits)
        preferred.append(
            {round(candidate.features["read"] - candidate.features["span"], 3) for candidate in candidates}
        )
    assert len(preferred[0]) > 1
    assert preferred[1] == {0.0}


@pytest.mark.parametrize("question", ["Where does the key of the tower hang?", "?", "鍵はどこですか", "key " * 300])
def test_a_library_answers_with_it(tmp_path: Path, question: str) -> None:
    library = Library(tmp_path / "library", resolve(overrides=["rerank.kind=rankqa"]))
    library.put([Document(name, text) for name, text in AWKWARD.items()])
    trace = library.ask(question, min_chance=0.0)
    plain = Library(tmp_path / "library").ask(question, min_chance=0.0)
    for candidate in trace.candidates:
        assert candidate.passage.text[candidate.start : candidate.end] == candidate.text
        assert "rerank" in candidate.features
    assert trace.answer is not None
    assert plain.answer is not None
    if trace.answer.text == plain.answer.text:
        assert trace.answer.chance == pytest.approx(plain.answer.chance, abs=0.1)
    if "tower" in question:
        assert trace.answer.text is not None
        assert "clock" in trace.answer.text
