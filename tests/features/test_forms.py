"""Forms of tokens, which of them a question has, and how often they stand."""

from __future__ import annotations

import pytest

from wherefrom.features.forms import Form, exact_match, forms, term_frequency
from wherefrom.features.tokens import tokens


def of(text: str) -> list[Form]:
    return forms(text, tokens(text))


def test_a_token_has_three_forms() -> None:
    assert of("Ships sailed.") == [("Ships", "ships", "ship"), ("sailed", "sailed", "sail"), (".", ".", ".")]


def test_matches_as_written_in_small_letters_and_by_stem() -> None:
    matches = exact_match(of("Who sails the Ship?"), of("the ship sailed The Ship"))
    assert matches.tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 1, 1], [1, 1, 1]]


def test_nothing_matches_an_empty_question() -> None:
    assert exact_match([], of("a b")).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert exact_match(of("a"), []).shape == (0, 3)


def test_the_term_frequency_is_a_share_whatever_the_case() -> None:
    assert term_frequency(of("The cat, the dog")).tolist() == pytest.approx([0.4, 0.2, 0.2, 0.4, 0.2])
    assert term_frequency([]).tolist() == []
