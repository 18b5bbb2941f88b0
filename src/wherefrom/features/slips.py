"""Slips of the keyboard: which words one slip makes of a word, and how many slips lie between two."""

from __future__ import annotations

LETTERS = "abcdefghijklmnopqrstuvwxyz"

# What a kind of slip is worth beside others, in natural logarithms. Two letters change places more often than a wrong
# one is hit, and hardly anybody slips at the first letter.
_SWAPPED = 0.5
_FIRST = -2.0


def one_slip_away(word: str) -> dict[str, float]:
    """Every word that is one letter more, less, other or swapped, and how likely that slip is beside others."""
    near: dict[str, float] = {}
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        worth = 0.0 if place else _FIRST
        if len(after) > 1:
            near.setdefault(before + after[1] + after[0] + after[2:], worth + _SWAPPED)
        if after:
            near.setdefault(before + after[1:], worth)
        for letter in LETTERS:
            if after:
                near.setdefault(before + letter + after[1:], worth)
            near.setdefault(before + letter + after, worth)
    near.pop(word, None)
    return near


def slips_between(one: str, other: str, most: int) -> int:
    """The fewest letters put in, left out, changed or swapped that make one word of the other; `most` + 1 for more.

    d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [a_i != b_j], d(i-2, j-2) + 1 where two are swapped)
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    earlier: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        earliest, earlier, row = earlier, row, [i]
        for j, against in enumerate(other, start=1):
            least = min(earlier[j] + 1, row[j - 1] + 1, earlier[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                least = min(least, earliest[j - 2] + 1)
            row.append(least)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
