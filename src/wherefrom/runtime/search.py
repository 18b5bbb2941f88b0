"""Writing an answer in numpy: the best token after the other, or the best of several beginnings (beam search).

The same search as `networks/decoding.py`, for one question, with the rules of `runtime/copying.py` built in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy

from wherefrom.errors import SettingsError
from wherefrom.runtime.copying import CopyPlaces, Under, Vocabulary, allowed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

Step = Callable[["NDArray[numpy.int64]", "NDArray[numpy.int64] | None"], tuple["Floats", "Floats"]]
"""Takes the tokens that were written last, (rows,), and which rows of the step before they continue (None: as they
are); returns the vocabulary's probabilities, (rows, columns), and those of the places, (rows, places)."""

_HARDLY = 1e-9  # the probability of what a rule demands and the network never thought of


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How an answer is searched for."""

    beam: int = 1
    max_tokens: int = 100  # no more than the network was trained to write, at most
    min_tokens: int = 1  # no answer is empty
    block_ngrams: int = 4  # no four tokens in a row come twice
    echo: bool = False  # whether a token may come twice in a row where no source has it so
    longest_above: float = 0.3  # P(a) from which on the longest good answer is taken, not the likeliest
    margin: float = 0.5  # how far below the likeliest a good answer may be, in nats a token
    looking: bool = False  # whether it is kept where every step looked; a picture needs it, an answer does not

    def __post_init__(self) -> None:
        for name in ("beam", "max_tokens", "min_tokens"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 1")


@dataclass(frozen=True, slots=True)
class Copied:
    """One written token, and where it came from."""

    token: int
    place: int | None  # None: the vocabulary
    share: float  # of the token's probability that these characters, or the vocabulary, gave


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer, without style and [end]."""

    tokens: tuple[Copied, ...]
    score: float  # mean log-likelihood of a token, [end] included
    ended: bool  # false where it was cut at max_tokens
    vocabulary: Floats = field(repr=False)  # (tokens,): its share of each; with `places` it adds up to one
    places: Floats = field(repr=False)  # (tokens, places)
    looked: Floats | None = field(default=None, repr=False)  # (tokens, places): the network's own, before any rule


@dataclass(frozen=True, slots=True)
class _Row:
    """A beginning."""

    total: float = 0.0  # log-likelihood
    tokens: tuple[int, ...] = ()
    ended: bool = False
    under: tuple[Under, ...] = ()  # after each token
    vocabulary: tuple[float, ...] = ()
    places: tuple[Floats, ...] = ()
    looked: tuple[Floats, ...] = ()  # empty unless it is kept

    @property
    def score(self) -> float:
        return self.total / max(len(self.tokens) + self.ended, 1)


class Search:
    """The beginnings of one question's answers."""

    def __init__(self, places: CopyPlaces, vocabulary: Vocabulary, end: int, settings: SearchSettings) -> None:
        self._places, self._vocabulary, self._end, self._settings = places, vocabulary, end, settings

    def run(
        self, step: Step, style: int, written: Callable[[WrittenAnswer], None] | None = None
    ) -> list[WrittenAnswer]:
        """The best answers, likeliest first. Ties go to the earlier beginning and the lower token.

        `written` is called with the answer so far after each step of a search with a beam of one.
        """
        rows = [_Row(under=(Under(numpy.zeros(len(self._places), bool)),))]
        tokens = numpy.array([style], numpy.int64)
        parents: NDArray[numpy.int64] | None = None
        for _ in range(self._settings.max_tokens):
            vocabulary, copied = step(tokens, parents)
            rows, parents = self._advanced(rows, vocabulary, copied)
            if all(row.ended for row in rows):
                break
            tokens = numpy.array([self._end if row.ended else row.tokens[-1] for row in rows], numpy.int64)
            if written is not None and self._settings.beam == 1:
                written(self._answer(rows[0]))
        return [self._answer(row) for row in sorted(rows, key=lambda row: -row.score)]

    def _advanced(
        self, rows: Sequence[_Row], vocabulary: Floats, copied: Floats
    ) -> tuple[list[_Row], NDArray[numpy.int64]]:
        """The best continuations, and which row each continues."""
        continuations: list[tuple[float, int, int]] = []  # mean log-likelihood, negative; row; token
        admitted: list[_Admitted | None] = []
        for number, row in enumerate(rows):
            if row.ended:
                admitted.append(None)
                continuations.append((-row.score, number, self._end))
                continue
            here = self._admitted(row, vocabulary[number], copied[number])
            admitted.append(here)
            for token in _best(here.probability, self._settings.beam):
                total = row.total + math.log(here.probability[token])
                continuations.append((-total / (len(row.tokens) + 1), number, token))
        chosen = sorted(continuations)[: self._settings.beam]
        grown = [self._grown(rows[number], admitted[number], token) for _, number, token in chosen]
        return grown, numpy.array([number for _, number, _ in chosen], numpy.int64)

    def _admitted(self, row: _Row, vocabulary: Floats, copied: Floats) -> _Admitted:
        """Without what may not follow; where that leaves nothing, repeats are let in, then the end."""
        may_write, may_copy = allowed(row.under[-1], self._places, self._vocabulary)
        written, taken = vocabulary * may_write, copied * may_copy
        if not written.any() and not taken.any():
            taken = may_copy * numpy.float32(_HARDLY)
        probability = summed(self._places.tokens, taken, len(self._vocabulary.column))
        probability[self._vocabulary.words] += written
        if len(row.tokens) < self._settings.min_tokens:
            probability[self._end] = 0.0
        if repeated := _repeats(row.tokens, self._settings.block_ngrams) | self._echo(row):
            fresh = probability.copy()
            fresh[list(repeated)] = 0.0
            probability = fresh if fresh.any() else probability
        if not probability.any():
            probability[self._end] = 1.0
        return _Admitted(probability, written, taken, may_copy, copied)

    def _echo(self, row: _Row) -> set[int]:
        """The token that was written last, unless a source has it twice in a row: `Duran Duran`."""
        if self._settings.echo or not row.tokens:
            return set()
        again = self._places.tokens[1:] == row.tokens[-1]
        return set() if (again & row.under[-1].at[:-1]).any() else {row.tokens[-1]}

    def _grown(self, row: _Row, here: _Admitted | None, token: int) -> _Row:
        if here is None:
            return row
        total = row.total + math.log(here.probability[token])
        if token == self._end:
            return replace(row, total=total, ended=True)
        column = self._vocabulary.column[token]
        written = float(here.written[column]) if column >= 0 else 0.0
        taken = here.taken * (self._places.tokens == token)
        whole = written + float(taken.sum())
        at = here.may_copy & (self._places.tokens == token)
        best = self._likeliest(taken, at) if taken.sum() > written else None
        guarded = best is not None and bool(self._places.guarded[best])
        under = Under(at & (self._places.guarded == guarded), guarded, bool(self._vocabulary.letters[token]))
        return _Row(
            total,
            (*row.tokens, token),
            False,
            (*row.under, under),
            (*row.vocabulary, written / whole if whole else 1.0),
            (*row.places, (taken / whole if whole else taken).astype(numpy.float32)),
            (*row.looked, here.copied) if self._settings.looking else (),
        )

    def _likeliest(self, shares: Floats, at: NDArray[numpy.bool_]) -> int | None:
        """The place, among those `at`, whose characters have the largest share."""
        if not at.any():
            return None
        return int(numpy.where(at, self._of_characters(shares), -1.0).argmax())

    def _of_characters(self, shares: Floats) -> NDArray[numpy.float64]:
        """The share of each place's characters, which may be those of another place too."""
        return summed(self._places.same, shares, len(self._places))[self._places.same]

    def _answer(self, row: _Row) -> WrittenAnswer:
        """Each token with the place it came from: a word that goes on was copied from one place to the next."""
        tokens: list[Copied] = []
        after: int | None = None
        for number in reversed(range(len(row.tokens))):
            shares, under = row.places[number], row.under[number + 1]
            place: int | None
            if after is not None and self._places.follows[after]:
                place = after - 1
            else:
                at = under.at & self._places.closes if under.guarded else under.at
                from_vocabulary = not under.guarded and row.vocabulary[number] >= shares.sum()
                place = None if from_vocabulary else self._likeliest(shares, at if at.any() else under.at)
            share = row.vocabulary[number] if place is None else float(self._of_characters(shares)[place])
            tokens.append(Copied(row.tokens[number], place, min(share, 1.0)))
            after = place
        return WrittenAnswer(
            tuple(reversed(tokens)),
            row.score,
            row.ended,
            numpy.array(row.vocabulary, numpy.float32),
            self._table(row.places),
            self._table(row.looked) if self._settings.looking else None,
        )

    def _table(self, rows: Sequence[Floats]) -> Floats:
        return numpy.array(rows, numpy.float32).reshape(len(rows), len(self._places))


def chosen(answers: Sequence[WrittenAnswer], answerable: float, settings: SearchSettings) -> list[WrittenAnswer]:
    """All answers, the preferred one first: the likeliest, or the longest good one (PREAST-QA 5.3).

    Where P(a) is high enough, the longest within a margin of the likeliest is preferred. Cut answers come last.
    """
    whole = [answer for answer in answers if answer.ended] or list(answers)
    best = max(whole, key=lambda answer: answer.score)
    if answerable > settings.longest_above:
        good = [answer for answer in whole if answer.score >= best.score - settings.margin]
        best = max(good, key=lambda answer: (len(answer.tokens), answer.score))
    others = [answer for answer in answers if answer is not best]
    return [best, *sorted(others, key=lambda answer: (not answer.ended, -answer.score))]


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A step after the rules."""

    probability: NDArray[numpy.float64]  # (tokens,)
    written: Floats  # (columns,), the vocabulary's
    taken: Floats  # (places,)
    may_copy: NDArray[numpy.bool_]  # (places,)
    copied: Floats  # (places,), before the rules


def summed(numbers: NDArray[numpy.int64], values: Floats, size: int) -> NDArray[numpy.float64]:
    """The sum of the values of each number: (size,)."""
    return numpy.bincount(numbers, values, size).astype(numpy.float64, copy=False)


def _best(probability: NDArray[numpy.float64], count: int) -> list[int]:
    """The likeliest tokens; of equals the lower ones."""
    if count == 1:
        return [int(probability.argmax())]
    least = numpy.partition(probability, -count)[-count]
    near = numpy.flatnonzero((probability >= least) & (probability > 0))
    return [int(token) for token in near[numpy.argsort(-probability[near], kind="stable")[:count]]]


def _repeats(tokens: Sequence[int], n: int) -> set[int]:
    """What would repeat n tokens in a row."""
    if n < 1 or len(tokens) < n:
        return set()
    tail = tuple(tokens[len(tokens) - n + 1 :])
    return {tokens[at + n - 1] for at in range(len(tokens) - n + 1) if tuple(tokens[at : at + n - 1]) == tail}
