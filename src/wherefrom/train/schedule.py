"""The learning rate over the steps: a warm-up, then a decay."""

from __future__ import annotations

import math

from wherefrom.train.settings import Decay


def inverse_root(step: int, warmup: int) -> float:
    """min(s^-0.5, s * w^-1.5) in step s = step + 1 (Vaswani et al. 2017, eq. 3, without the width)."""
    number = step + 1
    return float(min(number**-0.5, number * warmup**-1.5))


def rate_share(step: int, steps: int, warmup: float, decay: Decay, final: float) -> float:
    """The share of the highest learning rate used by step `step` (the first is 0) of `steps`.

    Warm-up, over the first w = ceil(warmup * steps): (step + 1) / w. Then, with t = (step - w) / (steps - w):
    linear 1 - (1 - final) t; cosine final + (1 - final) (1 + cos(pi t)) / 2 (Loshchilov & Hutter 2017, eq. 5).
    """
    warm = math.ceil(warmup * steps)
    if step < warm:
        return (step + 1) / warm
    if decay in ("none", "inverse-root"):  # of the latter each group has a share of its own
        return 1.0
    passed = (step - warm) / max(1, steps - warm)
    if decay == "linear":
        return 1.0 - (1.0 - final) * passed
    return final + (1.0 - final) * (1.0 + math.cos(math.pi * passed)) / 2.0
