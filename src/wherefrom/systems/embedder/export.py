"""A trained embedder becomes a folder of weights for `runtime.embedder`."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import torch
from torch import Tensor, nn

from wherefrom.runtime.embedder import FILE
from wherefrom.runtime.weights import OF_THE_READER
from wherefrom.systems.embedder.network import EncodedNetwork, WordsNetwork
from wherefrom.systems.embedder.pairs import CLASSIFY, SEPARATE
from wherefrom.train.quantize import ExportPrecision, TableBits, eight_bits


def export_words(network: WordsNetwork, folder: Path, max_tokens: int, tokenizer: Path | None = None) -> None:
    """A row of eight bits a wordpiece, and what one step in it is worth."""
    whole, scales = eight_bits(network.word.weight.detach().cpu().numpy(), axis=1, scales=numpy.float16)
    folder.mkdir(parents=True)
    with (folder / FILE).open("wb") as file:
        numpy.savez(file, allow_pickle=False, vectors=whole, scales=scales)
    _settings(folder, "words", whole.shape[1], max_tokens, tokenizer)


def export_encoded(
    network: EncodedNetwork,
    folder: Path,
    max_tokens: int,
    precision: ExportPrecision = "int8",
    table_bits: TableBits = 4,
    tokenizer: Path | None = None,
) -> None:
    """One graph from tokens to vectors."""
    from wherefrom.train.onnx import write_onnx

    folder.mkdir(parents=True)
    tokens = torch.ones(2, 8, dtype=torch.long)
    mask = torch.ones(2, 8, dtype=torch.bool)
    batch = torch.export.Dim("batch", max=4096)
    length = torch.export.Dim("length", min=2, max=network.encoder.settings.max_tokens)
    shapes = {"tokens": {0: batch, 1: length}, "mask": {0: batch, 1: length}}
    silent = _Vectors(network).eval()
    write_onnx(
        silent, (tokens, mask), (("tokens", "mask"), ("vectors",)), shapes, folder / "model.onnx", precision, table_bits
    )
    more = f"classify = {CLASSIFY}\nseparate = {SEPARATE}\nlayers = {network.encoder.settings.layers}\n"
    _settings(folder, "network", network.encoder.settings.width, max_tokens, tokenizer, more)


class _Vectors(nn.Module):
    """The network without the scale of its scores, which only training needs."""

    def __init__(self, network: EncodedNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        vectors: Tensor = self.network(tokens, mask)
        return vectors


def _settings(folder: Path, kind: str, width: int, max_tokens: int, tokenizer: Path | None, more: str = "") -> None:
    if tokenizer is not None:
        shutil.copyfile(tokenizer, folder / "tokenizer.json")
    name = "tokenizer.json" if tokenizer is not None else OF_THE_READER
    (folder / "settings.toml").write_text(
        f'kind = "{kind}"\nwidth = {width}\nmax_tokens = {max_tokens}\ntokenizer = "{name}"\n{more}', encoding="utf-8"
    )
