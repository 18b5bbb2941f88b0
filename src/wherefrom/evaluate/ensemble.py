"""Several models vote on an answer, as Masque's ensembles do: each by how well it answers in validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from wherefrom.errors import WherefromError


def voted(said: Sequence[Mapping[int, str]], weights: Sequence[float]) -> dict[int, str]:
    """The answer to each example with the largest sum of the weights of those that gave it; `said` has one map a model.

    Of answers with equal sums it is the one that the best model among them gave; of equally good models, the first.
    """
    if not said or len(said) != len(weights):
        raise WherefromError(f"{len(said)} models and {len(weights)} weights: every voting model needs its weight")
    if any(answers.keys() != said[0].keys() for answers in said):
        raise WherefromError("the models that vote were not asked the same questions; let all of them say again")
    return {example: _elected([answers[example] for answers in said], weights) for example in said[0]}


def _elected(answers: Sequence[str], weights: Sequence[float]) -> str:
    votes: dict[str, list[float]] = defaultdict(list)
    for answer, weight in zip(answers, weights, strict=True):
        votes[answer].append(weight)
    return max(votes, key=lambda answer: (round(sum(votes[answer]), 9), max(votes[answer])))
