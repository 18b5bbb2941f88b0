"""Parts of speech and entity types of tokens, by a small convolutional network run with numpy."""

from __future__ import annotations

import hashlib
import re
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy
from numpy.typing import NDArray

from wherefrom.errors import WherefromError
from wherefrom.features.tokens import tokens
from wherefrom.text import Span

# Universal parts of speech, as spaCy's token.pos_.
POS: tuple[str, ...] = (
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
    "SPACE",
)
# OntoNotes' types of entities, as spaCy's token.ent_type_; "O" for none.
NER: tuple[str, ...] = (
    "O",
    "PERSON",
    "NORP",
    "FAC",
    "ORG",
    "GPE",
    "LOC",
    "PRODUCT",
    "EVENT",
    "WORK_OF_ART",
    "LAW",
    "LANGUAGE",
    "DATE",
    "TIME",
    "PERCENT",
    "MONEY",
    "QUANTITY",
    "ORDINAL",
    "CARDINAL",
)

FILE = "tagger.npz"
FEATURES = 6  # rows of the table that describe a word
_CHUNK = 4096  # tokens worked on together: what they need stays near the processor
_MOST_WORDS = 50_000  # remembered with their vectors
_GAP = 0  # the vector between two texts: nothing

_Floats = NDArray[numpy.float32]


@dataclass(frozen=True, slots=True)
class Tagged:
    """The tokens of one text and their tags."""

    spans: list[Span]
    pos: NDArray[numpy.uint8]  # (tokens,) index in POS
    ner: NDArray[numpy.uint8]  # (tokens,) index in NER


class ModelFiles(Protocol):
    """A model's folder, such as `runtime.weights.Weights`."""

    def file(self, name: str) -> Path: ...


class TaggerError(WherefromError):
    """The tagger's weights cannot be read; the message names the file and the remedy."""

    exit_code = 3


class Tagger:
    """Tags texts; may be shared between threads. Weights load on first use."""

    def __init__(self, weights: ModelFiles) -> None:
        self._weights = weights
        self._lock = threading.Lock()

    def tag(self, texts: Sequence[str]) -> list[Tagged]:
        """The tokens of each text with their tags."""
        spans = [tokens(text) for text in texts]
        words: list[str] = [""]  # the texts one after another, with a gap around each
        glued: list[bool] = [False]
        for text, text_spans in zip(texts, spans, strict=True):
            words.extend(text[start:end] for start, end in text_spans)
            words.append("")
            glued.extend(glued_to_former(text_spans))
            glued.append(False)
        with self._lock:
            vectors, numbers = self._vocabulary.vectors_of(words)
        pos, ner = self._network.tags(vectors, numbers, numpy.array(glued))
        tagged: list[Tagged] = []
        start = 1
        for text_spans in spans:
            end = start + len(text_spans)
            tagged.append(Tagged(text_spans, pos[start:end], ner[start:end]))
            start = end + 1
        return tagged

    @cached_property
    def _arrays(self) -> dict[str, NDArray[numpy.generic]]:
        file = self._weights.file(FILE)
        try:
            with file.open("rb") as opened, numpy.load(opened, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise TaggerError(f"{file} cannot be read ({error}); install wherefrom again") from error

    @cached_property
    def _vocabulary(self) -> _Vocabulary:
        return _Vocabulary(self._arrays["table"], self._arrays["table_scale"])

    @cached_property
    def _network(self) -> _Network:
        return _Network({name: array.astype(numpy.float32) for name, array in self._arrays.items() if name != "table"})


def word_rows(word: str, rows: int) -> list[int]:
    """Which rows of a table of `rows` are added up to describe a word; the same on every machine.

    Two rows for the word itself, so that two words rarely share both; one each for its beginning, its first letter
    as it is written, its ending and its shape.
    """
    lower = word.lower()
    first = _hashes(f"word {lower}")
    parts = (f"begins {lower[:3]}", f"letter {word[:1]}", f"ends {lower[-3:]}", f"shape {shape(word)}")
    return [number % rows for number in (*first, *(_hashes(part)[0] for part in parts))]


def shape(word: str) -> str:
    """Letters as X or x and digits as d, at most four alike in a row: `Paris1900s` is `Xxxxxddddx`."""
    kinds = "".join(
        "d" if letter.isdigit() else "X" if letter.isupper() else "x" if letter.isalpha() else letter
        for letter in word[:40]
    )
    return re.sub(r"(.)\1{3,}", r"\1\1\1\1", kinds)


def glued_to_former(spans: Sequence[Span]) -> list[bool]:
    """Whether a token follows the one before it without white space."""
    return [number > 0 and spans[number - 1][1] == start for number, (start, _) in enumerate(spans)]


def _hashes(part: str) -> tuple[int, int]:
    """Two numbers that a text always gives; Python's own hash differs from process to process."""
    digest = hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


class _Vocabulary:
    """Words and their vectors, each the sum of some rows of an 8-bit table; remembers what it has seen."""

    def __init__(self, table: NDArray[numpy.generic], scale: NDArray[numpy.generic]) -> None:
        self._table = table.astype(numpy.int8, copy=False)  # (rows, width)
        self._scale = scale.astype(numpy.float32)[:, None]  # (rows, 1)
        self._numbers: dict[str, int]
        self._vectors: _Floats
        self._forget()

    def vectors_of(self, words: Sequence[str]) -> tuple[_Floats, NDArray[numpy.int32]]:
        """Vectors (known words, width), and for each word (words,) which of them is its own."""
        if len(self._numbers) > _MOST_WORDS:
            self._forget()
        new = [word for word in dict.fromkeys(words) if word not in self._numbers]
        if new:
            rows = numpy.array([word_rows(word, len(self._table)) for word in new])  # (new, FEATURES)
            summed = sum(self._table[rows[:, part]] * self._scale[rows[:, part]] for part in range(FEATURES))
            self._numbers.update(zip(new, range(len(self._numbers), len(self._numbers) + len(new)), strict=True))
            self._vectors = numpy.concatenate([self._vectors, summed])
        return self._vectors, numpy.fromiter(map(self._numbers.__getitem__, words), numpy.int32, len(words))

    def _forget(self) -> None:
        self._numbers = {"": _GAP}
        self._vectors = numpy.zeros((1, self._table.shape[1]), numpy.float32)


class _Network:
    """Layers that each see a token and its two neighbours; then a linear choice of each tag."""

    def __init__(self, weights: dict[str, _Floats]) -> None:
        self._weights = weights
        self._layers = sum(name.startswith("mix") and name.endswith("weight") for name in weights)

    def tags(
        self, vectors: _Floats, numbers: NDArray[numpy.int32], glued: NDArray[numpy.bool_]
    ) -> tuple[NDArray[numpy.uint8], NDArray[numpy.uint8]]:
        """The tags of each place in a row of texts with gaps between them; those of the gaps mean nothing."""
        pos, ner = (numpy.zeros(len(numbers), numpy.uint8) for _ in range(2))
        for start in range(0, len(numbers), _CHUNK):
            end = min(start + _CHUNK, len(numbers))
            low, high = max(0, start - self._layers), min(end + self._layers, len(numbers))  # all that is looked at
            states = self._states(vectors[numbers[low:high]], glued[low:high], numbers[low:high] != _GAP)
            inside = states[start - low : end - low]  # (tokens, width)
            pos[start:end] = self._linear(inside, "pos").argmax(axis=1)
            ner[start:end] = self._linear(inside, "ner").argmax(axis=1)
        return pos, ner

    def _states(self, words: _Floats, glued: NDArray[numpy.bool_], filled: NDArray[numpy.bool_]) -> _Floats:
        mask = filled[:, None].astype(numpy.float32)
        states = self._normed(words + glued[:, None].astype(numpy.float32) * self._weights["glued"], "first") * mask
        for layer in range(self._layers):
            wide = numpy.zeros((len(states), 3 * states.shape[1]), numpy.float32)
            wide[1:, : states.shape[1]] = states[:-1]
            wide[:, states.shape[1] : -states.shape[1]] = states
            wide[:-1, -states.shape[1] :] = states[1:]
            mixed = numpy.maximum(self._linear(wide, f"mix.{layer}"), 0.0)
            states = self._normed(states + mixed, f"norm.{layer}") * mask
        return states

    def _linear(self, states: _Floats, name: str) -> _Floats:
        return states @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _normed(self, states: _Floats, name: str) -> _Floats:
        """Layer normalisation, without its shift: the layer after it has one."""
        centred = states - states.mean(axis=1, keepdims=True)
        spread = numpy.einsum("ij,ij->i", centred, centred) / states.shape[1]
        normed: _Floats = centred * (self._weights[f"{name}.weight"] / numpy.sqrt(spread + 1e-5)[:, None])
        return normed
