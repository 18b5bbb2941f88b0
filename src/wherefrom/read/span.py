"""Exact spans as candidate answers, read out by the reader network.

The default reader. Spans of all passages of a question are normalised together, so that the best of one passage can be
compared with the best of another. It needs the weights `reader`, which come with wherefrom.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wherefrom.runtime.reader import PassageReading, ReaderSession
from wherefrom.runtime.weights import Weights
from wherefrom.text import Span, says_something
from wherefrom.types import Candidate, Hit, Question

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

# An empty line, or the end of a table's row (`bigint | Storage Size: 8 bytes`).
_BORDER = re.compile(r"\n[^\S\n]*\n|(?<=\n)(?=[^\n]* \| )|(?<= \| )[^\n]*\n")
_EACH = 5  # spans looked at in a passage, at least
_SHARE = 4  # ... and a quarter of the candidates wanted: of 40 candidates a good passage may give ten


class SpanReader:
    """The best spans of the passages: log P(start) + log P(end), and a share of the passage's log relevance.

    With `brevity` shorter spans are preferred, as much as the weights say. The feature `span` is without that.
    `null margin` tells how much likelier the span is than that its passage has no answer, `own passage` how likely it
    is among all that the passage says.
    """

    def __init__(
        self, session: ReaderSession, candidates: int, max_tokens: int, relevance: float, brevity: bool = True
    ) -> None:
        self._session = session
        self._candidates = candidates
        self._max_tokens = max_tokens
        self._relevance = relevance
        self._brevity = brevity

    def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
        readings = self._session.read(
            [question.text for question in questions],
            [[hit.passage for hit in question_hits] for question_hits in hits],
        )
        return [self._read_one(question_hits, read) for question_hits, read in zip(hits, readings, strict=True)]

    def _read_one(self, hits: Sequence[Hit], readings: Sequence[PassageReading]) -> list[Candidate]:
        import numpy

        filled = [(hit, reading) for hit, reading in zip(hits, readings, strict=True) if len(reading.start)]
        if not filled:
            return []
        all_starts = log_sum_exp(numpy.concatenate([reading.start for _, reading in filled]))
        all_ends = log_sum_exp(numpy.concatenate([reading.end for _, reading in filled]))
        relevances = numpy.array([reading.relevance for _, reading in filled])
        relevances = relevances - log_sum_exp(relevances)
        each = max(_EACH, self._candidates // _SHARE, -(-self._candidates // len(filled)))
        brevity = brevity_of(self._session.weights) if self._brevity else 0.0
        candidates: dict[tuple[str, int, int], Candidate] = {}
        for (hit, reading), relevance in zip(filled, relevances, strict=True):
            paragraph = paragraphs(hit.passage.text, reading.spans)
            spans = best_spans(reading.start, reading.end, self._max_tokens, each, paragraph, brevity)
            of_passage = log_sum_exp(numpy.append(reading.start, reading.no_answer)) + log_sum_exp(
                numpy.append(reading.end, reading.no_answer)
            )
            for first, last, preferred in spans:
                start, end = whole_words(hit.passage.text, int(reading.spans[first, 0]), int(reading.spans[last, 1]))
                both = float(reading.start[first] + reading.end[last])
                span = both - all_starts - all_ends
                score = preferred - all_starts - all_ends + self._relevance * float(relevance)
                features = {
                    **hit.features,
                    "span": span,
                    "null margin": both / 2 - reading.no_answer,
                    "own passage": both - of_passage,
                    "tokens": float(last - first + 1),
                    "relevance": reading.relevance,
                    "read": score,
                }
                text = hit.passage.text[start:end]
                place = (hit.passage.document_id, hit.passage.start + start, hit.passage.start + end)
                if says_something(text) and (place not in candidates or candidates[place].score < score):
                    candidates[place] = Candidate(text, hit.passage, start, end, score, features)
        ordered = sorted(candidates.values(), key=lambda c: (-c.score, c.passage.id, c.start, c.end))
        return ordered[: self._candidates]


def best_spans(
    start: NDArray[numpy.float32],
    end: NDArray[numpy.float32],
    max_tokens: int,
    n: int,
    paragraph: NDArray[numpy.int64] | None = None,
    brevity: float = 0.0,
) -> list[tuple[int, int, float]]:
    """The n best spans (first, last, score) of at most `max_tokens` tokens; ties to the earlier and shorter.

    Score: start + end logit, and - brevity * log(tokens): start and end are chosen apart, which makes spans too long.
    The best one's score is that of the best without brevity, so that texts compare as if there were none.
    `paragraph`: which one each token is in; a span stays in one.
    """
    import numpy

    length = len(start)
    wide = min(max_tokens, length)
    padded = numpy.concatenate([end, numpy.full(wide - 1, -numpy.inf, end.dtype)])
    scores = start[:, None] + numpy.lib.stride_tricks.sliding_window_view(padded, wide)  # (length, wide)
    if paragraph is not None:
        beyond = numpy.concatenate([paragraph, numpy.full(wide - 1, -1, paragraph.dtype)])
        same = numpy.lib.stride_tricks.sliding_window_view(beyond, wide) == paragraph[:, None]
        scores = numpy.where(same, scores, -numpy.inf)
    if brevity and numpy.isfinite(most := scores.max()):
        scores = scores - (brevity * numpy.log(numpy.arange(1, wide + 1))).astype(scores.dtype)
        scores += most - scores.max()
    flat = scores.ravel()
    # Only what reaches the n-th best is sorted, ties included: sorting thousands of spans cost more than all else here.
    least = numpy.partition(flat, -n)[-n] if n < len(flat) else -numpy.inf
    near = numpy.flatnonzero(flat >= least)
    best = near[numpy.argsort(-flat[near], kind="stable")[:n]]
    return [
        (int(place) // wide, int(place) // wide + int(place) % wide, float(flat[place]))
        for place in best
        if numpy.isfinite(flat[place])
    ]


def brevity_of(weights: Weights) -> float:
    """How much shorter spans are to be preferred; weights that say nothing prefer none."""
    return float(weights.settings.get("brevity", 0.0))


def paragraphs(text: str, spans: Sequence[Span] | NDArray[numpy.int32]) -> NDArray[numpy.int64] | None:
    """The number of the paragraph or row of a table that each token is in; none where the text has one alone.

    A heading is a paragraph of its own, and no answer runs from it into the text, nor from one row into the next.
    """
    import numpy

    borders = [match.end() for match in _BORDER.finditer(text)]
    starts = numpy.asarray(spans).reshape(-1, 2)[:, 0]
    return numpy.searchsorted(numpy.array(borders), starts, side="right") if borders else None


def whole_words(text: str, start: int, end: int) -> Span:
    """The span with the rest of the words that it begins and ends in: a network reads pieces, people read words."""
    while 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


def log_sum_exp(values: NDArray[numpy.float32]) -> float:
    """log of the sum of exp(values), without overflow."""
    import numpy

    highest = float(values.max())
    return highest + float(numpy.log(numpy.exp(values - highest).sum()))
