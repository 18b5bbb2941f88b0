"""The file of questions and passages that an embedder learns from, in columns of tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors.torch import load_file

SOURCES = ("squad", "typed", "nq", "manuals", "headings")
"""Where questions come from, by their number in the column `source`."""


CLASSIFY, SEPARATE = 101, 102  # [CLS] and [SEP], which stand around a text that a transformer reads


class PairColumns:
    """The columns of a file that `collect.prepare` has written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns = {name: tensor.numpy() for name, tensor in load_file(path).items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._columns["gold"])

    @property
    def passages(self) -> int:
        return len(self._columns["passage_starts"]) - 1

    def tokens(self, kind: str, number: int) -> NDArray[numpy.int16]:
        """The tokens of a "question" or a "passage"."""
        starts = self._columns[f"{kind}_starts"]
        row: NDArray[numpy.int16] = self._columns[f"{kind}_tokens"][starts[number] : starts[number + 1]]
        return row

    def of_source(self, name: str, valid: bool) -> NDArray[numpy.int64]:
        """The questions of a source: those to learn from, or those to measure by."""
        wanted = (self["source"] == SOURCES.index(name)) & (self["valid"] == int(valid))
        return numpy.flatnonzero(wanted)
