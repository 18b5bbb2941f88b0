"""Slips of the keyboard: every word one slip away, and how many lie between two words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wherefrom.features.slips import one_slip_away, slips_between

WORDS = st.text("abcd", min_size=1, max_size=6)


@pytest.mark.parametrize("slip", ["lenth", "lenggth", "lemgth", "lnegth", "ength"])
def test_every_kind_of_slip_leads_back(slip: str) -> None:
    assert "length" in one_slip_away(slip)


def test_swapped_letters_are_likelier_than_a_wrong_one_and_the_first_letter_is_seldom_wrong() -> None:
    near = one_slip_away("lenght")
    assert near["length"] > near["lenghts"] > near["menght"]


def test_a_word_is_not_its_own_slip() -> None:
    assert "aa" not in one_slip_away("aa")


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [
        ("idenfiti", "identifi", 2),
        ("lenght", "length", 1),
        ("same", "same", 0),
        ("cat", "dogs", 3),
        ("ab", "abcdef", 3),
    ],
)
def test_slips_are_counted_up_to_a_bound(one: str, other: str, slips: int) -> None:
    assert slips_between(one, other, 2) == min(slips, 3)


@settings(deadline=None)
@given(WORDS)
def test_what_is_one_slip_away_is_counted_as_one(word: str) -> None:
    assert all(slips_between(word, near, 1) == 1 for near in one_slip_away(word))


@settings(deadline=None)
@given(WORDS, WORDS)
def test_the_count_is_the_same_both_ways(one: str, other: str) -> None:
    assert slips_between(one, other, 3) == slips_between(other, one, 3)
