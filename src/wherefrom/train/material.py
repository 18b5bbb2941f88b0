"""Training material on a device: texts as tokens in columns, and question-passage pairs put together from them.

A microbatch names its pairs by number; their tokens are put together on the device, where all of the material lies, so
that a GPU never waits for Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.evaluate.spread import evenly_spread

__all__ = [
    "MOST_PASSAGE_TOKENS",
    "SOURCES",
    "BertLayout",
    "Layout",
    "Material",
    "Numbers",
    "Pairs",
    "Sequences",
    "assembled",
    "evenly_spread",
    "header",
    "ranges",
]

Numbers = NDArray[Any]
SOURCES = (
    "squad",
    "ten-passages",
    "quoref",
    "nq",
    "wikiqa",
    "asked",  # by a network; see `train asker`
    "near-miss",  # changed so that the passage no longer answers
    "subjqa",
    "people",  # questions that people could not answer from a text, and some that they could
    "reading",  # short answers in posts, papers, encyclopedias
    "boolq",
    "entailment",  # statements that a text makes true, makes false, or leaves open
    "typed",  # questions with slips of the keyboard, or words alone
    "manuals",  # questions of ours over manuals, READMEs and private papers
)
"""Where examples come from, by their number in the column `source`."""
MOST_PASSAGE_TOKENS = 480  # of a passage in the reader's material; a longer one is cut around its answer

_TEXTS = ("question", "title", "passage")


class Layout(Protocol):
    """How a pair is laid out: the longest question, and the tokens with a part to play."""

    @property
    def max_question(self) -> int: ...

    @property
    def classify(self) -> int: ...

    @property
    def separate(self) -> int: ...

    @property
    def padding(self) -> int: ...


@dataclass(frozen=True, slots=True)
class BertLayout:
    """In BERT's uncased wordpieces."""

    max_question: int = 64
    classify: int = 101  # [CLS]
    separate: int = 102  # [SEP]
    padding: int = 0  # [PAD]


@dataclass(frozen=True, slots=True)
class Pairs:
    """A microbatch: (question, passage) pairs by number, and where the answers are."""

    question: Tensor  # (pairs,)
    passage: Tensor  # (pairs,)
    titled: Tensor  # (pairs,) whether the title is shown
    group: Tensor  # (pairs,) which question of the microbatch
    gold: Tensor  # (golds, 3): pair, first and last token of an answer in its passage
    relevant: Tensor  # (pairs,)
    groups: int
    length: int  # tokens of the longest pair
    truth: Tensor | None = None  # (pairs,) 1 for yes, 0 for no, -1 where neither is asked for
    taught: Tensor | None = None  # (groups,) whether the teacher is listened to; None: always


@dataclass(frozen=True, slots=True)
class Sequences:
    """What a network reads."""

    tokens: Tensor  # (pairs, length)
    mask: Tensor  # (pairs, length) true at real tokens
    passage: Tensor  # (pairs, length) true at the passage's tokens
    types: Tensor  # (pairs, length)
    first: Tensor  # (pairs,) where the passage begins


class Material:
    """The columns of a file of questions and passages, moved to the device that asks for them."""

    def __init__(self, path: Path, *beside: Path) -> None:
        """`beside` are further files of the same tokens, whose examples come behind."""
        self.path = path
        self.paths = (path, *beside)
        self._here = load_file(path)
        for file in beside:
            self._here = _joined(self._here, load_file(file))
        self._there: dict[str, Tensor] = {}
        self._device = torch.device("cpu")

    def __getitem__(self, name: str) -> Tensor:
        return self._here[name]

    @property
    def names(self) -> Sequence[str]:
        """What the columns are called."""
        return list(self._here)

    def on(self, device: torch.device) -> Mapping[str, Tensor]:
        """The texts on a device, and the titles of the passages."""
        if device != self._device or not self._there:
            wanted = [f"{text}_{part}" for text in _TEXTS for part in ("tokens", "starts")]
            self._there = {name: self._here[name].to(device) for name in (*wanted, "passage_title")}
            self._device = device
        return self._there

    def column(self, name: str) -> Numbers:
        """A column as numpy has it; numpy draws and cuts a hundred times faster than Python."""
        return self._here[name].numpy()

    def of_source(self, name: str) -> Numbers:
        """True at the examples of a source."""
        chosen: Numbers = self.column("source") == SOURCES.index(name)
        return chosen

    def lengths(self, name: str) -> Numbers:
        """How many tokens each text has."""
        return numpy.diff(self.column(f"{name}_starts"))

    def text(self, name: str, number: int) -> Numbers:
        """The tokens of a question, a title or a passage."""
        starts = self.column(f"{name}_starts")
        return self.column(f"{name}_tokens")[starts[number] : starts[number + 1]]

    def spans(self, number: int) -> list[tuple[int, int]]:
        """First and last token of every answer of an example."""
        until, spans = self.column("spans_until"), self.column("spans")
        return [(int(a), int(b)) for a, b in spans[until[number] : until[number + 1]]]

    def others(self, number: int) -> list[int]:
        """The passages that do not answer an example's question."""
        until = self.column("others_until")
        passages: list[int] = self.column("others")[until[number] : until[number + 1]].tolist()
        return passages


def _joined(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Two materials as one: numbers of texts and places in columns of the second move up behind the first's."""
    texts = {name: len(first[f"{name}_starts"]) - 1 for name in _TEXTS}
    moved_up = {"question": texts["question"], "others": texts["passage"], "passage_title": texts["title"]}
    moved_up |= {f"{name}_starts": int(first[f"{name}_starts"][-1]) for name in _TEXTS}
    moved_up |= {name: int(first[name][-1]) for name in ("spans_until", "others_until")}
    both: dict[str, Tensor] = {}
    for name, column in first.items():
        other = second[name]
        if name == "gold":
            other = torch.where(other >= 0, other + texts["passage"], other)
        elif name in moved_up:
            other = other + moved_up[name]
        if name in ("spans", "others"):
            column = column[: int(first[f"{name}_until"][-1])]  # a column without any has one row all the same
        if name.endswith(("_starts", "_until")):
            other = other[1:]  # the first is the last of the other's
        both[name] = torch.cat([column, other.to(column.dtype)])
    return both


def header(path: Path) -> dict[str, Any]:
    """What a file of material says of itself; empty for another file."""
    with safe_open(path, framework="numpy") as file:
        facts: dict[str, Any] = json.loads((file.metadata() or {}).get("about", "{}"))
    return facts


def ranges(begin: Numbers, count: Numbers) -> Numbers:
    """begin[0], begin[0] + 1, ... count[0] numbers, then those of begin[1], and so on."""
    ends = numpy.cumsum(count)
    shift = numpy.repeat(begin - (ends - count), count)
    return shift + numpy.arange(len(shift))


def assembled(material: Mapping[str, Tensor], pairs: Pairs, layout: Layout) -> Sequences:
    """`[CLS] question [SEP] title [SEP] passage [SEP]` for every pair; a pair without title has no second [SEP]."""
    device = pairs.question.device
    place = torch.arange(pairs.length, device=device)[None, :]  # (1, length)

    def piece(name: str, number: Tensor) -> tuple[Tensor, Tensor]:
        starts = material[f"{name}_starts"]
        return starts[number].long()[:, None], (starts[number + 1] - starts[number]).long()[:, None]

    # (pairs, 1) each: where a text lies, and how long it is
    question, question_length = piece("question", pairs.question)
    question_length = question_length.clamp(max=layout.max_question)
    title, title_length = piece("title", material["passage_title"][pairs.passage].long())
    title_length = torch.where(pairs.titled[:, None], title_length, 0)
    passage, passage_length = piece("passage", pairs.passage)
    title_at = question_length + 2
    passage_at = title_at + title_length + (title_length > 0)
    last = passage_at + torch.minimum(passage_length, pairs.length - passage_at - 1)  # the closing [SEP]

    def taken(name: str, begin: Tensor, at: Tensor | int) -> Tensor:
        tokens = material[f"{name}_tokens"]
        return tokens[(begin + place - at).clamp(0, len(tokens) - 1)].long()

    inside = (place >= passage_at) & (place < last)
    titled = (place >= title_at) & (place < title_at + title_length)
    tokens = torch.full((len(pairs.question), pairs.length), layout.padding, device=device)
    tokens = torch.where((place >= 1) & (place <= question_length), taken("question", question, 1), tokens)
    tokens = torch.where(titled, taken("title", title, title_at), tokens)
    tokens = torch.where(inside, taken("passage", passage, passage_at), tokens)
    separators = (place == title_at - 1) | ((place == passage_at - 1) & (title_length > 0)) | (place == last)
    tokens = torch.where(separators, layout.separate, tokens)
    tokens = torch.where(place == 0, layout.classify, tokens)
    mask = place <= last
    return Sequences(tokens, mask, inside, ((place >= title_at) & mask).long(), passage_at.squeeze(1))
