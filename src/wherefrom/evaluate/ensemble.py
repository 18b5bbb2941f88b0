"""Several models vote on an answer, as Masque's ensembles do: each by how well it answers in validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from wherefrom.errors import WherefromError


def voted(answers: Sequence[Mapping[int, str]], weights: Sequence[float]) -> dict[int, str]:
    """The answer to each example with the largest sum of the weights of those that gave it; a map of answers a model.

    Of answers with equal sums it is the one that the best model among them gave; of equally good models, the first.
    """
    if not answers or len(answers) != len(weights):
        raise WherefromError(f"{len(answers)} models and {len(weights)} weights: every voting model needs its weight")
    if any(model.keys() != answers[0].keys() for model in answers):
        raise WherefromError("the models that vote were not asked the same questions; let all of them answer again")
    return {example: _elected([model[example] for model in answers], weights) for example in answers[0]}


def _elected(answers: Sequence[str], weights: Sequence[float]) -> str:
    votes: dict[str, list[float]] = defaultdict(list)
    for answer, weight in zip(answers, weights, strict=True):
        votes[answer].append(weight)
    return max(votes, key=lambda answer: (round(sum(votes[answer]), 9), max(votes[answer])))
