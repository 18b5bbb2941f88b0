"""A trained re-ranker becomes a folder of weights, as `rerank/rankqa.py` reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import tomli_w

from wherefrom.config import Settings
from wherefrom.rerank.rankqa import MODEL
from wherefrom.systems.rankqa.network import BOUND, RankQANetwork
from wherefrom.systems.rankqa.task import RankQATaskSettings


def export_rankqa(network: RankQANetwork, task: RankQATaskSettings, pipeline: Settings, out: Path) -> None:
    """`pipeline` are the settings that its candidates were read with."""
    out.mkdir()
    numpy.savez(out / MODEL, **arrays_of(network))  # type: ignore[arg-type]
    facts = {
        "reader": pipeline.read.kind,
        **({} if pipeline.read.brevity else {"brevity": False}),
        "groups": list(task.chosen),
        "features": list(task.features),
        "top_k": task.top_k,
        "bound": BOUND,
    }
    (out / "settings.toml").write_text(tomli_w.dumps(facts), encoding="utf-8")


def arrays_of(network: RankQANetwork) -> dict[str, numpy.ndarray[Any, Any]]:
    tensors = {
        "centre": network.centre,
        "scale": network.scale,
        "first": network.first.weight,
        "first_bias": network.first.bias,
        "second": network.second.weight,
        "second_bias": network.second.bias,
    }
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
