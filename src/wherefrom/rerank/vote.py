"""Candidates ordered by votes: answers that say the same share the sum of their probabilities.

Needs no model. The yardstick for trained re-rankers; it helps where the same answer stands in many passages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wherefrom.text import normalized
from wherefrom.types import Candidate, Question


class VoteReranker:
    """log Σ P(span) over candidates with the same normal form; among those, the reader's order."""

    def rerank(self, questions: Sequence[Question], candidates: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
        return [
            self._rerank_one(question_candidates) for _, question_candidates in zip(questions, candidates, strict=True)
        ]

    def _rerank_one(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        if not candidates:
            return []
        most = max(candidate.score for candidate in candidates)
        votes: dict[str, float] = {}
        for candidate in candidates:
            form = normalized(candidate.text)
            votes[form] = votes.get(form, 0.0) + math.exp(candidate.score - most)
        scored = [
            candidate.rescored("rerank", most + math.log(max(votes[normalized(candidate.text)], _LEAST)))
            for candidate in candidates
        ]
        return sorted(scored, key=lambda candidate: -candidate.score)  # equal votes stay in the reader's order


_LEAST = 1e-300  # a candidate so far behind that its probability is no number any more
