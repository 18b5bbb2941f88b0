"""A network in torch becomes a graph in ONNX, whole or in 8 bits."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from wherefrom.train.quantize import ExportPrecision, TableBits, forget_origin, quantized

OPSET = 20


def write_onnx(
    network: nn.Module,
    example: Sequence[Tensor],
    names: tuple[Sequence[str], Sequence[str]],
    shapes: Any,
    path: Path,
    precision: ExportPrecision = "fp32",
    table_bits: TableBits = 8,
) -> None:
    """Write the graph that an example traces; `names` are those of inputs and outputs.

    `shapes` say which dimensions of the inputs are free, as `torch.export` has it.
    """
    inputs, outputs = names
    with _silence():
        program = torch.onnx.export(
            network.eval(),
            tuple(example),
            dynamo=True,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=shapes,
            opset_version=OPSET,
            verbose=False,
        )
        assert program is not None
        model = program.model_proto
        forget_origin(model)
        onnx.save(model, str(path))
        if precision == "int8":
            quantized(path, path, table_bits)


@contextmanager
def _silence() -> Iterator[None]:
    """The exporter warns of its own future, and logs every node it looks at, unasked."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
