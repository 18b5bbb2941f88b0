"""The writer as four modules of plain tensors, which can be exported: reading, judging, remembering, one step.

Words come in as vectors, (rows, places, embedding): reading and writing look them up in one table, which is then kept
once, outside of them. Whoever runs them puts the sources together from what was read, as `WriterNetwork.encode` does,
and drops the places that hold nothing to copy (`CopySource.packed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from wherefrom.networks.pointer import CopySource
from wherefrom.systems.writer.network import SOURCES, WriterNetwork


class FlatRead(nn.Module):
    """One sequence a row, passages and short answers alike: to its states, (rows, length, width)."""

    inputs = ("words", "mask", "types")
    outputs = ("states",)

    def __init__(self, network: WriterNetwork) -> None:
        super().__init__()
        self.encoder = network.reader.pretrained

    def forward(self, words: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        return self.encoder.states_of(words, mask, types)[-1]


class FlatJudge(nn.Module):
    """`WriterNetwork.judge`: the first state of every passage, to how relevant each is and the logit of P(a)."""

    inputs = ("first", "real")
    outputs = ("score", "log_beta", "answerable")

    def __init__(self, network: WriterNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, first: Tensor, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """first: (batch, K, width); real: (batch, K)."""
        ranking, answerable = self.network.judge(first, real)
        return ranking.score, ranking.log_beta, answerable


class FlatBegin(nn.Module):
    """`begin`: the states of each source, to its keys and values in every block and its keys for copying."""

    def __init__(self, network: WriterNetwork) -> None:
        super().__init__()
        self.network = network
        self.inputs = tuple(f"{name}_states" for name in SOURCES)
        self.outputs = (*look_names(network), *(f"{name}_copy_keys" for name in SOURCES))

    def forward(self, *states: Tensor) -> tuple[Tensor, ...]:
        """In the order of `inputs`, to the order of `outputs`."""
        sources = [_source(part) for part in states]
        return *self.network.decoder.remember(sources), *self.network.pointer.keys(sources)


class FlatStep(nn.Module):
    """`decode_step`: a word and the cache, to the step's probabilities by where they come from, and the next cache.

    The vocabulary's part has a column for each word of `Support.listed`.
    """

    def __init__(self, network: WriterNetwork) -> None:
        super().__init__()
        self.network = network
        # The right way round: what is turned around in a graph is not found when it is made smaller.
        self.rows = nn.Parameter(network.pointer.rows(network.table()).detach().T.contiguous())  # (embedding, rows)
        self.inputs = (
            "word",
            "own_keys",
            "own_values",
            *(f"{name}_{part}" for name in SOURCES for part in ("states", "mask", "weight")),
            *look_names(network),
            *(f"{name}_copy_keys" for name in SOURCES),
        )
        self.outputs = ("vocabulary", *(f"{name}_copied" for name in SOURCES), "next_keys", "next_values")

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """In the order of `inputs`, to the order of `outputs`."""
        word, own_keys, own_values, *rest = inputs
        count = len(SOURCES)
        sources = tuple(_source(*rest[at : at + 3]) for at in range(0, 3 * count, 3))
        given, keys = tuple(rest[3 * count : -count]), tuple(rest[-count:])
        decoder, pointer = self.network.decoder, self.network.pointer
        embedded = self.network.embed_words(word, decoder.written((own_keys, own_values)))
        masks = [source.mask for source in sources]
        states, own = decoder.step(embedded, (own_keys, own_values), given, masks)
        logits = pointer.support.masked((pointer.inner(states) @ self.rows).float(), sources)
        step = pointer.step_rows(pointer.mixed(states, sources, keys, logits), sources)
        return step.vocabulary, *step.copied, *own


FlatModule = FlatRead | FlatJudge | FlatBegin | FlatStep


def look_names(network: WriterNetwork) -> list[str]:
    """The names of what attention looks up, in the order of `Cache.given`."""
    return [
        f"{name}_{part}_{layer}"
        for layer in range(network.settings.decoder_layers)
        for name in SOURCES
        for part in ("look_keys", "look_values")
    ]


def _source(states: Tensor, mask: Tensor | None = None, weight: Tensor | None = None) -> CopySource:
    """A source as far as the decoder needs it; its tokens matter only to whoever reads the step."""
    tokens = torch.zeros_like(states[:, :, 0], dtype=torch.long)
    mask = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
    return CopySource(states, tokens, mask, torch.zeros_like(states[:, :, 0]) if weight is None else weight, tokens)


def free_shapes(module: FlatModule, example: Sequence[Tensor]) -> Any:
    """Every dimension of its inputs is free but those of the network's own widths; for `write_onnx`."""
    shapes = tuple(_free(name, tensor) for name, tensor in zip(module.inputs, example, strict=True))
    return shapes if isinstance(module, FlatRead | FlatJudge) else (shapes,)  # the others take any number of inputs


def _free(name: str, tensor: Tensor) -> dict[int, Any]:
    if name.startswith("own_"):
        return {1: Dim.AUTO, 3: Dim.AUTO}  # batch and places; layers, heads and widths are the network's
    if "_look_" in name:
        return {0: Dim.AUTO, 2: Dim.AUTO}
    if name in ("word", "words", "first") or name.endswith(("states", "copy_keys")):
        return {0: Dim.AUTO, 1: Dim.AUTO}
    return dict.fromkeys(range(tensor.dim()), Dim.AUTO)
