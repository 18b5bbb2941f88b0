"""What a judge sees of the order that answers were put in."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from contracts.material import passage
from wherefrom.judge.signs import _of_order
from wherefrom.types import Candidate

PASSAGE = passage("p#0", "red boat, blue house")


def candidate(start: int, end: int, score: float) -> Candidate:
    return Candidate(PASSAGE.text[start:end], PASSAGE, start, end, 0.0).rescored("rerank", score)


def test_the_share_and_the_lead_are_over_different_answers() -> None:
    answers = [candidate(0, 3, 2.0), candidate(0, 3, 2.0), candidate(10, 14, 1.0), candidate(15, 20, 0.0)]
    share, lead = _of_order(answers)
    assert share == pytest.approx(2.0 - math.log(math.exp(2.0) + math.exp(1.0) + 1.0))
    assert lead == 1.0


def test_an_answer_alone_leads_by_all_there_is() -> None:
    assert _of_order([candidate(0, 3, -5.0)]) == (0.0, 12.0)


def test_without_an_order_both_are_nothing() -> None:
    assert _of_order([replace(candidate(0, 3, 2.0), features={})]) == (0.0, 0.0)
