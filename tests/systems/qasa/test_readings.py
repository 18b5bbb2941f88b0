"""What QASA ranks highest becomes what a reader learns from and is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="scores are put in order with numpy")

from systems.qasa.small import example
from wherefrom.data import squad
from wherefrom.data.examples import whole
from wherefrom.systems.qasa.readings import best_passages, read_dev, write_dev, write_training
from wherefrom.types import Candidate, Hit, Question

PASSAGES = [whole("a", "The house is red and red.", "Sea"), whole("b", "Boats sail."), whole("c", "What a house.")]


def test_the_best_come_first_and_what_shares_no_word_is_left_out() -> None:
    rows = best_passages([(example(0), PASSAGES)], [[0.1, 0.7]], True, 10, 1)
    assert [passage.id for _, own in rows for passage in own] == ["c"]
    with pytest.raises(ValueError, match="make them again"):
        list(best_passages([(example(0), PASSAGES)], [[0.1]], True, 10, 1))


def test_those_that_hold_an_answer_are_read_as_squad_is(tmp_path: Path) -> None:
    assert write_training(tmp_path / "train.json", [(example(0), PASSAGES)]) == 1
    (read,) = squad.load(tmp_path / "train.json", "train")
    assert read.question.text == example(0).question.text
    assert [(span.start, span.text) for span in read.spans] == [(13, "red"), (21, "red")]


class FirstWords:
    """Reads the first word of the first passage."""

    def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
        return [[Candidate(own[0].passage.text[:3], own[0].passage, 0, 3, 1.0)] if own else [] for own in hits]


def test_first_answers_are_scored(tmp_path: Path) -> None:
    rows = [(example(0), [whole("a", "red house")]), (example(1), [whole("b", "old lamp")]), (example(2), [])]
    assert write_dev(tmp_path / "dev.jsonl", rows) == 3
    scores = read_dev(tmp_path / "dev.jsonl", FirstWords())
    assert scores == pytest.approx({"em": 1 / 3, "f1": 1 / 3, "recall": 1 / 3})
