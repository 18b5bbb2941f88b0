"""A shipped network of 8 bits as weights to go on training from; what was rounded away is soon learnt again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, numpy_helper
from safetensors.numpy import save_file

from wherefrom.runtime.reader import FIRST, SKIM
from wherefrom.train.errors import TrainingError
from wherefrom.train.quantize import from_four_bits

_Arrays = dict[str, NDArray[Any]]


def write_dequantized(model: Path, out: Path) -> list[str]:
    """Write the weights of `quantized` graphs to a .safetensors, by the names they had in torch; gives the names."""
    tensors = dequantized(model)
    about = {"about": json.dumps({"step": 0, "dequantized": model.name})}
    save_file({name: numpy.ascontiguousarray(value, numpy.float32) for name, value in tensors.items()}, out, about)
    return sorted(tensors)


def dequantized(model: Path) -> _Arrays:
    """The parameters of a network by name. A matrix is known by the bias that is added behind its product.

    Of a reader that skims the first layers lie in a file beside the model.
    """
    graph = onnx.load(str(model)).graph
    if (first := model.with_name(FIRST)).exists():
        _put_together(graph, onnx.load(str(first)).graph)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    users: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    weights: _Arrays = {}
    for name, value in constants.items():
        if name.endswith(".weight.whole") and value.dtype == numpy.uint8:  # a table of words, two to a byte
            weights[name.removesuffix(".whole")] = from_four_bits(value, constants[name.replace(".whole", ".scale")])
        elif name.endswith(".weight.whole"):
            weights[name.removesuffix(".whole")] = value * constants[name.replace(".whole", ".scale")]
        elif name.endswith((".weight", ".bias")) and value.dtype == numpy.float32:
            weights[name] = value
    for node in graph.node:
        if node.op_type in ("MatMulIntegerToFloat", "MatMul") and node.input[1] in constants:
            matrix = constants[node.input[1]]
            if node.op_type == "MatMulIntegerToFloat":
                matrix = matrix * constants[node.input[3]]
            bias = _bias_behind(node, users, constants)
            weights[bias.removesuffix(".bias") + ".weight"] = matrix.T
    return weights


def _put_together(graph: GraphProto, first: GraphProto) -> None:
    """The nodes and weights of both, but for what makes an estimate of relevance between them."""
    known = {tensor.name for tensor in graph.initializer}
    graph.initializer.extend(
        tensor for tensor in first.initializer if tensor.name not in known and not tensor.name.startswith(SKIM)
    )
    graph.node.extend(node for node in first.node if not any(name.startswith(SKIM) for name in node.input))


def _bias_behind(node: NodeProto, users: dict[str, list[NodeProto]], constants: _Arrays) -> str:
    """The name of the bias that is added to a product, perhaps after it was scaled."""
    made = node.output[0]
    for _ in range(2):
        for user in users.get(made, []):
            for name in user.input:
                if user.op_type == "Add" and name in constants and name.endswith(".bias"):
                    return str(name)
        made = next((user.output[0] for user in users.get(made, []) if user.op_type == "Mul"), made)
    raise TrainingError(f"no bias is added to {node.output[0]}: this is no network that wherefrom has exported")
