"""The writer network as judge."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

from contracts.material import CANDIDATES, HITS, QUESTIONS
from contracts.stages import JudgeContract
from wherefrom.judge.masque import MasqueJudge
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import WriterSession
from wherefrom.stages import Judge


@pytest.fixture(scope="module")
def session(tiny_writer_weights: Path) -> WriterSession:
    return WriterSession(Weights(tiny_writer_weights), threads=2)


class TestContract(JudgeContract):
    @pytest.fixture
    def judge(self, session: WriterSession) -> Judge:
        return MasqueJudge(session)

    def test_prefers_a_question_that_the_passages_speak_of(self, judge: Judge) -> None:
        """Not of a network that has only seen questions with an answer; it has learnt just that."""
        chances = judge.judge(QUESTIONS[:3], HITS[:3], CANDIDATES[:3])
        assert all(chance > 0.5 for chance in chances)


def test_the_order_of_the_passages_does_not_matter(session: WriterSession) -> None:
    judge = MasqueJudge(session)
    once = judge.judge(QUESTIONS[:1], HITS[:1], CANDIDATES[:1])
    turned = judge.judge(QUESTIONS[:1], [list(reversed(HITS[0]))], CANDIDATES[:1])
    assert once == turned
