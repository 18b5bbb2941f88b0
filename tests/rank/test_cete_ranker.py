"""CETE as ranker, and as the one who picks answer sentences."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")
pytest.importorskip("torch", reason="the tiny network is made with torch: pip install 'wherefrom[train]'")

from contracts.material import HITS, QUESTIONS
from contracts.stages import RankerContract
from runtime import tiny_pairs
from wherefrom.build import build
from wherefrom.config import resolve
from wherefrom.data.examples import whole
from wherefrom.features.chance import probability
from wherefrom.rank.cete import CeteRanker, answer_sentences
from wherefrom.runtime.pairs import PairSession
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Ranker
from wherefrom.types import Question


@pytest.fixture(scope="module")
def weights(made_once: Callable[..., Path]) -> Path:
    return made_once("tiny-pairs", tiny_pairs.write)


@pytest.fixture(scope="module")
def session(weights: Path) -> PairSession:
    return PairSession(Weights(weights), threads=2)


class TestContract(RankerContract):
    @pytest.fixture
    def ranker(self, session: PairSession) -> Ranker:
        return CeteRanker(session, keep=20)


def test_scores_are_the_chances_of_the_network(session: PairSession) -> None:
    (logits,) = session.score([QUESTIONS[0].text], [[hit.passage.text for hit in HITS[0]]])
    (ranked,) = CeteRanker(session, keep=20).rank(QUESTIONS[:1], HITS[:1])
    expected = {hit.passage.id: probability(logit) for hit, logit in zip(HITS[0], logits, strict=True)}
    assert {hit.passage.id: hit.features["rank"] for hit in ranked} == expected
    assert len(set(logits)) > 1


def test_of_a_long_text_the_best_window_counts(session: PairSession) -> None:
    """A window is what fits beside the question: 64 tokens, 7 of the question, 3 special ones, 32 shared."""
    letters = "abcdefghijklmnopqrstuvwxyz" * 3
    text = " ".join(letters)
    (whole_text, *parts) = session.score(
        ["a b c d"], [[text, *(" ".join(letters[begin : begin + 57]) for begin in (0, 25))]]
    )[0]
    assert len(letters) == 78
    assert whole_text == pytest.approx(max(parts), abs=1e-4)


def test_a_text_without_words_has_a_score_too(session: PairSession) -> None:
    ((empty,), ()) = session.score(["a b", "c"], [[""], []])
    assert math.isfinite(empty)


def test_sentences_are_told_with_their_places_the_likeliest_first(session: PairSession) -> None:
    passages = [whole("p1", "The red lamp. It stands here."), whole("p2", "Boats sail. ")]
    asked = [Question("q", "Where is it?"), Question("r", "Who?")]
    first, second = answer_sentences(session, asked, [passages, []])
    assert second == []
    texts = [sentence.passage.text[sentence.start : sentence.end] for sentence in first]
    assert sorted(texts) == ["Boats sail.", "It stands here.", "The red lamp."]
    assert [sentence.chance for sentence in first] == sorted((sentence.chance for sentence in first), reverse=True)
    (alone,) = session.score(["Where is it?"], [texts])
    assert [sentence.chance for sentence in first] == pytest.approx([probability(logit) for logit in alone], abs=1e-5)


def test_it_is_chosen_by_name_and_takes_other_weights(weights: Path) -> None:
    pipeline = build(resolve(overrides=["rank.kind=cete", f"runtime.cete={weights}"]), None)
    assert isinstance(pipeline.ranker, CeteRanker)
    assert weights in pipeline.weights
