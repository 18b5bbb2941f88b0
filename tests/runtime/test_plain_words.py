"""Text as QASA takes it."""

from __future__ import annotations

import pytest

from wherefrom.runtime.plain_words import plain_words, stands_in


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("See https://example.org/a?b=c, or www.example.org!", "see url or url"),
        ("Zürich's lake -- 9.5 km²", "zurich s lake 9 5 km2"),
        ("...", ""),
        ("urls and curl", "urls and curl"),
    ],
)
def test_letters_and_digits_are_left(text: str, words: str) -> None:
    assert " ".join(plain_words(text)) == words


def test_words_stand_where_they_follow_each_other() -> None:
    text = "the red house and the red old house".split()
    assert stands_in(["red", "old"], text)
    assert not stands_in(["house", "red"], text)
    assert not stands_in(["red", "old", "house", "there"], text)
    assert not stands_in([], text)
