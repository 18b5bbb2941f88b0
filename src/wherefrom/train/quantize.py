"""A network in ONNX becomes one of 8 bits: its matrix products, and its tables of embeddings (of 4 bits, if wanted).

A product x · W is computed in whole numbers. Each column of W has a scale; each row of x, that is each token, has its
own, found while reading:

    x · W = r (q(x / r) · q(W)) s      r = max |x| of the row,  s = max |W| of the column / 127

Dividing by r first brings every row to the same range, so that the scale inside the product is a constant: it is then
one operator of onnxruntime, and fast. What a token becomes depends on its own row alone, and sums of whole numbers
have no order: a passage reads the same alone and beside others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

TableBits = Literal[4, 8]
ExportPrecision = Literal["fp32", "int8"]

_LEAST_COLUMNS = 16  # narrower products are heads: they cost nothing, and their logits are what is read
_LEAST_ROWS = 256  # of a table worth making smaller
_MANY_ROWS = 4096  # of a table of words, which is worth 4 bits
_GROUP = 32  # numbers that share a scale in 4 bits
_MIDDLE = 8  # stands for zero in 4 bits
_TINY = 1e-12  # a row of zeros is divided by this
_GELU_LEAST = 0.17  # no GELU is below -0.17: nearly all of the 8 bits go to what is above zero
_GELU_ZERO, _GELU_TOP = 32, 223  # 32 steps below zero, 223 above


def quantized(whole: Path, out: Path, table_bits: TableBits = 8) -> None:
    """Write the network in `whole` to `out` with 8-bit weights; words may be kept in 4 bits, half the size.

    Not with onnxruntime's dynamic quantisation: it takes one scale over the activations of a whole batch, padding
    included, so that a passage would be read differently beside others than alone.
    """
    model = onnx.load(str(whole))
    forget_origin(model)
    _Eight(model, table_bits).rewrite()
    onnx.save(model, str(out))


def forget_origin(model: onnx.ModelProto) -> None:
    """Drop what torch notes beside every operator: the lines of code behind it, with the paths of this machine."""
    graph = model.graph
    for noted in (model, graph, *graph.node, *graph.initializer, *graph.value_info, *graph.input, *graph.output):
        del noted.metadata_props[:]
        noted.ClearField("doc_string")


@dataclass(frozen=True, slots=True)
class _Rows:
    """A quantised input, as names in the graph."""

    whole: str  # the numbers of 8 bits
    reach: str  # r of each row
    scale: str  # what one step is worth, in r
    zero: str  # the step that means zero


class _Eight:
    """One model, changed in place."""

    def __init__(self, model: onnx.ModelProto, table_bits: TableBits) -> None:
        self._model = model
        self._table_bits = table_bits
        self._graph = model.graph
        self._constants = {tensor.name: tensor for tensor in self._graph.initializer}
        self._maker = {name: node.op_type for node in self._graph.node for name in node.output}
        self._rows: dict[str, _Rows] = {}  # what has been quantised, by its name: three products may share one
        self._nodes: list[NodeProto] = []

    def rewrite(self) -> None:
        for node in self._graph.node:
            weight = self._weight(node)
            if node.op_type == "MatMul" and weight is not None and weight.shape[1] >= _LEAST_COLUMNS:
                self._product(node, weight)
            elif node.op_type == "Gather" and weight is not None and weight.shape[0] >= _LEAST_ROWS:
                self._table(node, weight)
            else:
                self._nodes.append(node)
        used = {name for node in self._nodes for name in node.input}
        for gone in (self._graph.node, self._graph.initializer, self._graph.value_info):  # the last: shapes of them
            del gone[:]
        self._graph.node.extend(self._nodes)
        self._graph.initializer.extend(tensor for name, tensor in self._constants.items() if name in used)
        if all(opset.domain != "com.microsoft" for opset in self._model.opset_import):
            self._model.opset_import.append(helper.make_opsetid("com.microsoft", 1))

    def _weight(self, node: NodeProto) -> NDArray[numpy.float32] | None:
        """The constant matrix of a product, or the table that is looked up."""
        place = {"MatMul": 1, "Gather": 0}.get(node.op_type)
        tensor = None if place is None else self._constants.get(node.input[place])
        if tensor is None or tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 2:
            return None
        return numpy_helper.to_array(tensor).astype(numpy.float32)

    def _product(self, node: NodeProto, weight: NDArray[numpy.float32]) -> None:
        """x · W in whole numbers, then r; the scales of x and W are applied inside."""
        given, matrix, output = node.input[0], node.input[1], node.output[0]
        rows = self._quantized_rows(given)
        whole, scale = eight_bits(weight, axis=0)
        inputs = [
            rows.whole,
            self._constant(f"{matrix}.whole", whole),
            rows.scale,
            self._constant(f"{matrix}.scale", scale.ravel()),
            rows.zero,
            self._constant(f"{matrix}.zero", numpy.int8(0)),  # its own: onnxruntime may rewrite it
        ]
        unit = self._node("MatMulIntegerToFloat", inputs, f"{output}.unit", domain="com.microsoft")
        self._node("Mul", [unit, rows.reach], output)

    def _quantized_rows(self, given: str) -> _Rows:
        if given not in self._rows:
            last = self._constant("last axis", numpy.array([-1], numpy.int64))
            if self._maker.get(given) == "Gelu":
                scale = self._constant("gelu scale", numpy.float32(1 / _GELU_TOP))
                zero = self._constant("gelu zero", numpy.uint8(_GELU_ZERO))
                least, measured = _GELU_LEAST * _GELU_TOP / _GELU_ZERO, given
            else:
                scale = self._constant("row scale", numpy.float32(1 / 127))
                zero = self._constant("row zero", numpy.uint8(128))
                least, measured = _TINY, self._node("Abs", [given], f"{given}.abs")
            highest = self._node("ReduceMax", [measured, last], f"{given}.highest", keepdims=1)
            floor = self._constant(f"least {least}", numpy.float32(least))
            reach = self._node("Max", [highest, floor], f"{given}.reach")
            unit = self._node("Div", [given, reach], f"{given}.unit")
            whole = self._node("QuantizeLinear", [unit, scale, zero], f"{given}.whole")
            self._rows[given] = _Rows(whole, reach, scale, zero)
        return self._rows[given]

    def _table(self, node: NodeProto, table: NDArray[numpy.float32]) -> None:
        """Looks up 8-bit rows and their scales."""
        if self._table_bits == 4 and table.shape[0] >= _MANY_ROWS and table.shape[1] % (2 * _GROUP) == 0:
            self._small_table(node, table)
            return
        name, at, output = node.input[0], node.input[1], node.output[0]
        whole, scale = eight_bits(table, axis=1)
        row = self._node("Gather", [self._constant(f"{name}.whole", whole), at], f"{output}.whole")
        unit = self._node("Cast", [row], f"{output}.unit", to=TensorProto.FLOAT)
        scales = self._node("Gather", [self._constant(f"{name}.scale", scale), at], f"{output}.scale")
        self._node("Mul", [unit, scales], output)

    def _small_table(self, node: NodeProto, table: NDArray[numpy.float32]) -> None:
        """Looks up rows in which a byte is two numbers: one of the row's first half, one of its second.

        Every 32 numbers have a scale of their own: with so few steps one for a whole row would be too coarse.
        """
        name, at, output = node.input[0], node.input[1], node.output[0]
        packed, scale = four_bits(table)
        row = self._node("Gather", [self._constant(f"{name}.whole", packed), at], f"{output}.packed")
        low = self._node("BitwiseAnd", [row, self._constant("low bits", numpy.uint8(15))], f"{output}.low")
        four = self._constant("four", numpy.uint8(4))
        high = self._node("BitShift", [row, four], f"{output}.high", direction="RIGHT")
        whole = self._node("Concat", [low, high], f"{output}.whole", axis=-1)
        signed = self._node("Cast", [whole], f"{output}.unsigned", to=TensorProto.FLOAT)
        unit = self._node("Sub", [signed, self._constant("middle", numpy.float32(_MIDDLE))], f"{output}.unit")
        grouped = self._constant(f"{name}.grouped", numpy.array([0, 0, -1, _GROUP], numpy.int64))
        groups = self._node("Reshape", [unit, grouped], f"{output}.groups")
        scales = self._node("Gather", [self._constant(f"{name}.scale", scale), at], f"{output}.scale16")
        wide = self._node("Cast", [scales], f"{output}.scale32", to=TensorProto.FLOAT)
        last = self._constant("last axis", numpy.array([-1], numpy.int64))
        worth = self._node("Unsqueeze", [wide, last], f"{output}.scale")
        scaled = self._node("Mul", [groups, worth], f"{output}.scaled")
        flat = self._constant(f"{name}.flat", numpy.array([0, 0, table.shape[1]], numpy.int64))
        self._node("Reshape", [scaled, flat], output)

    def _constant(self, name: str, value: Any) -> str:
        self._constants.setdefault(name, numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def _node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output


def eight_bits(
    values: NDArray[Any], axis: int, scales: type[numpy.floating[Any]] = numpy.float32
) -> tuple[NDArray[numpy.int8], NDArray[Any]]:
    """Whole numbers from -127 to 127 and, for each column (axis 0) or row (axis 1), what one of them is worth.

    `scales` is the type that the latter are kept in: the former are rounded to it.
    """
    wide = values.astype(numpy.float32)
    scale = (numpy.abs(wide).max(axis=axis, keepdims=True) / 127).astype(scales)
    scale = numpy.where(scale > 0, scale, 1).astype(scales)
    return numpy.clip(numpy.rint(wide / scale.astype(numpy.float32)), -127, 127).astype(numpy.int8), scale


def four_bits(values: NDArray[numpy.float32]) -> tuple[NDArray[numpy.uint8], NDArray[numpy.float16]]:
    """Rows of whole numbers from -7 to 7, two in a byte, and what one of them is worth in each 32 of a row."""
    rows, columns = values.shape
    groups = values.reshape(rows, columns // _GROUP, _GROUP)
    scale = (numpy.abs(groups).max(axis=2) / 7).astype(numpy.float16)
    divisor = numpy.where(scale > 0, scale, 1).astype(numpy.float32)[:, :, None]
    whole = (numpy.clip(numpy.rint(groups / divisor), -7, 7) + _MIDDLE).astype(numpy.uint8).reshape(rows, columns)
    half = columns // 2
    return whole[:, :half] | (whole[:, half:] << 4), scale


def from_four_bits(packed: NDArray[numpy.uint8], scale: NDArray[numpy.float16]) -> NDArray[numpy.float32]:
    """The rows that `four_bits` has packed."""
    whole = numpy.concatenate([packed & 15, packed >> 4], axis=1).astype(numpy.float32) - _MIDDLE
    groups = whole.reshape(len(whole), -1, _GROUP) * scale.astype(numpy.float32)[:, :, None]
    return groups.reshape(whole.shape)
