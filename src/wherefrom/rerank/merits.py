"""Candidates ordered by what speaks for each of them: the reader's numbers, words, nearness, on a fitted line.

The default with the reader network. Reading compares spans of different passages by one network's logits alone; here it
also counts whether the passage speaks of what the question names, whether several places say the same, and whether the
answer is the kind of thing asked for. It needs `order.json` beside the reader; `wherefrom train judge` fits it.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.errors import WherefromError
from wherefrom.features.chance import FittedLine
from wherefrom.features.matching import Matcher
from wherefrom.features.merits import NAMES, different, form, merits
from wherefrom.features.overlap import Stems
from wherefrom.runtime.weights import Weights
from wherefrom.types import Candidate, Question

ORDER = "order.json"


_AFTER = 0.01  # what a span stands behind the one that leads its place, at least


def led(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[float]:
    """The scores, of which the best of each place goes to the span that the reader likes best there.

    The line knows which place answers, not where the answer ends: what holds an answer is right to it however long.
    `candidates` stand in the reader's order; a place is a span with all that overlap it and are liked less.
    """
    leaders: list[int] = []
    leader_of: list[int] = []
    for at, candidate in enumerate(candidates):
        leader = next((each for each in leaders if _overlap(candidates[each], candidate)), at)
        if leader == at:
            leaders.append(at)
        leader_of.append(leader)
    best = {
        leader: max(score for score, of in zip(scores, leader_of, strict=True) if of == leader) for leader in leaders
    }
    return [
        best[leader] if leader == at else min(score, best[leader] - _AFTER)
        for at, (score, leader) in enumerate(zip(scores, leader_of, strict=True))
    ]


def _overlap(one: Candidate, other: Candidate) -> bool:
    return one.passage.id == other.passage.id and one.start < other.end and other.start < one.end


class MeritReranker:
    """The score is the line's; candidates that say the same share it, and those that are not compared stay behind.

    Of spans that overlap, the reader's best one leads.
    """

    def __init__(self, weights: Weights, language: str = "english", matcher: Matcher | None = None) -> None:
        self._weights = weights
        self._stems = Stems(language)
        self._matcher = matcher
        self._line: FittedLine | None = None

    def rerank(self, questions: Sequence[Question], candidates: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
        return [self._rerank_one(question.text, own) for question, own in zip(questions, candidates, strict=True)]

    def _rerank_one(self, question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        if not candidates:
            return []
        line = self._fitted()
        rows = merits(question, candidates, self._stems, self._matcher)
        scores = {form(candidate): line.logit(row) for candidate, row in zip(different(candidates), rows, strict=True)}
        behind = min(scores.values()) - 1.0
        own = [scores.get(form(candidate), behind) for candidate in candidates]
        scored = [
            candidate.rescored("rerank", score)
            for candidate, score in zip(candidates, led(candidates, own), strict=True)
        ]
        return sorted(scored, key=lambda candidate: -candidate.score)  # equal ones stay in the reader's order

    def _fitted(self) -> FittedLine:
        if self._line is None:
            saved = self._weights.json(ORDER)
            try:
                self._line = FittedLine.of(saved, NAMES)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise WherefromError(
                    f"{self._weights.folder / ORDER} is not a fitted order ({error}); install wherefrom again, or "
                    "fit it with `wherefrom train judge`"
                ) from error
        return self._line
