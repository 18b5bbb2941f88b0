"""The vote: its contract, and which answer it puts first."""

from __future__ import annotations

import math

import pytest

from contracts.material import GARDEN, HARBOUR, span
from contracts.stages import RerankerContract
from wherefrom.rerank.vote import VoteReranker
from wherefrom.stages import Reranker
from wherefrom.types import Candidate, Question


class TestContract(RerankerContract):
    """VoteReranker is a Reranker."""

    @pytest.fixture
    def reranker(self) -> Reranker:
        return VoteReranker()


def test_two_that_agree_beat_one_that_is_surer() -> None:
    alone = span(GARDEN, "412", math.log(0.4))
    twice = [span(HARBOUR, "The harbour", math.log(0.3)), span(HARBOUR, "harbour", math.log(0.2))]
    (ranked,) = VoteReranker().rerank([Question("", "?")], [[alone, *twice]])
    assert [candidate.text for candidate in ranked] == ["The harbour", "harbour", "412"]
    assert ranked[0].score == pytest.approx(math.log(0.5))
    assert ranked[0].features["rerank"] == ranked[0].score
    assert ranked[0].features["read"] == pytest.approx(math.log(0.3))


def test_scores_that_are_far_apart_are_no_trouble() -> None:
    candidates: list[Candidate] = [span(GARDEN, "412", 5.0), span(HARBOUR, "31 metres", -9000.0)]
    (ranked,) = VoteReranker().rerank([Question("", "?")], [candidates])
    assert [candidate.text for candidate in ranked] == ["412", "31 metres"]
    assert all(math.isfinite(candidate.score) for candidate in ranked)
