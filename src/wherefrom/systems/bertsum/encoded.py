"""Generic summaries in wordpieces, kept so that a training begins at once: OUT/generic.safetensors.

Token types and the places of sentences follow from the [CLS] of each sentence: there is no query.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from wherefrom.systems.bertsum.material import CLASSIFY, EncodedTriple


def write_examples(path: Path, parts: dict[str, Sequence[EncodedTriple]]) -> None:
    """Each part under its name; the summaries' texts are left out."""
    columns: dict[str, NDArray[numpy.generic]] = {}
    for name, examples in parts.items():
        for column, rows, kind in (
            ("tokens", [each.tokens for each in examples], numpy.uint16),
            ("target", [each.target for each in examples], numpy.uint16),
            ("labels", [each.labels for each in examples], numpy.uint8),
        ):
            columns[f"{name}_{column}"] = numpy.array([value for row in rows for value in row], kind)
            columns[f"{name}_{column}_until"] = numpy.cumsum([len(row) for row in rows], dtype=numpy.int64)
    save_file(columns, path)


def read_examples(path: Path, name: str) -> list[EncodedTriple]:
    """A part of the file."""
    columns = load_file(path)
    tokens, targets, labels = (
        numpy.split(columns[f"{name}_{column}"], columns[f"{name}_{column}_until"][:-1])
        for column in ("tokens", "target", "labels")
    )
    examples = []
    for own, target, marks in zip(tokens, targets, labels, strict=True):
        begins = own == CLASSIFY
        types = (numpy.cumsum(begins) - 1) % 2
        examples.append(
            EncodedTriple(
                tokens=tuple(own.tolist()),
                types=tuple(types.tolist()),
                query=0,
                sentences=tuple(numpy.flatnonzero(begins).tolist()),
                target=tuple(target.tolist()),
                labels=tuple(marks.astype(float).tolist()),
                summary="",
            )
        )
    return examples
