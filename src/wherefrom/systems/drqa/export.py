"""A trained DrQA becomes a folder of weights: the network in ONNX, vectors in 8 bits, words, settings.

The graph is written operator by operator: ONNX's LSTM takes the lengths of its sequences, which torch's exporter does
not pass on. Weights are kept in 16 bits, or 8 with a scale a row, and made 32 when the network is loaded.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy
import onnx
import tomli_w
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors import safe_open

from wherefrom.runtime.drqa import VECTORS, WORDS
from wherefrom.systems.drqa.network import DrQANetwork, DrQASettings
from wherefrom.systems.drqa.settings import Bits, DrQAExportSettings, VectorKind
from wherefrom.train.checkpoint import load_weights
from wherefrom.train.quantize import eight_bits

Numbers = NDArray[Any]
_OPSET = 20
_LEAST_COLUMNS = 16  # narrower weights are heads, or biases: they cost nothing


def export_drqa(
    weights: Path,
    material: Path,
    tokenizer: Path,
    out: Path,
    network: DrQASettings,
    vectors: VectorKind,
    max_span: int = 15,
    settings: DrQAExportSettings | None = None,
) -> None:
    """Write a folder that `runtime.drqa` reads."""
    settings = settings or DrQAExportSettings()
    model = DrQANetwork(network)
    load_weights(model, weights)
    out.mkdir(parents=True, exist_ok=True)
    onnx.save(to_onnx(model, settings.bits), str(out / "model.onnx"))
    with safe_open(material, framework="numpy") as file:
        about = json.loads(file.metadata()["about"])
        words = file.get_tensor("words").tobytes().decode().split("\n")
        glove, pieces = file.get_tensor("glove"), file.get_tensor("pieces")
    arrays: dict[str, Numbers] = {"tuned": model.tuned.weight.detach().numpy().astype(numpy.float16)}
    kept = _kept(glove, network.tuned, settings.most_words)
    if vectors in ("glove", "both"):
        arrays["glove"], arrays["glove_scale"] = _rows(glove[kept])
    if vectors in ("pieces", "both"):
        arrays["pieces"], arrays["pieces_scale"] = _rows(pieces)
    numpy.savez(out / VECTORS, **arrays)  # type: ignore[arg-type]
    (out / WORDS).write_text("\n".join(words[number] for number in kept), encoding="utf-8", newline="\n")
    shutil.copyfile(tokenizer, out / "tokenizer.json")
    facts = {
        "max_span": max_span,
        **({"brevity": settings.brevity} if settings.brevity else {}),
        "vectors": vectors,
        "pos": list(about["pos"]),
        "ner": list(about["ner"]),
        "network": asdict(network),
    }
    (out / "settings.toml").write_text(tomli_w.dumps(facts), encoding="utf-8")


def _kept(glove: Numbers, tuned: int, most: int) -> list[int]:
    """The words that stay: none, those that learnt, and the commonest that GloVe knows."""
    known = numpy.any(glove != 0, axis=1)
    first = list(range(min(tuned + 1, len(glove))))
    return first + [number for number in range(len(first), len(glove)) if known[number]][: max(most - len(first), 0)]


def _rows(values: Numbers) -> tuple[Numbers, Numbers]:
    """Whole numbers, and what one of them is worth in each row, in 16 bits."""
    rows, scale = eight_bits(values, axis=1, scales=numpy.float16)
    return rows, scale.ravel()


def to_onnx(model: DrQANetwork, bits: Bits = 16) -> onnx.ModelProto:
    """The network for any number of pairs and any lengths; inputs as in `DrQANetwork.forward`."""
    settings = model.settings
    graph = _Graph(bits)
    question_mask, passage_mask = (
        graph.mask(*names) for names in (("question", "asked"), ("passage", "told"))
    )  # (batch, tokens)
    parts = ["passage", "features"] if settings.features else ["passage"]
    if model.closeness is not None:
        close = [
            graph.node("Relu", [graph.linear(text, "closeness", model.closeness)]) for text in ("passage", "question")
        ]
        scores = graph.node("MatMul", [close[0], graph.node("Transpose", [close[1]], perm=[0, 2, 1])])
        shown = graph.node("Unsqueeze", [question_mask, graph.numbers([1])])
        weights = graph.node("Softmax", [graph.node("Where", [shown, scores, graph.never()])], axis=-1)
        parts.append(graph.node("MatMul", [weights, "question"]))
    joined = graph.node("Concat", parts, axis=2) if len(parts) > 1 else parts[0]
    read = graph.layers(joined, "told", "passage", model)  # (batch, told, encoded)
    heard = graph.layers("question", "asked", "question", model)
    scores = graph.node("Squeeze", [graph.linear(heard, "weight", model.weight), graph.numbers([2])])
    weights = graph.node("Softmax", [graph.node("Where", [question_mask, scores, graph.never()])], axis=-1)
    whole = graph.node("MatMul", [graph.node("Unsqueeze", [weights, graph.numbers([1])]), heard])  # (batch, 1, encoded)
    for name, linear in (("start", model.start), ("end", model.end)):
        turned = graph.node("Transpose", [graph.linear(whole, name, linear)], perm=[0, 2, 1])
        logits = graph.node("Squeeze", [graph.node("MatMul", [read, turned]), graph.numbers([2])])
        graph.node("Where", [passage_mask, logits, graph.never()], made=name)
    return graph.model(settings)


class _Graph:
    """A graph under way; every method adds operators and names what they make."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def node(self, kind: str, inputs: list[str], made: str = "", **attributes: Any) -> str:
        name = made or f"{kind.lower()}.{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name=f"make {name}", **attributes))
        return name

    def constant(self, name: str, value: Numbers) -> str:
        self._constants.setdefault(name, numpy_helper.from_array(value, name))
        return name

    def numbers(self, values: list[int]) -> str:
        return self.constant(f"numbers {values}", numpy.array(values, numpy.int64))

    def never(self) -> str:
        return self.constant("never", numpy.array(-numpy.inf, numpy.float32))

    def weight(self, name: str, value: Numbers) -> str:
        """Weights in few bits, as 32: onnxruntime computes them once, when it loads the network."""
        whole = f"{name}.whole"
        if whole in {node.output[0] for node in self._nodes}:
            return whole
        if self._bits == 8 and value.ndim > 1 and value.shape[-1] >= _LEAST_COLUMNS:
            rows, scale = _rows(value.reshape(-1, value.shape[-1]))
            kept = self.constant(name, rows.reshape(value.shape))
            worth = self.constant(f"{name}.scale", scale.astype(numpy.float32).reshape(*value.shape[:-1], 1))
            unit = self.node("Cast", [kept], made=f"{name}.unit", to=TensorProto.FLOAT)
            return self.node("Mul", [unit, worth], made=whole)
        half = self.constant(name, numpy.ascontiguousarray(value.astype(numpy.float16)))
        return self.node("Cast", [half], made=whole, to=TensorProto.FLOAT)

    def mask(self, text: str, lengths: str) -> str:
        """(batch, tokens): true at real tokens."""
        tokens = self.node("Gather", [self.node("Shape", [text]), self.constant("second", numpy.array(1, numpy.int64))])
        zero, one = (self.constant(f"plain {n}", numpy.array(n, numpy.int64)) for n in (0, 1))
        places = self.node("Unsqueeze", [self.node("Range", [zero, tokens, one]), self.numbers([0])])
        whole = self.node("Cast", [self.node("Unsqueeze", [lengths, self.numbers([1])])], to=TensorProto.INT64)
        return self.node("Less", [places, whole])

    def linear(self, given: str, name: str, linear: Any) -> str:
        weight = self.weight(f"{name}.weight", linear.weight.detach().numpy().T)
        bias = self.weight(f"{name}.bias", linear.bias.detach().numpy())
        return self.node("Add", [self.node("MatMul", [given, weight]), bias])

    def layers(self, given: str, lengths: str, name: str, model: DrQANetwork) -> str:
        """A stack of LSTMs: (batch, tokens, given) to (batch, tokens, encoded)."""
        settings = model.settings
        lstms = getattr(model, name).lstms
        now = self.node("Transpose", [given], perm=[1, 0, 2])  # (tokens, batch, given)
        outputs: list[str] = []
        for layer, lstm in enumerate(lstms):
            inputs = [now, *self._lstm_weights(f"{name}.{layer}", lstm, settings.bidirectional), lengths]
            direction = "bidirectional" if settings.bidirectional else "forward"
            made = self.node("LSTM", inputs, hidden_size=settings.hidden, direction=direction)
            ordered = self.node("Transpose", [made], perm=[0, 2, 1, 3])  # (tokens, batch, directions, hidden)
            now = self.node("Reshape", [ordered, self.numbers([0, 0, -1])])
            outputs.append(now)
        joined = self.node("Concat", outputs, axis=2) if settings.concat_layers and len(outputs) > 1 else outputs[-1]
        return self.node("Transpose", [joined], perm=[1, 0, 2])

    def _lstm_weights(self, name: str, lstm: Any, both: bool) -> tuple[str, str, str]:
        """W, R and B of ONNX, whose gates are input, output, forget, cell; torch's are input, forget, cell, output."""

        def of(kind: str) -> Numbers:
            ways = []
            for way in ("", "_reverse") if both else ("",):
                gates = numpy.split(getattr(lstm, f"{kind}_l0{way}").detach().numpy(), 4)
                ways.append(numpy.concatenate([gates[0], gates[3], gates[1], gates[2]]))
            return numpy.stack(ways)

        bias = numpy.concatenate([of("bias_ih"), of("bias_hh")], 1)
        return (
            self.weight(f"{name}.w", of("weight_ih")),
            self.weight(f"{name}.r", of("weight_hh")),
            self.weight(f"{name}.b", bias),
        )

    def model(self, settings: DrQASettings) -> onnx.ModelProto:
        shapes: dict[str, tuple[int, list[str | int]]] = {
            "question": (TensorProto.FLOAT, ["batch", "asked_tokens", settings.width]),
            "asked": (TensorProto.INT32, ["batch"]),
            "passage": (TensorProto.FLOAT, ["batch", "told_tokens", settings.width]),
            "told": (TensorProto.INT32, ["batch"]),
            "features": (TensorProto.FLOAT, ["batch", "told_tokens", settings.features]),
        }
        inputs = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in shapes.items()]
        outputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "told_tokens"])
            for name in ("start", "end")
        ]
        graph = helper.make_graph(self._nodes, "drqa", inputs, outputs, list(self._constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
        model.ir_version = 9  # what onnxruntime 1.22 reads
        onnx.checker.check_model(model)
        return model
