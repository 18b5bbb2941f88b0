"""Weights of an embedder that knows which words mean nearly the same, as far as it is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy

from wherefrom.runtime.embedder import FILE
from wherefrom.runtime.weights import SHIPPED
from wherefrom.wordpieces import Wordpieces


def write_embedder(folder: Path, alike: Sequence[Sequence[str]] = (), width: int = 48) -> Path:
    """A vector of its own for each wordpiece of the shipped vocabulary, but one for all the words of a group."""
    tokenizer = SHIPPED / "reader" / "tokenizer.json"
    pieces = Wordpieces.read(tokenizer)
    vectors = numpy.random.default_rng(1).integers(-60, 60, (30_522, width)).astype(numpy.int8)
    for group in alike:
        first, *others = [pieces.ids(word)[0] for word in group]
        vectors[others] = vectors[first]
    folder.mkdir(parents=True)
    numpy.savez(folder / FILE, vectors=vectors, scales=numpy.ones(len(vectors), numpy.float16))
    (folder / "tokenizer.json").symlink_to(tokenizer)
    (folder / "settings.toml").write_text(
        f'kind = "words"\nwidth = {width}\nmax_tokens = 256\ntokenizer = "tokenizer.json"\n'
    )
    return folder
