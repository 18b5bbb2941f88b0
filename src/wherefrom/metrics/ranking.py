"""How well a ranking puts the relevant items first.

A `RankedGains` is one question's list in ranked order, as gains: 0 for irrelevant, more for relevant, as in
trec_eval. Each metric looks at one ranking; `mean_over` takes the mean over questions. An empty list scores 0
where the question has a relevant item; where it has none, every metric is 0, and `mean_over` leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from wherefrom.metrics.checks import MetricError, check_cutoff, check_numbers, check_same_length

Ties = Literal["given", "trec"]


@dataclass(frozen=True, slots=True)
class RankedGains:
    """The gains of a question's items, best-ranked first; `missed` are those of relevant items that are not listed."""

    gains: tuple[float, ...]
    missed: tuple[float, ...] = ()

    @property
    def relevant(self) -> int:
        """How many items of positive gain the question has, listed or missed."""
        return sum(gain > 0 for gain in self.gains) + sum(gain > 0 for gain in self.missed)


def order(scores: Sequence[float], ids: Sequence[str] | None = None, ties: Ties = "given") -> list[int]:
    """The places of the items from the highest score down.

    Equal scores keep the order they were given in, or with "trec" go by id, the lexicographically larger first, as
    trec_eval sorts. (trec_eval also cuts scores to single precision, which can make more of them equal.)
    """
    check_numbers(scores, "scores")
    if ties == "given":
        return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)  # stable, also in reverse
    if ids is None:
        raise MetricError('ties="trec" sorts equal scores by id; give the ids')
    check_same_length(scores=scores, ids=ids)
    return sorted(range(len(scores)), key=lambda place: (scores[place], ids[place]), reverse=True)


def ranked(scores: Sequence[float], gains: Sequence[float], missed: Sequence[float] = ()) -> RankedGains:
    """The ranking of a list of candidates by their scores; equal scores keep the given order."""
    check_same_length(scores=scores, gains=gains)
    return RankedGains(tuple(gains[place] for place in order(scores)), tuple(missed))


def ranked_run(run: Mapping[str, float], judged: Mapping[str, float], ties: Ties = "trec") -> RankedGains:
    """The ranking of one question of a run, item id → score, under judgements, item id → gain; unjudged is 0."""
    ids = list(run)
    places = order(list(run.values()), ids, ties)
    return RankedGains(
        tuple(judged.get(ids[place], 0.0) for place in places),
        tuple(gain for item, gain in judged.items() if item not in run),
    )


def average_precision(ranking: RankedGains) -> float:
    """AP = (1/R) Σ_k rel_k · P@k, with R all relevant items, also those missed (trec_eval: map)."""
    total = hits = 0.0
    for rank, gain in enumerate(ranking.gains, start=1):
        if gain > 0:
            hits += 1
            total += hits / rank
    return total / ranking.relevant if hits else 0.0


def reciprocal_rank(ranking: RankedGains, k: int | None = None) -> float:
    """RR = 1 / rank of the first relevant item, 0 if none is listed among the first k (trec_eval: recip_rank)."""
    if k is not None:
        check_cutoff(k)
    for rank, gain in enumerate(ranking.gains[:k], start=1):
        if gain > 0:
            return 1 / rank
    return 0.0


def precision_at(ranking: RankedGains, k: int = 1) -> float:
    """P@k = relevant among the first k, over k, also where the list is shorter (trec_eval: P_k)."""
    check_cutoff(k)
    return sum(gain > 0 for gain in ranking.gains[:k]) / k


def recall_at(ranking: RankedGains, k: int) -> float:
    """R@k = relevant among the first k, over all relevant (trec_eval: recall_k)."""
    check_cutoff(k)
    hits = sum(gain > 0 for gain in ranking.gains[:k])
    return hits / ranking.relevant if hits else 0.0


def hit_at(ranking: RankedGains, k: int) -> float:
    """Top-k = 1 if any of the first k is relevant, else 0 (trec_eval: success_k)."""
    check_cutoff(k)
    return float(any(gain > 0 for gain in ranking.gains[:k]))


def dcg_at(gains: Sequence[float], k: int | None = None) -> float:
    """DCG@k = Σ_{rank ≤ k} gain / log2(rank + 1), negative gains being 0 (Järvelin & Kekäläinen 2002; trec_eval)."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], start=1) if gain > 0)


def ndcg_at(ranking: RankedGains, k: int | None = None) -> float:
    """nDCG@k = DCG@k / DCG@k of the best possible order of all items, also those missed (trec_eval: ndcg_cut_k).

    Gains may be graded; 0 and 1 make it binary. The gain itself counts, not 2^gain − 1.
    """
    if k is not None:
        check_cutoff(k)
    best = dcg_at(sorted(ranking.gains + ranking.missed, reverse=True), k)
    return dcg_at(ranking.gains, k) / best if best else 0.0


def mean_over(
    rankings: Sequence[RankedGains],
    metric: Callable[[RankedGains], float],
    without_relevant: Literal["skip", "zero"] = "skip",
) -> float:
    """The mean of a metric over questions; those without any relevant item are left out, or count 0."""
    used = [ranking for ranking in rankings if without_relevant == "zero" or ranking.relevant]
    if not used:
        raise MetricError(f"none of {len(rankings)} questions has a relevant item: the mean is not defined")
    return fmean(metric(ranking) for ranking in used)


def mean_average_precision(
    rankings: Sequence[RankedGains], without_relevant: Literal["skip", "zero"] = "skip"
) -> float:
    """MAP, the mean of AP over questions."""
    return mean_over(rankings, average_precision, without_relevant)


def mean_reciprocal_rank(rankings: Sequence[RankedGains], without_relevant: Literal["skip", "zero"] = "skip") -> float:
    """MRR, the mean of 1 / rank of the first relevant item over questions."""
    return mean_over(rankings, reciprocal_rank, without_relevant)
