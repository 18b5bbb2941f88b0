"""A reader's network as ONNX, cut between two of its layers; the first part ends in an estimate.

estimate = w · [h_classify ; mean_t h_t ; max_t h_t] + b,    t over the passage's tokens, h the states at the cut
"""

from __future__ import annotations

from typing import Any

import numpy
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.utils import Extractor

from wherefrom.errors import WherefromError
from wherefrom.runtime.reader import ESTIMATE, STATES

_FIRST_INPUTS = ["tokens", "mask", "passage", "types"]
_REST_INPUTS = ["mask", "passage"]
_NORMS_A_LAYER = 2  # after attention and after the inner layer; one more stands behind the embeddings
_NOTHING = -1e4  # what the maximum over no token is


def states_after(network: onnx.ModelProto, layers: int) -> str:
    """The name of the states after so many layers."""
    norms: list[str] = [node.output[0] for node in network.graph.node if node.op_type == "LayerNormalization"]
    deep = (len(norms) - 1) // _NORMS_A_LAYER
    if not 0 < layers < deep:
        raise WherefromError(f"layers is {layers}; the network has {deep}, so that 1 to {deep - 1} may skim")
    return norms[_NORMS_A_LAYER * layers]


def with_states(network: onnx.ModelProto, layers: int) -> onnx.ModelProto:
    """The whole network, which also says its states after so many layers."""
    wider = onnx.ModelProto()
    wider.CopyFrom(network)
    _renamed(wider, states_after(network, layers))
    wider.graph.output.append(helper.make_tensor_value_info(STATES, TensorProto.FLOAT, ["batch", "length", "width"]))
    return wider


def parts(
    network: onnx.ModelProto, layers: int, weights: NDArray[numpy.float32], bias: float
) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """The first layers with their estimate, and the rest."""
    whole = with_states(network, layers)
    outputs = [output.name for output in network.graph.output]
    first = Extractor(whole).extract_model(_FIRST_INPUTS, [STATES])
    rest = Extractor(whole).extract_model([STATES, *_REST_INPUTS], outputs)
    _estimate(first, weights, bias)
    for part in (first, rest):
        onnx.checker.check_model(part)
    return first, rest


def seen(states: NDArray[numpy.float32], passage: NDArray[numpy.bool_]) -> NDArray[numpy.float32]:
    """What the estimate goes by, of one pair: states (length, width), passage (length,); 3 * width numbers."""
    inside = states[passage]
    if not len(inside):
        return numpy.concatenate([states[0], numpy.zeros_like(states[0]), numpy.full_like(states[0], _NOTHING)])
    return numpy.concatenate([states[0], inside.mean(axis=0), inside.max(axis=0)])


def _renamed(network: onnx.ModelProto, old: str) -> None:
    for node in network.graph.node:
        node.input[:] = [STATES if name == old else name for name in node.input]
        node.output[:] = [STATES if name == old else name for name in node.output]
    for value in network.graph.value_info:
        if value.name == old:
            value.name = STATES


def _estimate(first: onnx.ModelProto, weights: NDArray[numpy.float32], bias: float) -> None:
    """The nodes behind the states that say the estimate."""
    tables: dict[str, NDArray[Any]] = {
        "skim.weights": weights.astype(numpy.float32).reshape(-1, 1),
        "skim.bias": numpy.array([bias], numpy.float32),
        "skim.tokens": numpy.array([1], numpy.int64),
        "skim.last": numpy.array([2], numpy.int64),
        "skim.only": numpy.array([1], numpy.int64),
        "skim.classify": numpy.array(0, numpy.int64),
        "skim.one": numpy.array(1.0, numpy.float32),
        "skim.nothing": numpy.array(_NOTHING, numpy.float32),
    }
    first.graph.initializer.extend(numpy_helper.from_array(table, name) for name, table in tables.items())
    first.graph.node.extend(
        [
            helper.make_node("Gather", [STATES, "skim.classify"], ["skim.first"], axis=1),
            helper.make_node("Unsqueeze", ["passage", "skim.last"], ["skim.inside"]),  # (batch, length, 1)
            helper.make_node("Cast", ["skim.inside"], ["skim.counted"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [STATES, "skim.counted"], ["skim.own"]),
            helper.make_node("ReduceSum", ["skim.own", "skim.tokens"], ["skim.sum"], keepdims=0),
            helper.make_node("ReduceSum", ["skim.counted", "skim.tokens"], ["skim.count"], keepdims=0),
            helper.make_node("Max", ["skim.count", "skim.one"], ["skim.some"]),
            helper.make_node("Div", ["skim.sum", "skim.some"], ["skim.mean"]),
            helper.make_node("Where", ["skim.inside", STATES, "skim.nothing"], ["skim.open"]),
            helper.make_node("ReduceMax", ["skim.open", "skim.tokens"], ["skim.highest"], keepdims=0),
            helper.make_node("Concat", ["skim.first", "skim.mean", "skim.highest"], ["skim.seen"], axis=1),
            helper.make_node("Gemm", ["skim.seen", "skim.weights", "skim.bias"], ["skim.column"]),
            helper.make_node("Squeeze", ["skim.column", "skim.only"], [ESTIMATE]),
        ]
    )
    first.graph.output.append(helper.make_tensor_value_info(ESTIMATE, TensorProto.FLOAT, ["batch"]))
