"""An example refuses golds that do not fit its passages."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.data.examples import Example, GoldSpan, whole
from wherefrom.data.locating import occurrences
from wherefrom.types import Question

QUESTION = Question("1", "Where is the mill?")
MILL = whole("a", "The mill stands by the weir.")


def test_two_passages_do_not_share_an_id() -> None:
    with pytest.raises(ValueError, match="two passages have the same id"):
        Example(QUESTION, (MILL, MILL))


def test_labels_are_one_a_passage_or_none() -> None:
    assert Example(QUESTION, (MILL,), (True,), (2,)).relevant == (True,)
    with pytest.raises(ValueError, match="2 relevant for 1 passages"):
        Example(QUESTION, (MILL,), (True, False))
    with pytest.raises(ValueError, match="2 grades for 1 passages"):
        Example(QUESTION, (MILL,), grades=(2, 0))


def test_a_span_is_where_it_says() -> None:
    Example(QUESTION, (MILL,), spans=(GoldSpan("a", 16, 27, "by the weir"),))
    for span in (GoldSpan("a", 15, 26, "by the weir"), GoldSpan("b", 16, 27, "by the weir")):
        with pytest.raises(ValueError, match="is not at"):
            Example(QUESTION, (MILL,), spans=(span,))


def test_answers_are_located_as_whole_words_in_any_case() -> None:
    passage = whole("a", "A MILL, the mill\nwheel; Millbrook. (mill wheel)")
    assert [span.text for span in occurrences("Mill", passage)] == ["MILL", "mill", "mill"]
    assert [span.text for span in occurrences("mill wheel", passage)] == ["mill\nwheel", "mill wheel"]
    assert not list(occurrences(" ", passage))
    assert not any(span.sure for span in occurrences("mill", passage))


def test_answers_with_signs_are_located() -> None:
    passage = whole("a", "It costs $5.00 (C++ and .NET), ¿verdad?")
    assert [span.text for answer in ("$5.00", "c++", ".net") for span in occurrences(answer, passage)] == [
        "$5.00",
        "C++",
        ".NET",
    ]


@given(st.text(), st.text(min_size=1), st.text())
def test_located_spans_are_in_place(before: str, answer: str, after: str) -> None:
    passage = whole("a", f"{before} {answer} {after}")
    spans = list(occurrences(answer, passage))
    assert bool(spans) == bool(answer.split()) or not re.search(r"\S", answer)
    Example(QUESTION, (passage,), spans=tuple(spans))
