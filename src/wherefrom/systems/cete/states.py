"""Vectors of texts that stay as they are: the states of a frozen encoder, worked out once, or those of words.

OUT/states/<encoder>-<sources>.npy   (tokens, width) in 16 bits: texts one behind the other, between [CLS] and [SEP]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy
import torch
from torch import Tensor

from wherefrom.networks.encoder import Encoder
from wherefrom.origin import file_hash
from wherefrom.systems.cete.pairs import Numbers, PairMaterial
from wherefrom.systems.cete.settings import SOURCES, TaskSettings
from wherefrom.train.errors import TrainingError

_AT_A_TIME = 64  # texts


class Vectors(NamedTuple):
    """Texts, filled up: (texts, length, width), and where they are real."""

    states: Tensor
    mask: Tensor


class FrozenStates(Protocol):
    """Vectors of the material's texts."""

    width: int
    lengths: Numbers  # of every text of the material, in vectors

    def of(self, texts: Sequence[int]) -> Vectors: ...

    def facts(self) -> dict[str, str]: ...


class EncoderStates:
    """What a frozen encoder says, from the file."""

    def __init__(self, path: Path, material: PairMaterial, settings: TaskSettings) -> None:
        self._path = path
        self._table: Numbers = numpy.load(path, mmap_mode="r", allow_pickle=False)
        self.width = int(self._table.shape[1])
        self.lengths = stated(material, settings)
        self._until = numpy.cumsum(self.lengths)
        if len(self._table) != int(self._until[-1]):
            raise TrainingError(
                f"{path} has {len(self._table):,} states, and the material {int(self._until[-1]):,} tokens: it was "
                "made of another material; remove it, and run the stage states again"
            )

    def of(self, texts: Sequence[int]) -> Vectors:
        return filled([self._table[self._until[text] - self.lengths[text] : self._until[text]] for text in texts])

    def facts(self) -> dict[str, str]:
        return {f"states {self._path.name}": file_hash(self._path)}


class StaticVectors:
    """A vector a word, whatever stands beside it."""

    def __init__(self, material: PairMaterial, settings: TaskSettings) -> None:
        self._material = material
        self._table = material.column("word_vectors")
        self._most = settings.max_tokens
        self.width = int(self._table.shape[1])
        self.lengths = numpy.clip(material.lengths("words"), 1, self._most)

    def of(self, texts: Sequence[int]) -> Vectors:
        rows = [self._material.text(text, "words")[: self._most] for text in texts]
        return filled([self._table[row if len(row) else [-1]] for row in rows])

    def facts(self) -> dict[str, str]:
        return {"states": "static"}


def stated(material: PairMaterial, settings: TaskSettings) -> Numbers:
    """How many states each text has: none where it is neither learnt from nor measured on."""
    used = numpy.zeros(material.texts, bool)
    selecting = [source for source in SOURCES if source != "squad"]
    for valid, sources in ((False, settings.sources), (True, selecting)):
        for question in material.questions(valid, sources):
            pairs = slice(question.pairs.start, question.pairs.stop)
            used[material.column("pair_question")[pairs]] = True
            used[material.column("pair_text")[pairs]] = True
    return numpy.where(used, numpy.minimum(material.lengths() + 2, settings.max_tokens), 0)


def write_states(
    path: Path,
    encoder: Encoder,
    material: PairMaterial,
    settings: TaskSettings,
    tokens: Tensor | None,
    device: str,
    report: Callable[[int, int], None],
) -> dict[str, int]:
    """Every text through the encoder, the longest first."""
    lengths = stated(material, settings)
    until = numpy.cumsum(lengths)
    table = numpy.lib.format.open_memmap(
        path, mode="w+", dtype=numpy.float16, shape=(int(until[-1]), encoder.settings.width)
    )
    encoder = encoder.to(device).eval()
    mapped = None if tokens is None else tokens.to(device)
    order = [text for text in numpy.argsort(-lengths, kind="stable").tolist() if lengths[text]]
    for begin in range(0, len(order), _AT_A_TIME):
        report(begin, len(order))
        part = order[begin : begin + _AT_A_TIME]
        given = numpy.full((len(part), int(lengths[part].max())), settings.padding, numpy.int64)
        for row, text in enumerate(part):
            given[row, : lengths[text]] = _between(material, text, settings)
        ids = torch.from_numpy(given).to(device)
        counts = torch.from_numpy(lengths[part].astype(numpy.int64)).to(device)
        mask = torch.arange(ids.shape[1], device=device)[None] < counts[:, None]
        if mapped is not None:
            ids = torch.where(mask, mapped[ids], encoder.settings.padding)
        with torch.inference_mode():
            states = encoder(ids, mask).float().cpu().numpy()
        for row, text in enumerate(part):
            table[until[text] - lengths[text] : until[text]] = states[row, : lengths[text]]
    table.flush()
    return {"texts": len(order), "states": int(until[-1])}


def _between(material: PairMaterial, text: int, settings: TaskSettings) -> list[int]:
    pieces = material.text(text)[: settings.max_tokens - 2].tolist()
    return [settings.classify, *pieces, settings.separate]


def filled(rows: Sequence[Numbers]) -> Vectors:
    """Texts of several lengths as one tensor."""
    longest = max(len(row) for row in rows)
    states = numpy.zeros((len(rows), longest, rows[0].shape[1]), numpy.float16)
    mask = numpy.zeros((len(rows), longest), bool)
    for number, row in enumerate(rows):
        states[number, : len(row)] = row
        mask[number, : len(row)] = True
    return Vectors(torch.from_numpy(states), torch.from_numpy(mask))
