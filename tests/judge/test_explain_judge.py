"""The judge of explanations: its contract, and how sure it is where the reader answers from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.material import passage, span
from contracts.stages import JudgeContract
from summarize.test_extractive import weights
from wherefrom.features.telling import Teller
from wherefrom.features.worth import Selector, Worth
from wherefrom.judge.explaining import ExplainJudge
from wherefrom.judge.lexical import LexicalJudge
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Judge
from wherefrom.types import Candidate, Hit, Question

TEXT = "Bread rises because yeast makes gas. " + " ".join(
    f"Bread of kind {number} rises by yeast too." for number in range(6)
)
DOUGH = passage("bread.md#0", f"{TEXT} Ovens of clay are old.")
WHY = Question("1", "Why does bread rise?")


class FixedJudge:
    """Every answer has the same chance."""

    def __init__(self, chance: float) -> None:
        self._chance = chance

    def judge(self, questions: list[Question], hits: object, candidates: object) -> list[float]:
        return [self._chance] * len(questions)


def chance(folder: Path, answer: Candidate, of_answers: float) -> float:
    made = weights(folder / "made", bias=2.0, coverage=4.0)
    judge = ExplainJudge(Teller(Selector(made), Worth()), made, FixedJudge(of_answers))  # type: ignore[arg-type]
    return judge.judge([WHY], [[Hit(DOUGH, 1.0)]], [[answer]])[0]


class TestContract(JudgeContract):
    """ExplainJudge is a Judge."""

    @pytest.fixture
    def judge(self) -> Judge:
        made = Weights.named("selector")
        return ExplainJudge(Teller(Selector(made), Worth()), made, LexicalJudge("english"))


def test_where_the_answer_stands_in_what_explains_the_judge_of_answers_is_not_asked(tmp_path: Path) -> None:
    yeast = span(DOUGH, "yeast makes gas", 0.9)
    assert chance(tmp_path, yeast, 0.1) == chance(tmp_path, yeast, 0.9) > 0.8


def test_where_it_stands_elsewhere_an_explanation_is_no_surer_than_the_answer(tmp_path: Path) -> None:
    clay = span(DOUGH, "clay", 0.9)
    assert chance(tmp_path, clay, 0.1) == 0.1
    assert chance(tmp_path, clay, 0.99) == chance(tmp_path, span(DOUGH, "yeast makes gas", 0.9), 0.5)
