"""What was written in validation: saved and read again, scored in wordpieces."""

from __future__ import annotations

from pathlib import Path

import pytest

from wherefrom.evaluate.validation_answers import ValidationAnswer, read_answers, token_scores, write_answers

RIGHT = ValidationAnswer(0, "short", (1, 2), (1, 2), True, 0.9, (0.1, 0.8), (False, True))
WRONG = ValidationAnswer(1, "short", (1, 3), (1, 2), True, 0.4, (0.7, 0.2), (False, True))
NONE = ValidationAnswer(2, "short", None, None, False, 0.5, (0.7,), (False,))


def test_scores_in_wordpieces() -> None:
    scores = token_scores([RIGHT, WRONG, NONE], "short")
    assert scores["short_em"] == 50
    assert scores["short_f1"] == 75
    assert scores["p_1"] == 50
    assert scores["map"] == 75
    assert scores["answerable_f1"] == pytest.approx(80)  # all three called answerable
    assert set(token_scores([RIGHT], "given")) == {"given_em", "given_f1", "given_rouge", "given_length"}


def test_they_survive_being_written_down(tmp_path: Path) -> None:
    assert write_answers(tmp_path / "answers.jsonl", [RIGHT, NONE]) == {"short": 2}
    assert read_answers(tmp_path / "answers.jsonl") == [RIGHT, NONE]
