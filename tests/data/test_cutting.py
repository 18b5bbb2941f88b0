"""Summaries cut into overlapping passages, and tokenised text put together."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.data.cutting import overlapping
from wherefrom.data.detokenize import detokenized
from wherefrom.text import sentences


def prose(*lengths: int) -> str:
    return " ".join(" ".join(["Word"] + ["word"] * (length - 2) + ["end."]) for length in lengths)


def test_a_summary_of_usual_length_gives_ten_passages() -> None:
    text = prose(*[20] * 33)  # 660 words; the average is 659
    spans = overlapping(text)
    assert len(spans) == 10
    assert all(len(text[start:end].split()) <= 130 for start, end in spans)
    assert all(later[0] < earlier[1] for earlier, later in pairwise(spans))  # they overlap
    assert (spans[0][0], spans[-1][1]) == (0, len(text))


def test_a_short_text_is_one_passage_and_an_empty_one_none() -> None:
    text = prose(40, 40, 40)
    assert overlapping(text) == [(0, len(text))]
    assert overlapping("  ") == []


def test_a_long_text_gives_more_than_ten_so_that_nothing_is_lost() -> None:
    text = prose(*[100] * 15)
    assert len(overlapping(text)) == 15


def test_a_long_sentence_is_a_passage_of_its_own() -> None:
    text = prose(100, 200, 20)
    assert [len(text[start:end].split()) for start, end in overlapping(text)] == [100, 200, 20]


@given(st.lists(st.integers(2, 60), max_size=60), st.integers(1, 12), st.integers(5, 150))
def test_every_sentence_is_whole_in_a_passage(lengths: list[int], passages: int, words: int) -> None:
    text = prose(*lengths)
    spans = overlapping(text, passages, words)
    assert len(set(spans)) == len(spans)
    for start, end in sentences(text):
        assert any(begin <= start and end <= stop for begin, stop in spans)
    for start, end in spans:
        assert len(text[start:end].split()) <= max(words, *lengths)
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    ("tokens", "printed"),
    [
        ("It 's ( almost ) done , is n't it ?", "It's (almost) done, isn't it?"),
        ("She said `` come in '' and left .", 'She said "come in" and left.'),
        ("The mill -LRB- of 1908 -RRB- costs $ 5 , or 10 % .", "The mill (of 1908) costs $5, or 10%."),
        ("They 'll go ; we 've been there : it 's far !", "They'll go; we've been there: it's far!"),
        ("She cannot , gon na stay .", "She cannot, gonna stay."),
        ("Louise s car", "Louise s car"),  # what was thrown away does not come back
        ("already printed (as it is).", "already printed (as it is)."),
        ("", ""),
    ],
)
def test_tokens_are_put_together(tokens: str, printed: str) -> None:
    assert detokenized(tokens) == printed
    assert detokenized(printed) == printed
