"""From features to a logit, and from a logit to a probability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FittedLine:
    """A logistic regression: logit = bias + \u03a3 weight \u00b7 (feature \u2212 centre) / scale."""

    bias: float
    terms: tuple[tuple[float, float, float], ...]  # weight, centre and scale of each feature

    @classmethod
    def of(cls, saved: Mapping[str, Any], names: Sequence[str]) -> FittedLine:
        """As JSON has it, the features in this order; KeyError, TypeError or ValueError where it is no such line."""
        terms = [tuple(map(float, saved["terms"][name])) for name in names]
        return cls(float(saved["bias"]), tuple((weight, centre, scale) for weight, centre, scale in terms))

    def logit(self, features: Sequence[float]) -> float:
        return self.bias + sum(
            weight * (value - centre) / scale
            for value, (weight, centre, scale) in zip(features, self.terms, strict=True)
        )


def probability(logit: float) -> float:
    """1 / (1 + exp(-logit)), without overflow."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))
