"""Sentences ranked by CETE, the ranker that is shipped, where the source has RoBERTa Large tuned on MS MARCO."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy

from wherefrom.runtime.pairs import PairSession
from wherefrom.systems.pqsum.figures import Report
from wherefrom.systems.pqsum.sets import DocumentSet, Place, pieces
from wherefrom.systems.pqsum.supervision import Pieces

Ranked = dict[Place, list[float]]
_TOGETHER = 200  # documents that are ranked at a time


def ranked(session: PairSession, sets: Sequence[DocumentSet], texts: Pieces, report: Report) -> Ranked:
    """The logit of each sentence that it answers its set's query."""
    places = list(texts)
    scores: Ranked = {}
    for begin in range(0, len(places), _TOGETHER):
        report(begin, len(places))
        batch = places[begin : begin + _TOGETHER]
        logits = session.score([sets[at].query for at, _ in batch], [texts[place] for place in batch])
        scores |= zip(batch, logits, strict=True)
    return scores


def in_sentences(sets: Sequence[DocumentSet], places: Sequence[Place]) -> dict[Place, list[str]]:
    """The documents themselves."""
    return {place: pieces(sets[place[0]].documents[place[1]]) for place in places}


def write_ranking(path: Path, scores: Ranked) -> None:
    with path.open("wb") as file:
        numpy.savez_compressed(
            file,
            places=numpy.array(list(scores), numpy.int32).reshape(-1, 2),
            counts=numpy.array([len(own) for own in scores.values()], numpy.int32),
            logits=numpy.array([logit for own in scores.values() for logit in own], numpy.float32),
        )


def read_ranking(path: Path) -> Ranked:
    with path.open("rb") as file, numpy.load(file, allow_pickle=False) as held:
        places, counts = held["places"].tolist(), held["counts"].tolist()
        rest = iter(held["logits"].tolist())
    return {
        (at, number): [next(rest) for _ in range(count)] for (at, number), count in zip(places, counts, strict=True)
    }
