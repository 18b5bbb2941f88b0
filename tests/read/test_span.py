"""Answers are whole words of one paragraph, or of one row of a table."""

from __future__ import annotations

import numpy
import pytest

from wherefrom.features.tokens import tokens
from wherefrom.read.span import paragraphs, whole_words


@pytest.mark.parametrize(
    ("text", "piece", "whole"),
    [
        ("in a brotherly way", "ly", "brotherly"),
        ("it runs x86_64 code", "86", "x86"),
        ("the New Zealander came", "New Zealand", "New Zealander"),
        ("say yes.", "yes", "yes"),
        ("", "", ""),
    ],
)
def test_a_part_of_a_word_becomes_the_word(text: str, piece: str, whole: str) -> None:
    begin = text.index(piece)
    start, end = whole_words(text, begin, begin + len(piece))
    assert text[start:end] == whole


def numbers(text: str) -> dict[str, int]:
    spans = tokens(text)
    found = paragraphs(text, numpy.array(spans))
    assert found is not None
    return {text[start:end]: int(number) for (start, end), number in zip(spans, found, strict=True)}


def test_rows_of_a_table_are_apart() -> None:
    of = numbers("Types are these:\nsmallint | Size: two\nbigint | Size8: eight\nAnd no more.")
    assert of["smallint"] == of["two"]
    assert of["bigint"] == of["eight"]
    assert len({of["these"], of["smallint"], of["bigint"], of["And"]}) == 4


def test_lines_of_a_list_are_one() -> None:
    of = numbers("Heading\n\n- hash\n- tree")
    assert of["hash"] == of["tree"] != of["Heading"]


def test_a_text_of_one_paragraph_has_no_numbers() -> None:
    text = "One line\nand another."
    assert paragraphs(text, numpy.array(tokens(text))) is None
