"""A text cut into a fixed number of passages of whole sentences that overlap."""

from __future__ import annotations

from itertools import accumulate

from wherefrom.text import Span, sentences


def overlapping(text: str, passages: int = 10, words: int = 130) -> list[Span]:
    """Passages of at most `words` words as (start, end), so that every sentence is whole in one (masque A.2).

    Passage i (from 0) begins with the first sentence from word i(n - words)/(passages - 1) of n on. A short text gives
    fewer passages, because equal ones are left out, and a long one more, because no sentence is lost. A sentence
    of more than `words` words is a passage of its own.
    """
    cuts = sentences(text)
    lengths = [len(text[start:end].split()) for start, end in cuts]
    before = [0, *accumulate(lengths)]  # words before each sentence
    step = max(0, before[-1] - words) / max(1, passages - 1)

    spans: list[Span] = []
    first = end = 0  # sentences of the passage: first <= sentence < end
    while end < len(cuts):
        if spans:
            wanted = len(spans) * step
            while first < end and before[first] < wanted:
                first += 1
            first = _next_start(first, end, before, words)
        end = _end(first, before, words)
        spans.append((cuts[first][0], cuts[end - 1][1]))
    return spans


def _next_start(first: int, end: int, before: list[int], words: int) -> int:
    """The first start from `first` on whose passage reaches past `end`; `end` itself always does."""
    return next(start for start in range(first, end + 1) if _end(start, before, words) > end)


def _end(first: int, before: list[int], words: int) -> int:
    """One past the last sentence that still fits when the passage begins with sentence `first`."""
    end = first + 1
    while end + 1 < len(before) and before[end + 1] - before[first] <= words:
        end += 1
    return end
