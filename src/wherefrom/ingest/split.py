"""Documents are cut into passages of about a hundred words, at sentence borders, with a little overlap.

A passage ends where a section does, if it is long enough by then: what stands under one heading is found and read under
that heading, not under the one before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from wherefrom.config import SplitSettings
from wherefrom.text import Span, each_sentence, each_word, has_unspaced_script

_LONGEST_HEADING = 80  # characters
_VISIBLE = re.compile(r"\S+")


def split(text: str, settings: SplitSettings | None = None, sections: Sequence[int] = ()) -> list[Span]:
    """The passages of a text as (start, end), in order; `sections` are where its sections begin.

    Every word lies in at least one passage, and none begins or ends with white space. A passage takes
    whole sentences while that brings it closer to `words`; when the last one is no longer than `overlap`
    words, the next passage begins with it again. A sentence far longer than a passage is cut between words.
    From `section` words on it ends where a section does, and nothing of that comes again.
    """
    settings = settings or SplitSettings()
    borders = sorted(sections) if settings.section else []
    rest = _pieces(text, settings.words)
    passages: list[Span] = []
    # What a passage may hold, and the piece behind it; of a file of millions of sentences no more is kept at a time.
    pieces: list[tuple[Span, int]] = []
    taken = 0  # how many of these are in the passage before
    # How many are in this one, their words, and how many at its end are headings: none is looked at twice.
    held = length = headings = 0
    while True:
        pieces += islice(rest, 2 - len(pieces)) if len(pieces) < 2 else ()
        if taken >= len(pieces):
            return passages
        while held < len(pieces) and (
            held <= taken
            or (
                (length < settings.section or not _opens(borders, pieces[held - 1][0], pieces[held][0]))
                and _closer(length, length + pieces[held][1], settings.words)
            )
        ):
            span, words = pieces[held]
            held, length = held + 1, length + words
            headings = headings + 1 if _is_heading(text, *span) else 0
            if held == len(pieces):
                pieces += islice(rest, 1)
        last = held - 1
        if held < len(pieces):  # a heading belongs to what follows it
            last = max(last - headings, min(last, taken))
        passages.append((pieces[0][0][0], pieces[last][0][1]))
        ends_section = last + 1 < len(pieces) and _opens(borders, pieces[last][0], pieces[last + 1][0])
        repeats = last > 0 and pieces[last][1] <= settings.overlap and not ends_section
        gone = last if repeats else last + 1
        length -= sum(words for _, words in pieces[:gone])
        held -= gone
        headings = min(headings, held)
        del pieces[:gone]
        taken = 1 if repeats else 0


def _opens(borders: Sequence[int], before: Span, piece: Span) -> bool:
    """Whether a section begins with this piece, or between it and the start of the one before."""
    after = bisect_right(borders, before[0])
    return after < len(borders) and borders[after] <= piece[0]


def _closer(length: int, longer: int, target: int) -> bool:
    """Whether the longer of two lengths is nearer to the target; a tie stays short."""
    return longer - target < target - length


def _is_heading(text: str, start: int, end: int) -> bool:
    """Whether a piece is a short line of its own that is no sentence."""
    ends_block = "\n\n" in text[end : end + 3]
    return ends_block and end - start <= _LONGEST_HEADING and text[end - 1].isalnum()


def _pieces(text: str, limit: int) -> Iterator[tuple[Span, int]]:
    """Sentences with their lengths in words; one of more than one and a half passages is cut."""
    unspaced = has_unspaced_script(text)
    for start, end in each_sentence(text):
        # Counting blanks is 20 times faster than finding words, and a passage is only *about* 100 of them.
        length = sum(1 for _ in each_word(text, start, end)) if unspaced else text.count(" ", start, end) + 1
        if length <= limit * 3 // 2 and end - start <= limit * 24:
            yield (start, end), length
        else:
            yield from _cut(text, start, end, limit, unspaced)


def _cut(text: str, start: int, end: int, limit: int, unspaced: bool) -> Iterator[tuple[Span, int]]:
    """A very long sentence in parts of at most `limit` words, or of 24 characters a word if it has none."""
    begin = stop = start
    count = 0
    for a, b in _units(text, start, end, unspaced):
        if count and (count == limit or b - begin > limit * 24):
            yield (begin, stop), count
            begin, count = a, 0
        while b - begin > limit * 24:  # one unbroken run of characters, such as a data dump
            yield (begin, begin + limit * 24), limit
            begin, count = begin + limit * 24, 0
        stop, count = b, count + 1
    if stop > begin:
        yield (begin, stop), count


def _units(text: str, start: int, end: int, unspaced: bool) -> Iterator[Span]:
    """What a sentence may be cut between: words, or whatever stands between blanks."""
    if unspaced:
        yield from each_word(text, start, end)
    else:
        for match in _VISIBLE.finditer(text, start, end):
            yield match.span()
