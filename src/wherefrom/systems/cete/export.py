"""A fine-tuned CETE becomes a folder of weights: ONNX in 8 bits, tokenizer, settings."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from torch import Tensor, nn

from wherefrom.systems.cete.network import PairNetwork, ScoredPair
from wherefrom.systems.cete.settings import ExportSettings, TaskSettings
from wherefrom.train.onnx import write_onnx
from wherefrom.train.quantize import ExportPrecision, TableBits

INPUTS = ("tokens", "mask", "types")


def export_cete(
    network: PairNetwork,
    out: Path,
    tokenizer: Path,
    task: TaskSettings,
    settings: ExportSettings,
    tokens: Tensor | None = None,
) -> None:
    """Write a folder that `runtime.pairs` reads; `tokens` maps the tokenizer's ids to those of the network's words."""
    import tomli_w  # not where networks are only trained

    out.mkdir(parents=True, exist_ok=True)
    if tokens is not None:
        rename_words(network, tokens)
    to_onnx(network, out / "model.onnx", settings.precision, settings.table_bits)
    shutil.copyfile(tokenizer, out / "tokenizer.json")
    facts = {
        "max_tokens": task.max_tokens,
        "max_question": task.max_question,
        "classify": task.classify,
        "separate": task.separate,
        "padding": task.padding,
        "precision": settings.precision,
    }
    (out / "settings.toml").write_text(tomli_w.dumps(facts), encoding="utf-8")


def rename_words(network: PairNetwork, tokens: Tensor) -> None:
    """Give the network's words the numbers of the tokenizer: row i becomes what was row tokens[i]."""
    words = network.encoder.word
    with torch.no_grad():
        renamed = words.weight[tokens].clone()
    rows, width = renamed.shape
    network.encoder.word = nn.Embedding(rows, width, _weight=renamed)


def to_onnx(network: PairNetwork, path: Path, precision: ExportPrecision = "fp32", table_bits: TableBits = 8) -> None:
    """One logit a pair, for any number of pairs and any length."""
    length = torch.export.Dim("length", min=2, max=network.encoder.settings.max_tokens)
    free = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    shapes = {"tokens": {0: torch.export.Dim("batch", max=4096), 1: length}, "mask": free, "types": free}
    given = torch.ones(2, 8, dtype=torch.long)
    example = (given, torch.ones(2, 8, dtype=torch.bool), torch.zeros_like(given))
    scored = ScoredPair(network.eval())
    if network.encoder.kind is None:  # MPNet knows no types, and a graph no input that nothing looks at
        scored = _Untyped(scored.network)
    write_onnx(scored, example, (INPUTS, ("logit",)), shapes, path, precision, table_bits)


class _Untyped(ScoredPair):
    """Takes types, and makes nothing of them."""

    def forward(self, tokens: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        return super().forward(tokens, mask, types) + 0.0 * types[:, 0]
