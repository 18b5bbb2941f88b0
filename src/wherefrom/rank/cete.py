"""Passages ranked by CETE, which was trained to tell the sentence that answers from its neighbours.

Use it where sentences are ranked, such as those of an answer; it costs a pass of its own beside the reader's. It needs
the weights `cete`, which come with wherefrom-lab.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wherefrom.features.chance import probability
from wherefrom.runtime.pairs import PairSession
from wherefrom.text import sentences
from wherefrom.types import Hit, Passage, Question


class CeteRanker:
    """Orders hits by the chance that they answer, and keeps the best."""

    def __init__(self, session: PairSession, keep: int) -> None:
        self._session = session
        self._keep = keep

    def rank(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
        logits = self._session.score(
            [question.text for question in questions], [[hit.passage.text for hit in own] for own in hits]
        )
        ranked = []
        for question_hits, own_logits in zip(hits, logits, strict=True):
            scored = [
                hit.rescored("rank", probability(logit)) for hit, logit in zip(question_hits, own_logits, strict=True)
            ]
            ranked.append(sorted(scored, key=lambda hit: (-hit.score, hit.passage.id))[: self._keep])
        return ranked


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of a passage, `passage.text[start:end]`, and the chance that it answers."""

    passage: Passage
    start: int
    end: int
    chance: float


def answer_sentences(
    session: PairSession, questions: Sequence[Question], passages: Sequence[Sequence[Passage]]
) -> list[list[ScoredSentence]]:
    """For every question all sentences of its passages, those first that most likely answer it.

    Equal ones keep the order of the passages and, inside one, of the text.
    """
    cut = [[(passage, *span) for passage in own for span in sentences(passage.text)] for own in passages]
    logits = session.score(
        [question.text for question in questions],
        [[passage.text[start:end] for passage, start, end in own] for own in cut],
    )
    return [
        sorted(
            (
                ScoredSentence(passage, start, end, probability(logit))
                for (passage, start, end), logit in zip(own, own_logits, strict=True)
            ),
            key=lambda sentence: -sentence.chance,
        )
        for own, own_logits in zip(cut, logits, strict=True)
    ]
