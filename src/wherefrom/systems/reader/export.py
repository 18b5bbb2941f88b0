"""A trained reader becomes a folder of weights: ONNX in 8 bits, tokenizer, settings."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import ReaderNetwork, ReaderOutput
from wherefrom.systems.reader.settings import ReaderExportSettings
from wherefrom.systems.reader.task import ReaderTaskSettings
from wherefrom.train.checkpoint import load_weights
from wherefrom.train.onnx import write_onnx
from wherefrom.train.quantize import ExportPrecision, TableBits

INPUTS = ("tokens", "mask", "passage", "types")


def export_reader(
    weights: Path,
    encoder: EncoderSettings,
    tokenizer: Path,
    out: Path,
    task: ReaderTaskSettings,
    settings: ReaderExportSettings,
) -> None:
    """Write `model.onnx`, `tokenizer.json` and `settings.toml` into `out`; `task` is what it was trained with."""
    import tomli_w  # not where networks are only trained

    network = ReaderNetwork(encoder)
    load_weights(network, weights, without=("match.",))
    out.mkdir(parents=True, exist_ok=True)
    to_onnx(network, out / "model.onnx", settings.precision, settings.table_bits, settings.yes_no)
    shutil.copyfile(tokenizer, out / "tokenizer.json")
    read = {
        "max_tokens": task.max_tokens,
        "max_question": task.max_question,
        "window_overlap": 128,  # tokens that neighbouring windows of a long passage share; answers are shorter
        "classify": task.classify,
        "separate": task.separate,
        "padding": task.padding,
        **({"brevity": settings.brevity} if settings.brevity else {}),
        "precision": settings.precision,
        "encoder": {name: value for name, value in asdict(encoder).items() if value is not None},
    }
    (out / "settings.toml").write_text(tomli_w.dumps(read), encoding="utf-8")


class _WithoutTruth(ReaderNetwork):
    """A reader that does not say yes or no."""

    def forward(  # type: ignore[override]
        self, tokens: Tensor, mask: Tensor, passage: Tensor, types: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        return tuple(super().forward(tokens, mask, passage, types))[:-1]


def to_onnx(
    network: ReaderNetwork,
    path: Path,
    precision: ExportPrecision = "fp32",
    table_bits: TableBits = 8,
    yes_no: bool = True,
) -> None:
    """The network as ONNX, for any number of pairs and any length."""
    length = torch.export.Dim("length", min=2, max=network.encoder.settings.max_tokens)
    free = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    shapes: dict[str, Any] = dict.fromkeys(INPUTS, free)
    shapes["tokens"] = {0: torch.export.Dim("batch", max=4096), 1: length}
    tokens = torch.ones(2, 8, dtype=torch.long)
    mask = torch.ones(2, 8, dtype=torch.bool)
    # Four tensors: one given twice would be taken for one input.
    example = (tokens, mask, mask.clone(), torch.zeros_like(tokens))
    if yes_no:
        write_onnx(network, example, (INPUTS, ReaderOutput._fields), shapes, path, precision, table_bits)
    else:
        silent = _WithoutTruth(network.encoder.settings, network.heads)
        silent.load_state_dict(network.state_dict())
        fields = ReaderOutput._fields[:-1]
        write_onnx(silent.eval(), example, (INPUTS, fields), shapes, path, precision, table_bits)
