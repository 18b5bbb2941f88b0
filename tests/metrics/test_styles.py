"""Styles and kinds of questions are told apart by numbers."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_texts import real_questions

from wherefrom.metrics.checks import MetricError
from wherefrom.metrics.styles import (
    KEYWORDS,
    attested_share,
    by_group,
    contradictions,
    is_attested,
    keyword,
    keywords,
    length_by_group,
    repeated_ngram_rate,
    zero_overlap,
)
from wherefrom.types import Answer, Passage, Word

PASSAGE = Passage("p", "d", "The mill was built in 1820.", 0, 27)


def test_zero_overlap_by_hand() -> None:
    short = ["Yes", "in 1820", "", "The mill."]
    long = ["It does so.", "It was built in 1820.", "No answer.", "the MILL"]
    assert zero_overlap(short, long) == 2 / 4  # "Yes" and the empty one
    assert zero_overlap(["a b"], ["b a"], n=2) == 1.0


@given(st.lists(st.tuples(st.text("ab ", max_size=5), st.text("bc ", max_size=5)), min_size=1, max_size=6))
def test_zero_overlap_is_symmetric(pairs: list[tuple[str, str]]) -> None:
    one, other = [left for left, _ in pairs], [right for _, right in pairs]
    assert 0.0 <= zero_overlap(one, other) <= 1.0
    assert zero_overlap(one, other) == zero_overlap(other, one)
    assert zero_overlap(one, other, n=2) >= zero_overlap(one, other)


def test_repeated_ngrams_by_hand() -> None:
    # "a b a b a": 3-grams aba, bab, aba: one of three stood before; "c d" is too short
    assert repeated_ngram_rate(["a b a b a", "c d"]) == pytest.approx(1 / 3)
    assert repeated_ngram_rate(["c d"]) == 0.0
    assert repeated_ngram_rate(["no no no no"], n=1) == 3 / 4


def test_attested_words_stand_where_they_say() -> None:
    words = (
        Word("mill", "passage", "p", 4, 8),
        Word("was", "passage", "p", 4, 8),  # reads "mill" there
        Word("in", "passage", "q", 19, 21),  # no such passage
        Word("what", "question", None, 0, 4),
        Word("perhaps", "vocabulary"),
    )
    answer = Answer("mill was in what perhaps", "short", 0.9, words, (PASSAGE,))
    assert [is_attested(word, answer) for word in words] == [True, False, False, False, False]
    declined = Answer(None, "short", 0.1)
    assert attested_share([answer, declined]) == 1 / 5
    with pytest.raises(MetricError, match="none of 1 answers has words"):
        attested_share([declined])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the definition of osmosis?", "what"),  # first in the order of the table
        ("define osmosis", "definition"),
        ("Definition: osmosis", "definition"),
        ("how many who", "how"),
        ("WHERE is it", "where"),
        ("is it somewhere", "other"),
        ("", "other"),
    ],
)
def test_keyword_of_a_question(question: str, expected: str) -> None:
    assert keyword(question) == expected


def test_all_keywords_of_a_question() -> None:
    assert keywords("who knows when and what to define") == ("what", "definition", "who", "when")
    assert {keyword(question) for question in real_questions()} <= set(KEYWORDS)


def test_yes_in_one_style_and_no_in_the_other() -> None:
    one = ["Yes.", "no", "yes", "the mill", "No, never", ""]
    other = ["No, it was not.", "No.", "It was.", "yes", "Yes", "yes"]
    assert contradictions(one, other) == 2 / 6  # the first and the fifth
    assert contradictions(other, one) == 2 / 6
    with pytest.raises(MetricError):
        contradictions([], [])


def test_means_by_group_by_hand() -> None:
    groups = by_group(["who", "when", "who", "who"], [1.0, 5.0, 2.0, 3.0])
    assert list(groups) == ["who", "when"]
    assert (groups["who"].count, groups["who"].share, groups["who"].mean) == (3, 0.75, 2.0)
    assert groups["who"].standard_error == pytest.approx(1 / math.sqrt(3))  # s = 1
    assert groups["when"].standard_error == 0.0


def test_lengths_by_group() -> None:
    groups = length_by_group(["short", "sentence", "short"], ["In 1820.", "It was built in 1820.", ""])
    assert groups["short"].mean == 1.0
    assert groups["sentence"].mean == 5.0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-5, 5)), min_size=1, max_size=20), st.randoms())
def test_groups_do_not_depend_on_order(pairs: list[tuple[str, float]], random: Random) -> None:
    mixed = random.sample(pairs, len(pairs))
    one = by_group([group for group, _ in pairs], [value for _, value in pairs])
    other = by_group([group for group, _ in mixed], [value for _, value in mixed])
    assert one.keys() == other.keys()
    assert all(one[group].mean == pytest.approx(other[group].mean) for group in one)
    assert sum(group.share for group in one.values()) == pytest.approx(1.0)


def test_nan_is_an_error() -> None:
    with pytest.raises(MetricError, match="NaN"):
        by_group(["a"], [math.nan])
