"""Weights of a re-ranker that can be followed by hand: it looks at a few features, with one hidden unit a sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
import tomli_w

from wherefrom.features.candidates import GROUPS, group_of
from wherefrom.rerank.rankqa import MODEL


def write(folder: Path, weights: Mapping[str, float], reader: str = "span", top_k: int = 40) -> Path:
    """A network whose score is the weighted sum of these features."""
    folder.mkdir(parents=True, exist_ok=True)
    features: Sequence[str] = list(weights)
    row = numpy.array([list(weights.values())], numpy.float32)
    numpy.savez(
        folder / MODEL,
        centre=numpy.zeros(len(features), numpy.float32),
        scale=numpy.ones(len(features), numpy.float32),
        first=numpy.concatenate([row, -row]),
        first_bias=numpy.zeros(2, numpy.float32),
        second=numpy.array([[1.0, -1.0]], numpy.float32),  # relu(x) - relu(-x) = x
        second_bias=numpy.zeros(1, numpy.float32),
    )
    used = {group_of(name) for name in features}
    settings = {
        "reader": reader,
        "groups": [group for group in GROUPS if group in used],
        "features": features,
        "top_k": top_k,
        "bound": 100.0,
    }
    (folder / "settings.toml").write_text(tomli_w.dumps(settings))
    return folder
