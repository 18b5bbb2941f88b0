"""A reader in two parts: it says what it said whole, skims what looks irrelevant, and its making is measured."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="a tiny network is made with torch: pip install 'wherefrom[train]'")

import numpy
import onnx

from contracts.material import passage
from wherefrom.errors import WherefromError
from wherefrom.rank.reader import ReaderRanker
from wherefrom.read.span import SpanReader
from wherefrom.runtime.reader import FIRST, MODEL, PassageReading, ReaderSession
from wherefrom.runtime.weights import Weights
from wherefrom.systems.skim.parts import parts, states_after
from wherefrom.systems.skim.system import fitted, kept
from wherefrom.train.dequantize import dequantized
from wherefrom.types import Hit, Passage, Question

TEXTS = [
    "the boat is red",
    "a house",
    "",
    "nothing is said here of any boat that floats " * 6,
    "boats need paint",
    "red is a colour",
    "it rains",
]
PASSAGES = [passage(f"p#{number}", text) for number, text in enumerate(TEXTS)]
WIDTH = 16


@pytest.fixture(scope="module")
def skimming(tiny_reader_weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny reader cut after one of its two layers; the estimate is the mean of the first state's numbers."""
    folder = tmp_path_factory.mktemp("skim") / "weights"
    shutil.copytree(tiny_reader_weights, folder)
    weights = numpy.zeros(3 * WIDTH, numpy.float32)
    weights[: WIDTH // 2] = 1.0
    first, rest = parts(onnx.load(folder / MODEL), 1, weights, 0.5)
    onnx.save(first, folder / FIRST)
    onnx.save(rest, folder / MODEL)
    settings = folder / "settings.toml"
    settings.write_text(settings.read_text() + "[skim]\nlayers = 1\nshare = 0.3\nleast = 2\n")
    return folder


def read(folder: Path, passages: list[Passage], skim: bool = True) -> list[PassageReading]:
    (readings,) = ReaderSession(Weights(folder), 1, skim).read(["what is red?"], [passages])
    return readings


def test_both_parts_together_say_what_the_whole_says(skimming: Path, tiny_reader_weights: Path) -> None:
    for own, whole in zip(read(skimming, PASSAGES, skim=False), read(tiny_reader_weights, PASSAGES), strict=True):
        assert own.relevance == pytest.approx(whole.relevance, abs=1e-5)
        assert own.no_answer == pytest.approx(whole.no_answer, abs=1e-5)
        numpy.testing.assert_allclose(own.start, whole.start, atol=1e-5)
        numpy.testing.assert_allclose(own.end, whole.end, atol=1e-5)


def test_the_most_promising_are_read_and_the_others_stay_behind_them(skimming: Path) -> None:
    whole, readings = read(skimming, PASSAGES, skim=False), read(skimming, PASSAGES)
    deep = [number for number, reading in enumerate(readings) if len(reading.start)]
    assert len(deep) == 3  # three tenths of seven, rounded up
    for number in deep:
        assert readings[number].relevance == pytest.approx(whole[number].relevance, abs=1e-5)
    lowest = min(readings[number].relevance for number in deep)
    behind = [reading.relevance for number, reading in enumerate(readings) if number not in deep]
    assert max(behind) < lowest
    assert len(set(behind)) == len(behind)


def test_the_estimate_decides_who_is_read(skimming: Path) -> None:
    session = ReaderSession(Weights(skimming), 1)
    windows: list[object] = []
    for number, each in enumerate(PASSAGES):
        session._windows(number, "what is red?", "", each.text, windows)  # type: ignore[arg-type]
    said = session._said(windows, FIRST)  # type: ignore[arg-type]
    estimates: dict[int, float] = {}
    for window in windows:
        own = said[window.number]  # type: ignore[attr-defined]
        assert float(own["estimate"]) == pytest.approx(float(own["states"][0, : WIDTH // 2].sum()) + 0.5, abs=1e-4)
        pair = window.pair  # type: ignore[attr-defined]
        estimates[pair] = max(estimates.get(pair, float("-inf")), float(own["estimate"]))
    expected = sorted(estimates, key=lambda pair: -estimates[pair])[:3]
    assert {number for number, reading in enumerate(read(skimming, PASSAGES)) if len(reading.spans)} <= set(expected)


def test_few_passages_are_all_read(skimming: Path) -> None:
    assert all(len(reading.start) for reading in read(skimming, PASSAGES[:2]))


def test_a_batch_equals_one_by_one(skimming: Path) -> None:
    questions = ["what is red?", "who paints boats?", "what is red?"]
    rows = [PASSAGES, PASSAGES[2:], PASSAGES[:3]]
    together = ReaderSession(Weights(skimming), 2).read(questions, rows)
    for question, row, readings in zip(questions, rows, together, strict=True):
        (alone,) = ReaderSession(Weights(skimming), 1).read([question], [row])
        for one, other in zip(readings, alone, strict=True):
            assert one.relevance == pytest.approx(other.relevance, abs=1e-5)
            assert len(one.start) == len(other.start)


def test_passages_that_a_ranker_left_out_cost_no_second_pass(skimming: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = ReaderSession(Weights(skimming), 1)
    question, hits = Question("", "what is red?"), [Hit(each, 1.0) for each in PASSAGES]
    (ranked,) = ReaderRanker(session, keep=4).rank([question], [hits])
    monkeypatch.setattr(session, "_run", lambda *_: pytest.fail("read again"))
    (candidates,) = SpanReader(session, 5, 8, 0.5).read([question], [ranked])
    assert candidates
    texts = {each.id: each.text for each in PASSAGES}
    assert all(texts[each.passage.id][each.start : each.end] == each.text for each in candidates)


def test_training_can_go_on_from_both_parts(skimming: Path, tiny_reader_weights: Path) -> None:
    whole, again = dequantized(tiny_reader_weights / MODEL), dequantized(skimming / MODEL)
    assert whole.keys() == again.keys()
    assert all((whole[name] == again[name]).all() for name in whole)


def test_a_cut_outside_the_network_is_refused(tiny_reader_weights: Path) -> None:
    with pytest.raises(WherefromError, match="layers is 2; the network has 2, so that 1 to 1 may skim"):
        states_after(onnx.load(tiny_reader_weights / MODEL), 2)


def test_the_estimate_is_a_ridge_regression() -> None:
    """x = 0, 2 (scaled -1, 1), y = 1, 5: the slope is 4 / (2 + ridge) of scaled x around the mean of 3."""
    weights, bias = fitted(numpy.array([[0.0], [2.0]], numpy.float32), numpy.array([1.0, 5.0], numpy.float32), 2.0)
    assert weights[0] == pytest.approx(1.0, abs=1e-4)
    assert bias == pytest.approx(2.0, abs=1e-4)


def test_what_is_kept_is_counted_by_question() -> None:
    estimates = numpy.array([3.0, 2.0, 1.0, 1.0, 2.0, 3.0], numpy.float32)
    relevance = numpy.array([9.0, 0.0, 0.0, 0.0, 9.0, 0.0], numpy.float32)
    question = numpy.array([0, 0, 0, 1, 1, 1], numpy.int32)
    figures = kept(estimates, relevance, question)
    assert figures[1] == {"kept": 0.5, "of": 3.0}
    assert figures[2] == {"kept": 1.0, "of": 3.0}
