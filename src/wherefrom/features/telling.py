"""The statements of a question's hits and what each is worth telling, worked out once for all stages that look at them.

Judging, writing and summarizing share one of these, as they share the reader's session.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from wherefrom.errors import WherefromError
from wherefrom.features.chance import FittedLine, probability
from wherefrom.features.choosing import explaining
from wherefrom.features.statements import Statement, statements_of
from wherefrom.features.worth import NAMES, Purpose, Selector, SpanReading, Worth
from wherefrom.types import Hit, Passage

CHANCE = "speaks.json"  # the line that says whether the hits speak of the question at all
SIGNS = (
    "best",  # the highest scores of statements, by the head for explaining
    "second",
    "third",
    "relevance",  # the reader's, of the best passage, and how far that is above the next
    "lead",
    "null margin",
    "nearness",
    "passage nearness",
    "coverage",
    "passage coverage",
    "retrieved lead",
    "question length",
    "why",
    "how",
    "what",
)
_REMEMBERED = 64  # questions with their hits, some 100 kB each at most


class WeightsOfLine(Protocol):
    """A folder of weights, as far as it is needed to read the line."""

    @property
    def folder(self) -> Path: ...
    def json(self, name: str) -> Any: ...


class PassageReader(Protocol):
    """What is wanted of the reader network's session."""

    def read(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> Sequence[Sequence[SpanReading]]: ...


@dataclass(frozen=True, slots=True)
class Weighed:
    """The statements of a question's hits, and their numbers."""

    statements: tuple[Statement, ...]
    rows: NDArray[numpy.float32]  # (statements, features)
    likeness: NDArray[numpy.float32]  # (statements, statements)


class Teller:
    """Weighs statements; `read` hits are read by the network, the others by words alone. Threads may share it."""

    def __init__(self, selector: Selector, worth: Worth, session: PassageReader | None = None, read: int = 12) -> None:
        self.selector = selector
        self._worth = worth
        self._session = session
        self._read = read
        self._remembered: OrderedDict[tuple[str, tuple[str, ...]], Weighed] = OrderedDict()
        self._lock = threading.Lock()

    def weighed(self, question: str, hits: Sequence[Hit]) -> Weighed:
        """Of one question; remembered for the stages that follow."""
        key = question, tuple(hit.passage.id for hit in hits)
        with self._lock:
            known = self._remembered.get(key)
        if known is not None and _same_hits(known, hits):
            return known
        pool = statements_of([hit.passage for hit in hits])
        rows = self._worth.rows(question, pool, hits, self._readings(question, hits))
        fresh = Weighed(tuple(pool), rows, self._worth.likeness(pool))
        with self._lock:
            self._remembered[key] = fresh
            while len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)
        return fresh

    def scores(self, weighed: Weighed, purpose: Purpose) -> NDArray[numpy.float32]:
        return self.selector.scores(weighed.rows, purpose)

    def explanation(self, weighed: Weighed, leading: int | None = None) -> list[int]:
        """The places of the statements that explain best, best first; the one at `leading` is told in any case."""
        scores, least = self.scores(weighed, "explain"), self.selector.least("explain")
        return explaining(weighed.statements, scores, weighed.likeness, least, leading)

    def is_general(self, question: str) -> bool:
        """Whether it names nothing that could be looked for."""
        return self._worth.is_general(question)

    def signs(self, weighed: Weighed) -> tuple[float, ...] | None:
        """What says whether the hits speak of the question, in the order of SIGNS; None where there are none."""
        if not weighed.statements:
            return None
        return signs_of(weighed.rows, self.selector.scores(weighed.rows, "explain"))

    def _readings(self, question: str, hits: Sequence[Hit]) -> list[SpanReading | None]:
        """What the network says of the first hits; of a question that names nothing it has nothing to say."""
        readings: list[SpanReading | None] = [None] * len(hits)
        if self._session is not None and not self._worth.is_general(question):
            first = [hit.passage for hit in hits[: self._read]]
            readings[: len(first)] = self._session.read([question], [first])[0]
        return readings


def signs_of(rows: NDArray[numpy.float32], scores: NDArray[numpy.float32]) -> tuple[float, ...]:
    """The signs of a question, from the numbers of its statements and their scores; rows of one hit share theirs."""
    best = sorted((logit(float(score)) for score in scores), reverse=True)[:3]
    best += [best[-1]] * (3 - len(best))
    column = {name: rows[:, at] for at, name in enumerate(NAMES)}
    _, hits = numpy.unique(column["hit"], return_index=True)
    relevances = sorted(column["relevance"][hits].tolist(), reverse=True)
    retrieved = sorted(column["retrieved"][hits].tolist(), reverse=True)
    highest = ("null margin", "nearness", "passage nearness", "coverage", "passage coverage")
    return (
        *best,
        relevances[0],
        relevances[0] - relevances[min(1, len(relevances) - 1)],
        *(float(column[name].max()) for name in highest),
        retrieved[0] - retrieved[min(1, len(retrieved) - 1)],
        *(float(column[name][0]) for name in ("question length", "why", "how", "what")),
    )


def read_line(weights: WeightsOfLine) -> FittedLine:
    """The line that says whether passages speak of a question."""
    try:
        return FittedLine.of(weights.json(CHANCE), SIGNS)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WherefromError(
            f"{weights.folder / CHANCE} is not a fitted line ({error}); install wherefrom again, or fit it with "
            "`wherefrom train selector`"
        ) from error


def chance_of(line: FittedLine, signs: Sequence[float] | None) -> float:
    """That the hits answer the question; 0 without any."""
    return 0.0 if signs is None else probability(line.logit(signs))


def _same_hits(known: Weighed, hits: Sequence[Hit]) -> bool:
    """Whether the passages under these ids still are what they were."""
    texts = {each.passage.id: each.passage.text for each in known.statements}
    return all(texts.get(hit.passage.id, hit.passage.text) == hit.passage.text for hit in hits)


def logit(chance: float) -> float:
    """Of a chance, within bounds."""
    chance = min(max(chance, 1e-4), 1 - 1e-4)
    return math.log(chance / (1 - chance))
