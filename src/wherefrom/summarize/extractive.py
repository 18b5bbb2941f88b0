"""Summaries in the documents' own words: the statements most worth telling, each at its characters.

The default, and the only one that needs no network of its own to write. What is chosen stands in the order of the
documents; nothing is told where the passages seem not to speak of the question at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wherefrom.features.chance import FittedLine
from wherefrom.features.choosing import chosen, in_reading_order
from wherefrom.features.statements import Statement, quoted
from wherefrom.features.telling import Teller, Weighed, WeightsOfLine, chance_of, read_line
from wherefrom.types import Hit, Question, Summary, SummarySentence, joined

NOTHING = "nothing in these documents speaks of this"
LITTLE = "these documents hold little on this"


class ExtractiveSummarizer:
    """Quotes statements up to a number of words.

    `min_chance` is the least chance that the passages speak of the question; below it nothing is told.
    """

    def __init__(self, teller: Teller, weights: WeightsOfLine, novelty: float = 0.1, min_chance: float = 0.0) -> None:
        self._teller = teller
        self._weights = weights
        self._novelty = novelty
        self._min_chance = min_chance
        self._line: FittedLine | None = None

    def summarize(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], words: int) -> list[Summary]:
        return [self._summary(question, own, words) for question, own in zip(questions, hits, strict=True)]

    def _summary(self, question: Question, hits: Sequence[Hit], words: int) -> Summary:
        weighed = self._teller.weighed(question.text, hits)
        if not weighed.statements:
            return Summary(reason=NOTHING, chance=0.0)
        chance = self._chance(question.text, weighed)
        unlikely = chance is not None and chance < self._min_chance
        named = question.within is not None and bool(question.within.folders)
        if unlikely and not named:  # of documents that were named, what they hold is told in any case
            return Summary(reason=NOTHING, chance=chance)
        pool, scores = weighed.statements, self._teller.scores(weighed, "summary")
        least = self._teller.selector.least("summary")
        places = chosen(pool, scores, weighed.likeness, words, least=least, novelty=self._novelty)
        summary = summary_of([pool[at] for at in in_reading_order(pool, places)], words)
        return replace(summary, chance=chance, reason=LITTLE if unlikely else summary.reason)

    def _chance(self, question: str, weighed: Weighed) -> float | None:
        """That the passages speak of the question; None of one that names nothing."""
        if self._teller.is_general(question):
            return None
        if self._line is None:
            self._line = read_line(self._weights)
        return chance_of(self._line, self._teller.signs(weighed))


def summary_of(pool: Sequence[Statement], words: int) -> Summary:
    """The statements as a summary; one that fills less than half of its words says so."""
    sentences: list[SummarySentence] = []
    for place, each in enumerate(pool):
        own = quoted(each)
        space = "" if not place else _between(pool[place - 1], each)
        sentences.append(SummarySentence(joined(own), (each.passage,), own, space))
    length = sum(each.length for each in pool)
    return Summary(tuple(sentences), LITTLE if 2 * length < words else "")


def _between(one: Statement, other: Statement) -> str:
    """White space between two statements: a line of its own for what is no prose, a paragraph for another document."""
    if one.passage.document_id != other.passage.document_id:
        return "\n\n"
    return " " if one.kind == other.kind == "sentence" else "\n"
