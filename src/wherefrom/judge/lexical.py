"""The chance that the library answers a question, judged by the question's words alone.

Needs no model. A question whose rare words the found passages do not hold is probably not answered by them.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.features.chance import probability
from wherefrom.features.expected import expected, holds
from wherefrom.features.overlap import Stems, coverage, rarity
from wherefrom.types import Candidate, Hit, Question

Features = tuple[float, float, float, float]

# Fitted by bench/fit_lexical_judge.py, seed 13: a library of half of the paragraphs of
# SQuAD articles, the questions on the others as those it does not answer.
_BIAS = -2.842
_WEIGHTS: Features = (2.5, 3.488, -0.991, 0.381)


class LexicalJudge:
    """Logistic regression on how much of the question the best candidate and its passage cover."""

    def __init__(self, language: str) -> None:
        self._stems = Stems(language)

    def judge(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[float]:
        return [
            self._judge_one(question, question_hits, read)
            for question, question_hits, read in zip(questions, hits, candidates, strict=True)
        ]

    def features(self, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate]) -> Features | None:
        """Coverage by the best sentence, by its passage and by all passages, and whether the kind fits."""
        passages = [frozenset(self._stems(f"{hit.passage.title}\n{hit.passage.text}")) for hit in hits]
        weights = rarity(self._stems(question.text), passages)
        if not weights or not candidates:
            return None
        best = candidates[0]
        sentence = frozenset(self._stems(best.text))
        passage = frozenset(self._stems(f"{best.passage.title}\n{best.passage.text}"))
        return (
            coverage(weights, sentence),
            coverage(weights, passage),
            coverage(weights, frozenset().union(*passages)),
            float(holds(expected(question.text), best.text)),
        )

    def _judge_one(self, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate]) -> float:
        row = self.features(question, hits, candidates)
        if row is None or row[1] == 0.0:  # nothing was found, or nothing of the question is in it
            return 0.0
        return probability(_BIAS + sum(w * x for w, x in zip(_WEIGHTS, row, strict=True)))
