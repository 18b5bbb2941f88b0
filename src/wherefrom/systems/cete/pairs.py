"""The material as trainings read it: texts by number, pairs by question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.systems.cete.settings import SOURCES, Source, TaskSettings

Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class SelectionQuestion:
    """One question of the material."""

    id: str
    source: Source
    pairs: range  # the numbers of its pairs


class PairMaterial:
    """OUT/pairs.safetensors; columns are read when needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns: dict[str, Numbers] = {}
        with safe_open(path, framework="numpy") as file:
            self._names = set(file.keys())
            self._ids: list[str] = json.loads(file.metadata()["about"])["ids"]

    def column(self, name: str) -> Numbers:
        if name not in self._names:
            raise SettingsError(
                f"{self.path} has no {name}: it was made without --glove, which encoder=static needs; make it again"
            )
        if name not in self._columns:
            with safe_open(self.path, framework="numpy") as file:
                self._columns[name] = file.get_tensor(name)
        return self._columns[name]

    @cached_property
    def texts(self) -> int:
        """How many distinct texts there are."""
        return len(self.column("pieces_until"))

    def text(self, number: int, kind: str = "pieces") -> Numbers:
        """The wordpieces (or words) of a text."""
        until = self.column(f"{kind}_until")
        begin = int(until[number - 1]) if number else 0
        tokens: Numbers = self.column(kind)[begin : int(until[number])]
        return tokens

    def lengths(self, kind: str = "pieces") -> Numbers:
        """Of every text."""
        return numpy.diff(self.column(f"{kind}_until"), prepend=0)

    def questions(self, valid: bool, sources: Iterable[Source] = SOURCES) -> list[SelectionQuestion]:
        """Those of the training or of the dev parts."""
        until = self.column("question_until")
        wanted = {SOURCES.index(source) for source in sources}
        chosen = numpy.isin(self.column("question_source"), list(wanted)) & (self.column("question_valid") == valid)
        return [
            SelectionQuestion(
                self._ids[number],
                SOURCES[self.column("question_source")[number]],
                range(int(until[number - 1]) if number else 0, int(until[number])),
            )
            for number in numpy.flatnonzero(chosen).tolist()
        ]

    def training_pairs(self, settings: TaskSettings) -> Numbers:
        """The numbers of all pairs to learn from."""
        labels = self.column("pair_label")
        pairs = [
            question.pairs
            for question in self.questions(False, settings.sources)
            if not settings.answered
            or 0 < labels[question.pairs.start : question.pairs.stop].sum() < len(question.pairs)
        ]
        if not pairs:
            raise SettingsError(f"{self.path} has no questions of {', '.join(settings.sources)} to learn from")
        return numpy.concatenate([numpy.arange(each.start, each.stop) for each in pairs])

    def measured_on(self, settings: TaskSettings, sources: Iterable[Source] = SOURCES) -> list[SelectionQuestion]:
        """Dev questions; of squad, which has many, an even part."""
        return [
            question
            for source in SOURCES
            if source in set(sources)
            for question in evenly_spread(
                self.questions(True, [source]), settings.valid_questions if source == "squad" else 0
            )
        ]


@dataclass(frozen=True, slots=True)
class SequenceBatch:
    """Pairs in one sequence each: (pairs, length), and whether each is right."""

    tokens: Tensor
    mask: Tensor
    types: Tensor
    labels: Tensor  # (pairs,)


def sequences(material: PairMaterial, pairs: Sequence[int], settings: TaskSettings) -> SequenceBatch:
    """`[CLS] question [SEP] candidate [SEP]`, cut where it is too long: the question first, then the candidate."""
    rows = [_sequence(material, pair, settings) for pair in pairs]
    longest = max(len(tokens) for tokens, _ in rows)
    shape = (len(rows), longest)
    tokens = numpy.full(shape, settings.padding, numpy.int64)
    mask, types = numpy.zeros(shape, bool), numpy.zeros(shape, numpy.int64)
    for row, (sequence, second) in enumerate(rows):
        tokens[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = True
        types[row, second : len(sequence)] = 1
    labels = material.column("pair_label")[numpy.asarray(pairs, numpy.int64)].astype(numpy.int64)
    return SequenceBatch(*(torch.from_numpy(each) for each in (tokens, mask, types, labels)))


def _sequence(material: PairMaterial, pair: int, settings: TaskSettings) -> tuple[list[int], int]:
    """The token ids, and where the candidate begins."""
    question = material.text(int(material.column("pair_question")[pair]))[: settings.max_question].tolist()
    candidate = material.text(int(material.column("pair_text")[pair]))
    first = [settings.classify, *question, settings.separate]
    return [*first, *candidate[: settings.max_tokens - len(first) - 1].tolist(), settings.separate], len(first)
