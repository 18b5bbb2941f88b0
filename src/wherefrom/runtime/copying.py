"""The places that a writer can copy from, and the rule that names and numbers are copied whole.

A place is one token of the question, of the short answer or of a passage, with the characters it stands at. All of a
question's places are one row of arrays, so that a step looks at them without a loop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from wherefrom.text import Span, whole_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUESTION, ANSWER, PASSAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Text:
    """Tokens of one text, or of the window of it that was read."""

    source: int  # QUESTION, ANSWER or PASSAGE
    passage: int  # which passage the characters are of; -1: the question's
    text: str
    tokens: Sequence[int]
    offsets: Sequence[Span]


@dataclass(frozen=True, slots=True)
class CopyPlaces:
    """All that can be copied for one question: (places,) each."""

    tokens: NDArray[numpy.int64]
    source: NDArray[numpy.int8]
    passage: NDArray[numpy.int32]
    start: NDArray[numpy.int32]
    end: NDArray[numpy.int32]
    opens: NDArray[numpy.bool_]  # the first token of a word, or a sign
    follows: NDArray[numpy.bool_]  # goes on with the word of the place before
    closes: NDArray[numpy.bool_]  # the last token of its word
    guarded: NDArray[numpy.bool_]  # of a word with a digit or a capital letter in front
    copyable: NDArray[numpy.bool_]
    same: NDArray[numpy.int64]  # the first place with the same characters: the short answer's are a passage's too

    def __len__(self) -> int:
        return len(self.tokens)


def places_of(texts: Sequence[Text], forbidden: Collection[int]) -> CopyPlaces:
    """The texts' tokens in their order; none of the `forbidden` tokens can be copied."""
    tokens = numpy.array([token for text in texts for token in text.tokens], numpy.int64)
    spans = numpy.array([span for text in texts for span in text.offsets], numpy.int32).reshape(-1, 2)
    columns = [_words(text) for text in texts]
    opens, follows, closes, guarded, broken = (
        numpy.concatenate([column[number] for column in columns] or [numpy.zeros(0, bool)]) for number in range(5)
    )
    passage = numpy.repeat([text.passage for text in texts], [len(text.tokens) for text in texts]).astype(numpy.int32)
    first: dict[tuple[int, int, int], int] = {}
    keys = zip(passage.tolist(), spans[:, 0].tolist(), spans[:, 1].tolist(), strict=True)
    same = [first.setdefault(key, place) for place, key in enumerate(keys)]
    return CopyPlaces(
        tokens,
        numpy.repeat([text.source for text in texts], [len(text.tokens) for text in texts]).astype(numpy.int8),
        passage,
        spans[:, 0],
        spans[:, 1],
        opens,
        follows,
        closes,
        guarded,
        # A name or number that the window cut can never be ended; nor has an empty token anything to copy.
        ~broken & ~numpy.isin(tokens, list(forbidden)) & (spans[:, 1] > spans[:, 0]),
        numpy.array(same, numpy.int64),
    )


_Columns = tuple["NDArray[numpy.bool_]", ...]


def _words(text: Text) -> _Columns:
    """Which tokens open, follow and close a word, which words are guarded, and which of those were cut."""
    count = len(text.tokens)
    words = whole_words(text.text)
    starts = numpy.array([start for start, _ in words], numpy.int64)
    ends = numpy.array([end for _, end in words], numpy.int64)
    special = numpy.array(
        [text.text[start].isupper() or any(map(str.isdigit, text.text[start:end])) for start, end in words], bool
    )
    offsets = numpy.array(text.offsets, numpy.int64).reshape(-1, 2)
    if not words or not count:
        nothing = numpy.zeros(count, bool)
        return numpy.ones(count, bool), nothing, numpy.ones(count, bool), nothing, nothing
    word = numpy.searchsorted(starts, offsets[:, 0], side="right") - 1  # the last word that starts by then
    inside = (word >= 0) & (offsets[:, 0] < ends[word])
    of = numpy.where(inside, word, -1 - numpy.arange(count))  # signs are words of their own
    follows = numpy.concatenate([[False], of[1:] == of[:-1]])
    closes = numpy.concatenate([~follows[1:], [True]])
    guarded = inside & special[word]
    cut = numpy.zeros(len(words), bool)
    begun, ended = inside & ~follows, inside & closes
    cut[word[begun]] |= offsets[begun, 0] > starts[word[begun]]
    cut[word[ended]] |= offsets[ended, 1] < ends[word[ended]]
    return ~follows, follows, closes, guarded, guarded & cut[word]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What may be written without a source: a column for each word that has a probability."""

    words: NDArray[numpy.int64]  # (columns,): its token
    safe: NDArray[numpy.bool_]  # (columns,)
    ending: NDArray[numpy.bool_]  # (columns,): continues a word
    column: NDArray[numpy.int64]  # (tokens,): of a token; -1 for none
    letters: NDArray[numpy.bool_]  # (tokens,): a piece of a word that an ending may follow


@dataclass(frozen=True, slots=True)
class Under:
    """What is under way after a token: where in the sources its word stands, and whether that word is guarded."""

    at: NDArray[numpy.bool_]  # (places,)
    guarded: bool = False
    letters: bool = False  # an ending may follow


def allowed(
    under: Under, places: CopyPlaces, vocabulary: Vocabulary
) -> tuple[NDArray[numpy.bool_], NDArray[numpy.bool_]]:
    """Which columns of the vocabulary may come next, and which places.

    A word goes on as it does at the places where it stands so far. A guarded one ends only where it is whole at one of
    them. From the vocabulary come safe words and, after a word that is not guarded, endings.
    """
    goes_on = numpy.zeros_like(under.at)
    goes_on[1:] = under.at[:-1]
    goes_on &= places.follows
    if under.guarded and not (under.at & places.closes).any():
        return numpy.zeros_like(vocabulary.safe), goes_on & places.copyable
    may_end = vocabulary.safe & ~vocabulary.ending if under.guarded or not under.letters else vocabulary.safe
    return may_end, (goes_on | places.opens) & places.copyable
