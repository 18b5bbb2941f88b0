"""Documents are cut into passages of about a hundred words, at sentence borders, with a little overlap."""

from __future__ import annotations

import re

from wherefrom.config import SplitSettings
from wherefrom.text import Span, has_unspaced_script, sentences, words

_LONGEST_HEADING = 80  # characters
_VISIBLE = re.compile(r"\S+")


def split(text: str, settings: SplitSettings | None = None) -> list[Span]:
    """The passages of a text as (start, end), in order.

    Every word lies in at least one passage, and none begins or ends with white space. A passage takes
    whole sentences while that brings it closer to `words`; when the last one is no longer than `overlap`
    words, the next passage begins with it again. A sentence far longer than a passage is cut between words.
    """
    settings = settings or SplitSettings()
    pieces, lengths = _pieces(text, settings.words)
    passages: list[Span] = []
    first, taken = 0, 0  # the piece a passage begins with; how many pieces are in a passage already
    while taken < len(pieces):
        last, length = first, lengths[first]
        while last + 1 < len(pieces) and (last < taken or _closer(length, length + lengths[last + 1], settings.words)):
            last += 1
            length += lengths[last]
        while taken <= last - 1 and last > first and last + 1 < len(pieces) and _is_heading(text, *pieces[last]):
            last -= 1  # a heading belongs to what follows it
        passages.append((pieces[first][0], pieces[last][1]))
        taken = last + 1
        repeats = last > first and lengths[last] <= settings.overlap
        first = last if repeats else taken
    return passages


def _closer(length: int, longer: int, target: int) -> bool:
    """Whether the longer of two lengths is nearer to the target; a tie stays short."""
    return longer - target < target - length


def _is_heading(text: str, start: int, end: int) -> bool:
    """Whether a piece is a short line of its own that is no sentence."""
    ends_block = "\n\n" in text[end : end + 3]
    return ends_block and end - start <= _LONGEST_HEADING and text[end - 1].isalnum()


def _pieces(text: str, limit: int) -> tuple[list[Span], list[int]]:
    """Sentences with their lengths in words; one of more than one and a half passages is cut."""
    unspaced = has_unspaced_script(text)
    spans: list[Span] = []
    lengths: list[int] = []
    for start, end in sentences(text):
        # Counting blanks is 20 times faster than finding words, and a passage is only *about* 100 of them.
        length = len(words(text[start:end])) if unspaced else text.count(" ", start, end) + 1
        if length <= limit * 3 // 2 and end - start <= limit * 24:
            spans.append((start, end))
            lengths.append(length)
        else:
            for span, count in _cut(text, start, end, limit, unspaced):
                spans.append(span)
                lengths.append(count)
    return spans, lengths


def _cut(text: str, start: int, end: int, limit: int, unspaced: bool) -> list[tuple[Span, int]]:
    """A very long sentence in parts of at most `limit` words, or of 24 characters a word if it has none."""
    if unspaced:
        units = [(start + a, start + b) for a, b in words(text[start:end])]
    else:
        units = [match.span() for match in _VISIBLE.finditer(text, start, end)]
    parts: list[tuple[Span, int]] = []
    begin, stop, count = units[0][0], units[0][0], 0
    for a, b in units:
        if count and (count == limit or b - begin > limit * 24):
            parts.append(((begin, stop), count))
            begin, count = a, 0
        while b - begin > limit * 24:  # one unbroken run of characters, such as a data dump
            parts.append(((begin, begin + limit * 24), limit))
            begin, count = begin + limit * 24, 0
        stop, count = b, count + 1
    if stop > begin:
        parts.append(((begin, stop), count))
    return parts
