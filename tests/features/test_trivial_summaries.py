"""Trivial summaries: by place, by a walk over likeness, by the words of the question."""

from __future__ import annotations

from wherefrom.features.trivial_summaries import BASELINES, filled, in_order, query_likeness, text_rank

TEXTS = ["Trains run late.", "Cats sleep all day.", "Cats sleep on trains all day.", "Rain fell."]


def test_whole_sentences_in_the_order_of_the_text_as_many_as_there_is_room_for() -> None:
    assert filled(TEXTS, [2, 1, 0, 3], 9) == "Trains run late. Cats sleep on trains all day."
    assert filled(TEXTS, in_order("", TEXTS), 7) == "Trains run late. Cats sleep all day."
    assert filled(TEXTS, in_order("", TEXTS), 1) == ""


def test_the_walk_comes_most_often_to_what_is_like_the_others() -> None:
    assert text_rank("", TEXTS)[0] == 2
    assert text_rank("", TEXTS)[-1] == 3
    assert text_rank("", ["Alone."]) == [0]


def test_the_question_decides_what_is_like_it() -> None:
    assert query_likeness("When did rain fall?", TEXTS)[0] == 3
    assert sorted(query_likeness("Why?", TEXTS)) == [0, 1, 2, 3]


def test_every_one_puts_all_sentences_in_an_order() -> None:
    for order in BASELINES.values():
        assert sorted(order("Do cats sleep?", TEXTS)) == [0, 1, 2, 3]
