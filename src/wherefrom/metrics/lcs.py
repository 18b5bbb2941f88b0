"""Longest common subsequences, one machine word of dynamic programming per step.

Allison & Dix (1986) and Hyyrö (2004) keep a whole row of the usual table as the bits of one integer: bit i
is 0 where the row grows at position i. Python's integers have as many bits as a text has tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def positions(tokens: Sequence[str]) -> dict[str, int]:
    """For each token the places where it stands, as bits: place i is bit i."""
    places: dict[str, int] = {}
    bit = 1
    for token in tokens:
        if token in places:
            places[token] |= bit
        else:
            places[token] = bit
        bit <<= 1
    return places


def length(places: Mapping[str, int], size: int, tokens: Sequence[str]) -> int:
    """LCS length of the text with these `positions` and `size`, and the tokens: V = (V + (V & M)) | (V & ~M).

    Hyyrö (2004), figure 2. The places of one side are computed once and serve for many others.
    """
    everywhere = (1 << size) - 1
    row = everywhere
    for token in tokens:
        if token in places:  # a token that is nowhere leaves the row as it is
            hits = row & places[token]
            row = (row + hits) | (row - hits)
    return size - (row & everywhere).bit_count()


def lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """How many tokens the longest common subsequence of both has."""
    return length(positions(left), len(left), right)


def lcs_places(reference: Sequence[str], other: Sequence[str]) -> int:
    """Where in the reference one longest common subsequence stands, as bits.

    There may be several; as in ROUGE-1.5.5 the one found by walking back from both ends is taken, which steps
    back in the reference wherever that loses nothing.
    """
    places = positions(reference)
    everywhere = (1 << len(reference)) - 1
    rows = [everywhere]
    for token in other:
        hits = rows[-1] & places.get(token, 0)
        rows.append(((rows[-1] + hits) | (rows[-1] - hits)) & everywhere)
    bits = 0
    i, j = len(reference), len(other)
    while i and j:
        if reference[i - 1] == other[j - 1]:
            bits |= 1 << (i - 1)
            i -= 1
            j -= 1
        elif rows[j] >> (i - 1) & 1:  # the table does not grow here: the reference's last token is not needed
            i -= 1
        else:
            j -= 1
    return bits
