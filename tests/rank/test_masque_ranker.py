"""The writer network as ranker."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

from contracts.material import HITS, QUESTIONS
from contracts.stages import RankerContract
from wherefrom.rank.masque import MasqueRanker
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import WriterSession
from wherefrom.stages import Ranker


@pytest.fixture(scope="module")
def session(tiny_writer_weights: Path) -> WriterSession:
    return WriterSession(Weights(tiny_writer_weights), threads=2)


class TestContract(RankerContract):
    @pytest.fixture
    def ranker(self, session: WriterSession) -> Ranker:
        return MasqueRanker(session, keep=20)


def test_scores_are_the_networks_relevance(session: WriterSession) -> None:
    (judged,) = session.judge([QUESTIONS[0].text], [[hit.passage for hit in HITS[0]]])
    (ranked,) = MasqueRanker(session, keep=20).rank(QUESTIONS[:1], HITS[:1])
    expected = dict(zip((hit.passage.id for hit in HITS[0]), judged.relevance, strict=True))
    assert {hit.passage.id: hit.features["rank"] for hit in ranked} == expected
    assert all(0.0 < hit.score < 1.0 for hit in ranked)


def test_keeps_so_many(session: WriterSession) -> None:
    assert [len(hits) for hits in MasqueRanker(session, keep=1).rank(QUESTIONS, HITS)] == [1, 1, 1, 0, 1, 1]
