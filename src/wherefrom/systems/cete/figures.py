"""What rankings of dev questions are worth: MAP and MRR of every set, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from wherefrom.metrics.ranking import average_precision, precision_at, ranked, reciprocal_rank
from wherefrom.metrics.significance import paired_t_test
from wherefrom.systems.cete.pairs import PairMaterial, SelectionQuestion

SETS = {  # a row's dataset and split to the set that it is measured on here
    ("TREC-QA", "test, raw"): "trecqa-raw",
    ("TREC-QA", "test, cleaned"): "trecqa-clean",
    ("WikiQA", "test, cleaned"): "wikiqa",
    ("YahooCQA", "test"): "yahoocqa",
    ("SemEval-2015", "test"): "semeval15",
    ("SemEval-2016", "test"): "semeval16",
    ("SemEval-2017", "test"): "semeval17",
}


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well a question's candidates are ranked."""

    id: str
    average_precision: float
    reciprocal_rank: float
    first_right: float


def rankings(
    material: PairMaterial, questions: Sequence[SelectionQuestion], scores: Mapping[int, float]
) -> dict[str, list[Ranking]]:
    """Of every set its questions with a right candidate; `scores` by the pair's number.

    trecqa has all candidates that its file gives; trecqa-raw those of at most 40 words, as the published counts do, and
    trecqa-clean of these the questions that also have a wrong one.
    """
    labels, short = material.column("pair_label"), material.column("pair_short")
    sets: dict[str, list[Ranking]] = {}
    for question in questions:
        ways = {question.source: [*question.pairs]}
        if question.source == "trecqa":
            kept = [pair for pair in question.pairs if short[pair]]
            ways["trecqa-raw"] = kept  # type: ignore[index]  # a set, not a source
            if 0 < sum(int(labels[pair]) for pair in kept) < len(kept):
                ways["trecqa-clean"] = kept  # type: ignore[index]
        for name, pairs in ways.items():
            gains = [float(labels[pair]) for pair in pairs]
            if any(gains):
                order = ranked([scores[pair] for pair in pairs], gains)
                sets.setdefault(name, []).append(
                    Ranking(question.id, average_precision(order), reciprocal_rank(order), precision_at(order, 1))
                )
    return sets


def means(sets: Mapping[str, Sequence[Ranking]]) -> dict[str, dict[str, float]]:
    """MAP, MRR and how often the first is right (per cent), of each set."""
    return {
        name: {
            "questions": len(each),
            "map": fmean(one.average_precision for one in each),
            "mrr": fmean(one.reciprocal_rank for one in each),
            "p_1": 100 * fmean(one.first_right for one in each),
        }
        for name, each in sets.items()
    }


def as_json(sets: Mapping[str, Sequence[Ranking]]) -> dict[str, Any]:
    """The means, and every question's numbers, which tests between two systems need."""
    return {
        "means": means(sets),
        "questions": {
            name: {one.id: [one.average_precision, one.reciprocal_rank] for one in each} for name, each in sets.items()
        },
    }


def compared(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """The paired t-test of the average precisions of the same questions, as the thesis does; of each set."""
    tests: dict[str, Any] = {}
    for name, questions in ours["questions"].items():
        others = theirs["questions"].get(name, {})
        both = [id for id in questions if id in others]
        if len(both) > 1:
            for place, measure in enumerate(("map", "mrr")):
                test = paired_t_test([questions[id][place] for id in both], [others[id][place] for id in both])
                tests.setdefault(name, {"questions": len(both)})[measure] = {"gain": test.difference, "p": test.p}
    return tests
