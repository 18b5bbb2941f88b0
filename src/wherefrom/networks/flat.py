"""A joint writer as three modules of plain tensors, which can be exported: reading, remembering, one step of writing.

Between the first two, whoever runs them drops the places that hold nothing to copy (`Source.packed` in torch).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from wherefrom.errors import WherefromError
from wherefrom.networks.decoder import Cache
from wherefrom.networks.masque import MasqueNetwork, Reading, Sequences
from wherefrom.networks.passage_heads import all_alike
from wherefrom.networks.pointer import Source
from wherefrom.networks.writer import Memory

SEQUENCE = ("tokens", "mask", "copyable", "types")


class FlatEncode(nn.Module):
    """`MasqueNetwork.encode`: what it reads as tensors, to scores and the states of each source."""

    def __init__(self, network: MasqueNetwork) -> None:
        super().__init__()
        self.network = network
        settings = network.settings
        if settings.encoder != "joint" or not settings.decoder_layers or network.pointer.support.input_words:
            raise WherefromError("only a joint network with a decoder and a fixed vocabulary can be taken apart")
        self.inputs = (
            "question",
            "question_mask",
            *SEQUENCE,
            *((f"answer_{name}" for name in SEQUENCE) if settings.answer_source else ()),
            *(("given",) if settings.ranker in ("given", "gold") else ()),
        )
        self.outputs = ("score", "log_beta", "answerable", *(f"{name}_states" for name in settings.sources))

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """In the order of `inputs`, to the order of `outputs`."""
        by_name = dict(zip(self.inputs, inputs, strict=True))
        reading = Reading(
            by_name["question"],
            by_name["question_mask"],
            Sequences(*(by_name[name] for name in SEQUENCE)),
            by_name.get("given"),
            Sequences(*(by_name[f"answer_{name}"] for name in SEQUENCE)) if "answer_tokens" in by_name else None,
        )
        memory = self.network.encode(reading)
        states = [source.states for source in memory.sources]
        return memory.ranking.score, memory.ranking.log_beta, memory.answerable, *states


class FlatBegin(nn.Module):
    """`begin`: the states of each source, to its keys and values in every block and its keys for copying."""

    def __init__(self, network: MasqueNetwork) -> None:
        super().__init__()
        self.network = network
        names = network.settings.sources
        self.inputs = tuple(f"{name}_states" for name in names)
        self.outputs = (*look_names(network), *(f"{name}_copy_keys" for name in names))

    def forward(self, *states: Tensor) -> tuple[Tensor, ...]:
        """In the order of `inputs`, to the order of `outputs`."""
        sources = [_source(part) for part in states]
        return *self.network.decoder.remember(sources), *self.network.pointer.keys(sources)


class FlatStep(nn.Module):
    """`decode_step`: a token and the cache, to the step's probabilities by where they come from, and the next cache."""

    def __init__(self, network: MasqueNetwork) -> None:
        super().__init__()
        self.network = network
        names = network.settings.sources
        self.inputs = (
            "token",
            "own_keys",
            "own_values",
            *(f"{name}_{part}" for name in names for part in ("states", "mask", "weight")),
            *look_names(network),
            *(f"{name}_copy_keys" for name in names),
        )
        self.outputs = ("vocabulary", *(f"{name}_copied" for name in names), "next_keys", "next_values")

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """In the order of `inputs`, to the order of `outputs`."""
        token, own_keys, own_values, *rest = inputs
        count = len(self.network.settings.sources)
        sources = tuple(_source(*rest[at : at + 3]) for at in range(0, 3 * count, 3))
        cache = Cache((own_keys, own_values), tuple(rest[3 * count : -count]), tuple(rest[-count:]))
        real = torch.ones_like(token[:, None], dtype=torch.bool)  # the ranking is in the weights by now
        memory = Memory(sources, all_alike(real), torch.zeros_like(token, dtype=torch.float32), real)
        step, cache = self.network.decode_step(memory, cache, token)
        return step.vocabulary, *step.copied, *cache.own


def look_names(network: MasqueNetwork) -> list[str]:
    """The names of what attention looks up, in the order of `Cache.given`."""
    return [
        f"{name}_{part}_{layer}"
        for layer in range(network.settings.decoder_layers)
        for name in network.settings.sources
        for part in ("look_keys", "look_values")
    ]


def _source(states: Tensor, mask: Tensor | None = None, weight: Tensor | None = None) -> Source:
    """A source as far as the decoder needs it; its tokens matter only to whoever reads the step."""
    tokens = torch.zeros_like(states[:, :, 0], dtype=torch.long)
    mask = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
    return Source(states, tokens, mask, torch.zeros_like(states[:, :, 0]) if weight is None else weight, tokens)


def to_onnx(module: FlatEncode | FlatBegin | FlatStep, example: Sequence[Tensor]) -> Any:
    """The module as an ONNX program, every dimension of its inputs free but those of the network's own widths.

    example: inputs of sizes that are all different and above 1, so that the exporter takes none for another.
    """
    shapes = [_free(name, tensor) for name, tensor in zip(module.inputs, example, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own future
        program = torch.onnx.export(
            module.eval(),
            tuple(example),
            dynamo=True,
            input_names=list(module.inputs),
            output_names=list(module.outputs),
            dynamic_shapes=(tuple(shapes),),
            opset_version=20,
            verbose=False,
        )
    assert program is not None
    return program


def _free(name: str, tensor: Tensor) -> dict[int, Any]:
    if name.startswith("own_"):
        return {1: Dim.AUTO, 3: Dim.AUTO}  # batch and places; layers, heads and widths are the network's
    if "_look_" in name:
        return {0: Dim.AUTO, 2: Dim.AUTO}
    if name.endswith(("states", "copy_keys")):
        return {0: Dim.AUTO, 1: Dim.AUTO}
    return dict.fromkeys(range(tensor.dim()), Dim.AUTO)
