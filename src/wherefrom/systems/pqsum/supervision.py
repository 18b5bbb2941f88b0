"""Weak references: a document's best sentences, and distant supervision, which puts gold sentences in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy
from numpy.typing import NDArray

from wherefrom.features.overlap import Stems
from wherefrom.features.worth import similarities
from wherefrom.runtime.embedder import STEPS, TextEmbedder
from wherefrom.systems.pqsum.sets import DocumentSet, Place, pieces

Pieces = Mapping[Place, Sequence[str]]  # sentences of documents, or of what was written of them
Likeness = NDArray[numpy.float32]  # (weak sentences, gold sentences)


def best(texts: Sequence[str], scores: Sequence[float], count: int) -> list[str]:
    """Those with the highest scores, in the order of the text; of equal ones the earlier."""
    order = sorted(range(len(texts)), key=lambda at: (-scores[at], at))[:count]
    return [texts[at] for at in sorted(order)]


def replaced(weak: Sequence[str], gold: Sequence[str], likeness: Likeness) -> list[str]:
    """For each weak sentence in turn the gold one most like it that no earlier one has taken.

    Weak sentences for which no gold one is left are dropped.
    """
    taken: list[int] = []
    for row in likeness[: len(weak)].tolist():
        left = [at for at in range(len(gold)) if at not in taken]
        if not left:
            break
        taken.append(max(left, key=lambda at: (row[at], -at)))
    return [gold[at] for at in taken]


def supervised(sets: Sequence[DocumentSet], weak: Pieces, embedder: TextEmbedder | None) -> dict[Place, list[str]]:
    """Every weak reference with the gold sentences of its set in place of its own; without an embedder by words."""
    gold = {at: [piece for text in sets[at].references for piece in pieces(text)] for at in {at for at, _ in weak}}
    if embedder is None:
        return {place: replaced(own, gold[place[0]], by_words(own, gold[place[0]])) for place, own in weak.items()}
    texts = list(dict.fromkeys(text for own in [*weak.values(), *gold.values()] for text in own))
    vectors = embedder.vectors(texts).astype(numpy.float32) / STEPS
    row_of = {text: row for row, text in enumerate(texts)}

    def of(texts: Sequence[str]) -> Likeness:
        return vectors[[row_of[text] for text in texts]]

    return {
        place: replaced(own, gold[place[0]], of(own) @ of(gold[place[0]]).T) if own else []
        for place, own in weak.items()
    }


def by_words(weak: Sequence[str], gold: Sequence[str]) -> Likeness:
    """Cosines of the sentences' stems."""
    stems = Stems("english")
    whole: Likeness = similarities([stems(text) for text in [*weak, *gold]])
    return whole[: len(weak), len(weak) :]
