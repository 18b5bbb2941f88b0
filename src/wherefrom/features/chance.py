"""From a logit to a probability."""

from __future__ import annotations

import math


def probability(logit: float) -> float:
    """1 / (1 + exp(-logit)), without overflow."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))
