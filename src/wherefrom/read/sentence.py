"""Whole sentences as candidate answers, chosen by the words they share with the question.

Needs no model. Use it where none is at hand, or as the yardstick that a trained reader has to beat.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.features.expected import expected, holds
from wherefrom.features.overlap import Stems, coverage, rarity
from wherefrom.text import sentences
from wherefrom.types import Candidate, Hit, Question

# A sentence often leaves its subject to the title or the sentences around it.
_CONTEXT = 0.6  # weight of the question's words found in the passage or its title, beside those in the sentence
_KIND = 0.15  # for a sentence that has the kind of thing the question wants: a number, a name, a date
_RANK = 0.1  # for the first passage, less for each one after it


class SentenceReader:
    """Scores a sentence by the rare words of the question that it and its passage hold."""

    def __init__(self, candidates: int, language: str) -> None:
        self._candidates = candidates
        self._stems = Stems(language)

    def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
        return [
            self._read_one(question, question_hits) for question, question_hits in zip(questions, hits, strict=True)
        ]

    def _read_one(self, question: Question, hits: Sequence[Hit]) -> list[Candidate]:
        passages = [frozenset(self._stems(f"{hit.passage.title}\n{hit.passage.text}")) for hit in hits]
        weights = rarity(self._stems(question.text), passages)
        kind = expected(question.text)
        candidates: dict[tuple[str, int, int], Candidate] = {}
        for rank, (hit, stems) in enumerate(zip(hits, passages, strict=True)):
            context = coverage(weights, stems)
            for start, end in sentences(hit.passage.text):
                text = hit.passage.text[start:end]
                overlap = coverage(weights, frozenset(self._stems(text)))
                score = overlap + _CONTEXT * context + _KIND * holds(kind, text) + _RANK / (1 + rank)
                candidate = Candidate(text, hit.passage, start, end, score, {**hit.features, "read": score})
                # Passages overlap: the same sentence of a document is one candidate.
                place = (hit.passage.document_id, hit.passage.start + start, hit.passage.start + end)
                if text.endswith("?") or (place in candidates and candidates[place].score >= score):
                    continue
                candidates[place] = candidate
        ordered = sorted(
            candidates.values(), key=lambda candidate: (-candidate.score, candidate.passage.id, candidate.start)
        )
        return ordered[: self._candidates]
