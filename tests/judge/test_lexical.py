"""The lexical judge: its contract, and what it finds doubtful."""

from __future__ import annotations

import pytest

from contracts.material import CANDIDATES, HITS
from contracts.stages import JudgeContract
from wherefrom.judge.lexical import LexicalJudge
from wherefrom.stages import Judge
from wherefrom.types import Question


class TestContract(JudgeContract):
    """LexicalJudge is a Judge."""

    @pytest.fixture
    def judge(self) -> Judge:
        return LexicalJudge("english")


def chance(question: str) -> float:
    return LexicalJudge("english").judge([Question("", question)], HITS[:1], CANDIDATES[:1])[0]


def test_each_word_that_nothing_mentions_lowers_the_chance() -> None:
    assert (
        chance("Who built the lighthouse?")
        > chance("Who built the lighthouse of Alexandria?")
        > chance("Who built the pharaoh's lighthouse of Alexandria?")
    )


def test_declines_a_question_of_function_words() -> None:
    assert chance("what is it?") == 0.0


def test_declines_when_no_word_of_the_question_is_found() -> None:
    assert chance("Which zebra sings?") == 0.0
