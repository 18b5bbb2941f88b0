"""A trained reader becomes a folder of weights: ONNX in 8 bits, tokenizer, settings, provenance."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import onnx
import tomli_w
import torch

from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import ReaderNetwork, ReaderOutput
from wherefrom.systems.reader.task import ReaderTaskSettings
from wherefrom.train.checkpoint import load_weights
from wherefrom.train.quantize import TableBits, forget_origin, quantized

Precision = Literal["fp32", "int8"]
INPUTS = ("tokens", "mask", "passage", "types")


def export_reader(
    weights: Path,
    encoder: EncoderSettings,
    tokenizer: Path,
    out: Path,
    provenance: Mapping[str, Any],
    settings: ReaderTaskSettings | None = None,
    precision: Precision = "int8",
    table_bits: TableBits = 8,
    brevity: float = 0.0,
) -> None:
    """Write `model.onnx`, `tokenizer.json`, `settings.toml` and `provenance.json` into `out`."""
    settings = settings or ReaderTaskSettings()
    network = ReaderNetwork(encoder)
    load_weights(network, weights, without=("match.",))
    out.mkdir(parents=True, exist_ok=True)
    whole = out / "fp32.onnx"
    to_onnx(network, whole)
    if precision == "int8":
        quantized(whole, out / "model.onnx", table_bits)
        whole.unlink()
    else:
        whole.replace(out / "model.onnx")
    shutil.copyfile(tokenizer, out / "tokenizer.json")
    read = {
        "max_tokens": settings.max_tokens,
        "max_question": settings.max_question,
        "window_overlap": 128,  # tokens that neighbouring windows of a long passage share; answers are shorter
        "classify": settings.classify,
        "separate": settings.separate,
        "padding": settings.padding,
        **({"brevity": brevity} if brevity else {}),
        "precision": precision,
        "encoder": {name: value for name, value in asdict(encoder).items() if value is not None},
    }
    (out / "settings.toml").write_text(tomli_w.dumps(read), encoding="utf-8")
    (out / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")


def to_onnx(network: ReaderNetwork, path: Path) -> None:
    """The network as ONNX, for any number of pairs and any length."""
    length = torch.export.Dim("length", min=2, max=network.encoder.settings.max_tokens)
    free = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    shapes: dict[str, Any] = dict.fromkeys(INPUTS, free)
    shapes["tokens"] = {0: torch.export.Dim("batch", max=4096), 1: length}
    tokens = torch.ones(2, 8, dtype=torch.long)
    mask = torch.ones(2, 8, dtype=torch.bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own future
        program = torch.onnx.export(
            network.eval(),
            # Four tensors: one given twice would be taken for one input.
            (tokens, mask, mask.clone(), torch.zeros_like(tokens)),
            dynamo=True,
            input_names=list(INPUTS),
            output_names=list(ReaderOutput._fields),
            dynamic_shapes=shapes,
            opset_version=20,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    forget_origin(model)
    onnx.save(model, str(path))
