"""Choosing: worth against likeness, by hand; room, and sentences that lean on others."""

from __future__ import annotations

import numpy
import pytest

from contracts.material import passage
from wherefrom.features.choosing import chosen, in_reading_order
from wherefrom.features.statements import Statement, statements_of
from wherefrom.features.worth import similarities

TEXT = "Bees dance in the hive. The dance tells of food. Honey is kept in wax. Wasps keep no honey at all."
POOL = statements_of([passage("bees.md#0", TEXT)])  # of 5, 5, 5 and 6 words


def places(worth: list[float], likeness: list[list[float]] | None = None, **options: object) -> list[int]:
    like = numpy.array(likeness if likeness is not None else numpy.eye(4), numpy.float32)
    arguments = {"words": 100, "novelty": 0.3, **options}
    return chosen(POOL, numpy.array(worth, numpy.float32), like, **arguments)  # type: ignore[arg-type]


def test_best_first_until_there_is_no_room() -> None:
    assert places([0.1, 0.9, 0.5, 0.2]) == [1, 2, 3, 0]
    assert places([0.1, 0.9, 0.5, 0.2], words=10) == [1, 2]
    assert places([0.1, 0.9, 0.5, 0.2], words=12) == [1, 2]  # what is too long is passed over, not cut
    assert places([0.1, 0.2, 0.5, 0.9], words=11) == [3, 2]
    assert places([0.1, 0.9, 0.5, 0.2], most=3) == [1, 2, 3]
    assert places([0.5] * 4) == [0, 1, 2, 3]  # equal ones as they stand


def test_what_says_the_same_is_held_back() -> None:
    like = [[1, 0.9, 0, 0], [0.9, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    # 0 is worth 0.8; then 1 gains 0.7 - 0.5 * 0.9 = 0.25, less than the 0.3 of 2, more than the 0.1 of 3.
    assert places([0.8, 0.7, 0.3, 0.1], like, novelty=0.5) == [0, 2, 1, 3]
    assert places([0.8, 0.7, 0.3, 0.1], like, novelty=0.0) == [0, 1, 2, 3]


def test_what_is_worth_too_little_is_left_out_but_the_best() -> None:
    assert places([0.1, 0.9, 0.5, 0.2], least=0.4) == [1, 2]
    assert places([0.1, 0.2, 0.1, 0.1], least=0.4) == [1]


def test_three_words_in_a_row_are_not_told_again() -> None:
    twice = statements_of(
        [passage("a.md#0", "The red fox ran home."), passage("b.md#0", "So the red fox ran home fast.")]
    )
    twice = [twice[0], Statement(twice[1].passage, 3, 29, "sentence", 1)]
    worth = numpy.array([0.9, 0.8], numpy.float32)
    assert chosen(twice, worth, numpy.eye(2, dtype=numpy.float32), 100) == [0]


def test_a_sentence_that_leans_on_another_comes_with_it_or_not_at_all() -> None:
    pool = statements_of(
        [passage("ferry.md#0", "The ferry leaves at nine. It takes forty minutes. Bring a coat along.")]
    )
    like = numpy.eye(3, dtype=numpy.float32)
    worth = numpy.array([0.1, 0.9, 0.5], numpy.float32)
    assert chosen(pool, worth, like, 100, most=2) == [0, 1]
    assert chosen(pool, worth, like, 8) == [2]  # there is no room for both
    alone = statements_of([passage("torn.md#0", "It takes forty minutes. Bring a coat along.")])
    assert chosen(alone, worth[1:], like[:2, :2], 100) == [1]  # what it leans on is not there


def test_they_are_read_in_the_order_of_the_documents_the_best_hit_s_first() -> None:
    birds = passage("b.md#0", "Birds sing at dawn. Owls do not sing.")
    pool = statements_of([birds, passage("a.md#0", "Ants are silent all day.")])
    assert in_reading_order(pool, [2, 1, 0]) == [0, 1, 2]
    assert in_reading_order(pool, [2, 1]) == [1, 2]


def test_likeness_is_the_cosine_of_weighted_stems() -> None:
    # Two texts, "bee" in both: log(1 + 2/2); "wax" and "hive" in one: log(1 + 2/1).
    both, one = 0.6931, 1.0986
    expected = both * both / (both * both + one * one)
    like = similarities([["bee", "wax"], ["bee", "hive"]])
    assert like[0, 1] == pytest.approx(expected, abs=1e-4)
    assert like[0, 0] == pytest.approx(1.0)
    assert similarities([[], ["bee"]])[0, 0] == 0.0


def test_code_is_told_only_where_it_leads() -> None:
    pool = statements_of(
        [passage("knit.md#0", "Knit it.\n\n$ knit --all\n$ purl --all\n\nWash the wool first of all.")]
    )
    like, worth = numpy.eye(2, dtype=numpy.float32), numpy.array([0.9, 0.1], numpy.float32)
    assert [each.kind for each in pool] == ["code", "sentence"]
    assert chosen(pool, worth, like, 100) == [1]
    assert chosen(pool, worth, like, 100, leading=0) == [0, 1]


def test_the_leading_one_is_told_first_whatever_it_is_worth_and_leans_on() -> None:
    assert places([0.1, 0.9, 0.5, 0.2], leading=3, least=0.4) == [3, 1, 2]
    assert places([0.1, 0.9, 0.5, 0.2], leading=3, words=5) == [1]  # if there is room
    pool = statements_of([passage("knit.md#0", "It joins threads of wool. Wash the wool first of all.")])
    like, worth = numpy.eye(2, dtype=numpy.float32), numpy.array([0.9, 0.1], numpy.float32)
    assert chosen(pool, worth, like, 100) == [1]  # nothing stands before it
    assert chosen(pool, worth, like, 100, leading=0) == [0, 1]


def test_the_document_of_the_leading_one_comes_first() -> None:
    pool = statements_of(
        [passage("a.md#0", "The red fox ran home."), passage("b.md#0", "The bear did not run at all.")]
    )
    assert in_reading_order(pool, [1, 0]) == [0, 1]
    assert in_reading_order(pool, [1, 0], leading=1) == [1, 0]
