"""Material for writing as training sees it: columns for drawing on the CPU, texts for the device.

Made by `corpus`; sentences that a style-transfer model wrote are added by number of example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor

from wherefrom.errors import WherefromError
from wherefrom.train.material import Numbers
from wherefrom.train.writing.sources import SOURCES

TEXTS = ("question", "title", "passage", "target")


class WritingMaterial:
    """The tensors of `corpus`; `target` texts are all answers, then all sentences, then synthetic ones."""

    def __init__(self, path: Path, columns: Mapping[str, Numbers]) -> None:
        self.path = path
        self._columns = dict(columns)
        self._there: dict[str, Tensor] = {}
        self._device = torch.device("cpu")

    def __getitem__(self, name: str) -> Numbers:
        return self._columns[name]

    def of(self, source: str) -> Numbers:
        """Which examples come from that source: (examples,)."""
        mask: Numbers = self._columns["source"] == SOURCES.index(source)
        return mask

    def text(self, name: str, number: int) -> list[int]:
        """The tokens of one text."""
        starts = self._columns[f"{name}_starts"]
        tokens: list[int] = self._columns[f"{name}_tokens"][starts[number] : starts[number + 1]].tolist()
        return tokens

    def lengths(self, name: str) -> Numbers:
        """How many tokens each text has."""
        return numpy.diff(self._columns[f"{name}_starts"])

    def with_columns(self, columns: Mapping[str, Numbers]) -> WritingMaterial:
        return WritingMaterial(self.path, {**self._columns, **columns})

    def on(self, device: torch.device) -> Mapping[str, Tensor]:
        """The texts on a device."""
        if device != self._device or not self._there:
            wanted = [f"{name}_{part}" for name in TEXTS for part in ("tokens", "starts")]
            self._there = {
                name: torch.from_numpy(self._columns[name]).to(device) for name in (*wanted, "passage_title")
            }
            self._device = device
        return self._there

    @property
    def first_sentence(self) -> int:
        """The target that is the first sentence."""
        return len(self._columns["answer_starts"]) - 1

    def gold_sentences(self) -> tuple[Numbers, Numbers]:
        """For every example the first of its sentences to train on, and how many there are; held out ones come last."""
        until, trained = self["sentences_until"].astype(numpy.int64), self["sentence_valid"] == 0
        before = numpy.concatenate([[0], numpy.cumsum(trained)])
        return until[:-1], before[until[1:]] - before[until[:-1]]


def load(path: Path) -> WritingMaterial:
    """Material without synthetic sentences."""
    columns = load_file(path)
    tokens, starts = _behind(
        (columns["answer_tokens"], columns["answer_starts"]), (columns["sentence_tokens"], columns["sentence_starts"])
    )
    sentence_answer = numpy.full(len(columns["sentence_valid"]), -1, numpy.int32)
    sentence_answer[columns["triple_sentence"]] = columns["triple_answer"]
    none = numpy.full(len(columns["question"]), -1, numpy.int32)
    more = {"target_tokens": tokens, "target_starts": starts, "sentence_answer": sentence_answer, "synthetic": none}
    return WritingMaterial(path, {**columns, **more})


def save_synthetic(path: Path, examples: Sequence[int], sentences: Sequence[Sequence[int]]) -> None:
    """Sentences that a style-transfer model wrote, as tokens without style and end, by number of example."""
    columns: dict[str, Numbers] = {
        "example": numpy.array(examples, numpy.int32),
        "tokens": numpy.array([token for sentence in sentences for token in sentence], numpy.int16),
        "starts": numpy.cumsum([0, *map(len, sentences)]).astype(numpy.int32),
    }
    save_file(columns, path)


def with_synthetic(material: WritingMaterial, file: Path, descriptive: bool = False) -> WritingMaterial:
    """The material with synthetic sentences for examples that have no gold one to train on.

    Without `descriptive` questions it is PREAST's NLG_aug(-), with them NLG_aug. A second sentence for one example, and
    one for an example of validation, is not used.
    """
    made = load_file(file)
    example = made["example"].astype(numpy.int64)
    known = len(material["question"])
    if len(example) and (example.min() < 0 or example.max() >= known):
        raise WherefromError(f"{file} has sentences for examples that are not among the {known} of {material.path}")
    before = len(material["target_starts"]) - 1
    tokens, starts = _behind((material["target_tokens"], material["target_starts"]), (made["tokens"], made["starts"]))
    wanted = (material["valid"][example] == 0) & (material.gold_sentences()[1][example] == 0)
    if not descriptive:
        wanted &= material["descriptive"][example] == 0
    synthetic = numpy.full(known, -1, numpy.int32)
    backwards = numpy.flatnonzero(wanted)[::-1]  # the first of several is written last, and stays
    synthetic[example[backwards]] = before + backwards
    return material.with_columns({"target_tokens": tokens, "target_starts": starts, "synthetic": synthetic})


def shuffled(material: WritingMaterial, seed: int = 0) -> WritingMaterial:
    """The material with every example's passages in another order; places without a passage stay the last ones."""
    there = material["passages"] >= 0
    chance = numpy.where(there, numpy.random.default_rng(seed).random(there.shape), 2.0)
    order = numpy.argsort(chance, axis=1, kind="stable")
    columns = ("passages", "relevant", "weak")
    return material.with_columns({name: numpy.take_along_axis(material[name], order, axis=1) for name in columns})


def _behind(first: tuple[Numbers, Numbers], second: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """Two tables of texts as one: tokens and starts."""
    tokens = numpy.concatenate([first[0], second[0]])
    return tokens, numpy.concatenate([first[1], first[1][-1] + second[1][1:]]).astype(numpy.int32)
