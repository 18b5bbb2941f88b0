"""A second opinion on the reader's answer, by a network that learnt apart from it."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

from contracts.material import CANDIDATES, GARDEN, HARBOUR, HITS, QUESTIONS, span
from contracts.stages import JudgeContract
from runtime import tiny_reader
from wherefrom.errors import WherefromError
from wherefrom.judge.calibrated import CalibratedJudge
from wherefrom.judge.second import NOTHING, SecondOpinion
from wherefrom.judge.signs import NAMES, OF_SECOND
from wherefrom.runtime.reader import ReaderSession
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import Short, WeighedAnswer, WriterSession, WritingTask
from wherefrom.stages import Judge
from wherefrom.types import Candidate, Hit, Question

OPINION = (-1.0, -2.0, 0.5, 3.0)
LINE = {"bias": 0.0, "terms": {"second mean": [2.0, 0.0, 1.0]}}  # logit: twice the mean
ALONE = {"bias": -1.0, "terms": {"relevance": [0.0, 0.0, 1.0]}}  # a chance of 0.27 for everything


class Remembering(SecondOpinion):
    """Always of the same opinion; knows what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def signs(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[tuple[float, float, float, float]]:
        assert len(questions) == len(hits) == len(candidates)
        self.asked += [question.text for question in questions]
        return [OPINION] * len(questions)


class Weighing(WriterSession):
    def __init__(self) -> None:
        self.tasks: list[WritingTask] = []

    def weigh(self, tasks: Sequence[WritingTask]) -> list[WeighedAnswer]:
        self.tasks += tasks
        return [WeighedAnswer(-50.0, -1.0, 0.25, 50.0) for _ in tasks]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_reader.write(tmp_path_factory.mktemp("weights") / "tiny")


def judging(weights: Path, folder: Path, saved: dict[str, object], second: SecondOpinion | None) -> CalibratedJudge:
    shutil.copytree(weights, folder)
    (folder / "judge.json").write_text(json.dumps(saved))
    return CalibratedJudge(ReaderSession(Weights(folder), threads=1), second=second)


class TestContract(JudgeContract):
    """A judge with a second opinion is a Judge; whom random networks prefer is not its fault."""

    @pytest.fixture
    def judge(self, weights: Path, tiny_writer_weights: Path, tmp_path: Path) -> Judge:
        opinion = SecondOpinion(WriterSession(Weights(tiny_writer_weights), threads=2))
        return judging(weights, tmp_path / "weights", {**LINE, "alone": ALONE}, opinion)

    @pytest.mark.skip(reason="the tiny networks are random: they prefer nothing")
    def test_prefers_a_question_that_the_passages_speak_of(self, judge: Judge) -> None: ...


def test_the_opinion_decides_where_there_is_one(weights: Path, tmp_path: Path) -> None:
    second = Remembering()
    judge = judging(weights, tmp_path / "weights", {**LINE, "alone": ALONE}, second)
    chances = judge.judge(QUESTIONS[:2], HITS[:2], [CANDIDATES[0], []])
    assert chances == pytest.approx([1 / (1 + math.exp(4.0)), 0.0])  # twice a mean of -2
    assert second.asked == [QUESTIONS[0].text]  # nothing was read for the other


def test_without_one_the_chance_is_that_of_the_line_alone(weights: Path, tmp_path: Path) -> None:
    judge = judging(weights, tmp_path / "weights", {**LINE, "alone": ALONE}, None)
    assert judge.judge(QUESTIONS[:1], HITS[:1], CANDIDATES[:1]) == pytest.approx([1 / (1 + math.exp(1.0))])


def test_nobody_is_asked_where_the_line_alone_gives_no_chance(weights: Path, tmp_path: Path) -> None:
    second = Remembering()
    judge = judging(weights, tmp_path / "weights", {**LINE, "alone": {**ALONE, "bias": -3.0}}, second)
    assert judge.judge(QUESTIONS[:1], HITS[:1], CANDIDATES[:1]) == pytest.approx([1 / (1 + math.exp(3.0))])
    assert second.asked == []


def test_nobody_is_asked_for_a_judge_that_was_fitted_without(weights: Path, tmp_path: Path) -> None:
    second = Remembering()
    judging(weights, tmp_path / "weights", ALONE, second).judge(QUESTIONS[:1], HITS[:1], CANDIDATES[:1])
    assert second.asked == []


def test_a_judge_that_cannot_do_without_says_so(weights: Path, tmp_path: Path) -> None:
    judge = judging(weights, tmp_path / "weights", LINE, None)
    with pytest.raises(WherefromError, match=r"second opinion.*wherefrom train judge"):
        judge.judge(QUESTIONS[:1], HITS[:1], CANDIDATES[:1])


def test_what_it_is_fitted_on_has_an_opinion_of_every_answer(weights: Path, tmp_path: Path) -> None:
    judge = judging(weights, tmp_path / "weights", {**LINE, "alone": ALONE}, Remembering())
    (row,) = judge.features(QUESTIONS[:1], HITS[:1], CANDIDATES[:1])
    assert row is not None
    assert [row[NAMES.index(name)] for name in OF_SECOND] == list(OPINION)


class TestWhatTheWriterIsGiven:
    def test_is_the_best_hits_with_the_answer_s_own_passage(self) -> None:
        session = Weighing()
        hits = [Hit(HARBOUR, 2.0), Hit(GARDEN, 1.0)]
        (signs,) = SecondOpinion(session, passages=1).signs(QUESTIONS[:1], [hits], [[span(GARDEN, "412", 1.0)]])
        (task,) = session.tasks
        assert task.passages == (GARDEN,)
        assert task.short == Short(0, GARDEN.text.index("412"), GARDEN.text.index("412") + 3)
        assert signs == (-12.0, -1.0, 0.25, 8.0)  # within bounds

    def test_is_nothing_where_nothing_was_read(self) -> None:
        session = Weighing()
        assert SecondOpinion(session).signs(QUESTIONS[:1], [[Hit(HARBOUR, 1.0)]], [[]]) == [NOTHING]
        assert session.tasks == []
