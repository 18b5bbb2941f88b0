"""What summaries are worth: ROUGE as for DUC, beside trivial ones of the same documents and length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Any

from wherefrom.features.trivial_summaries import BASELINES, filled
from wherefrom.metrics.rouge import DUC, Kind, rouge
from wherefrom.metrics.significance import paired_t_test
from wherefrom.systems.pqsum.sets import DocumentSet, pieces

OURS = "ours"
Report = Callable[[int, int], None]  # done, of how many
_KINDS: tuple[Kind, ...] = ("1", "2", "L", "SU4")
_LEAST_WORDS = 4  # of a sentence of a trivial summary
_PARTS = (("r", "recall"), ("p", "precision"), ("f", "f"))


Rows = Mapping[str, Sequence[Mapping[str, float]]]  # by system, a row a set


def trivial(sets: Sequence[DocumentSet], words: Sequence[int], report: Report) -> dict[str, list[dict[str, float]]]:
    """What trivial summaries of each set are worth."""
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in BASELINES}
    for at, (each, budget) in enumerate(zip(sets, words, strict=True)):
        report(at, len(sets))
        for name, own in rows.items():
            own.append(scored(_trivial(name, each, budget), each.references))
    return rows


def figures(sets: Sequence[DocumentSet], written: Sequence[str], baselines: Rows) -> dict[str, Any]:
    """By source: how many sets, and the means of each system; of a trivial one also how likely chance alone makes ours
    as much better or worse in ROUGE-L."""
    ours = [scored(text, each.references) for text, each in zip(written, sets, strict=True)]
    by_source: dict[str, Any] = {}
    for source in dict.fromkeys(each.source for each in sets):
        places = [at for at, each in enumerate(sets) if each.source == source]
        rows = {name: [own[at] for at in places] for name, own in {OURS: ours, **baselines}.items()}
        by_source[source] = {"sets": len(places), **{name: _means(own, rows[OURS]) for name, own in rows.items()}}
    return by_source


def scored(text: str, references: Sequence[str]) -> dict[str, float]:
    """Recall, precision and F of every kind; shares from 0 to 1."""
    scores = rouge(text, references, _KINDS, DUC)
    return {
        f"rouge_{kind.lower()}_{letter}": float(getattr(scores[kind], name))
        for kind in _KINDS
        for letter, name in _PARTS
    }


def _trivial(name: str, of: DocumentSet, words: int) -> str:
    if name == "TextRank":  # which asks nothing: the queries of a meeting share it
        return _text_rank(of.documents, words)
    texts = _statements(of.documents)
    return filled(texts, BASELINES[name](of.query, texts), words)


@lru_cache(maxsize=4)
def _text_rank(documents: tuple[str, ...], words: int) -> str:
    texts = _statements(documents)
    return filled(texts, BASELINES["TextRank"]("", texts), words)


def _statements(documents: Sequence[str]) -> list[str]:
    """Without the shortest: "Yeah." would be most like all the others of its kind."""
    texts = [piece for document in documents for piece in pieces(document)]
    return [text for text in texts if len(text.split()) >= _LEAST_WORDS] or texts


def _means(rows: Sequence[Mapping[str, float]], ours: Sequence[Mapping[str, float]]) -> dict[str, float]:
    means = {name: fmean(row[name] for row in rows) for name in rows[0]}
    if rows is ours or len(rows) < 2:
        return means
    return {**means, "p": paired_t_test([row["rouge_l_f"] for row in ours], [row["rouge_l_f"] for row in rows]).p}
