"""Training the light tagger to say the tags that spaCy said, and how far it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wherefrom.features.tags import NER, glued_to_former, word_rows
from wherefrom.features.tokens import tokens
from wherefrom.origin import file_hash
from wherefrom.systems.tagger.material import TRAIN, VALID, Labelled, read_labels
from wherefrom.systems.tagger.network import TaggerNetwork, TaggerSettings
from wherefrom.train.batching import LazyBatches, bucketed
from wherefrom.train.errors import TrainingError
from wherefrom.train.task import TaskFacts

_UNKNOWN = -100  # the tag of padding: torch's losses pass over it


@dataclass(frozen=True, slots=True)
class TaggerBatch:
    """Texts of similar length, padded."""

    rows: Tensor  # (batch, length, features)
    glued: Tensor  # (batch, length)
    mask: Tensor  # (batch, length)
    pos: Tensor  # (batch, length), _UNKNOWN for padding
    ner: Tensor  # (batch, length), likewise


class _Encoded:
    """Labelled texts as numbers; words that repeat share their rows."""

    def __init__(self, labelled: Sequence[Labelled], rows: int) -> None:
        words: dict[str, int] = {}
        self.texts: list[tuple[NDArray[numpy.int32], NDArray[numpy.bool_]]] = []
        self.tags = [(numpy.array(text.pos), numpy.array(text.ner)) for text in labelled]
        for each in labelled:
            spans = tokens(each.text)
            if len(spans) != len(each.pos):
                raise TrainingError("the labels are of other tokens than ours; remove OUT/labels and label again")
            numbers = [words.setdefault(each.text[start:end], len(words)) for start, end in spans]
            self.texts.append((numpy.array(numbers, numpy.int32), numpy.array(glued_to_former(spans))))
        self._rows = torch.tensor([word_rows(word, rows) for word in words])  # (words, features)

    def batch(self, positions: Sequence[int]) -> TaggerBatch:
        length = max(len(self.texts[position][0]) for position in positions)
        numbers, glued, mask = (torch.zeros(len(positions), length, dtype=torch.long) for _ in range(3))
        pos, ner = (torch.full((len(positions), length), _UNKNOWN) for _ in range(2))
        for line, position in enumerate(positions):
            words, joined = self.texts[position]
            numbers[line, : len(words)] = torch.from_numpy(words)
            glued[line, : len(words)] = torch.from_numpy(joined)
            mask[line, : len(words)] = 1
            pos[line, : len(words)], ner[line, : len(words)] = map(torch.from_numpy, self.tags[position])
        return TaggerBatch(self._rows[numbers], glued.float(), mask.float(), pos, ner)


class TaggerTask:
    """Say the tags that spaCy said."""

    def __init__(self, labels: Path, network: TaggerSettings, microbatch: int = 8192) -> None:
        """`labels` is the folder of labelled texts."""
        self._files = (labels / TRAIN, labels / VALID)
        self._network, self._microbatch = network, microbatch
        self._train, self._valid = (_Encoded(list(read_labels(file)), network.rows) for file in self._files)

    def facts(self) -> TaskFacts:
        files = {path.name: file_hash(path) for path in self._files}
        return TaskFacts("tagger", files, {**asdict(self._network), "microbatch": self._microbatch})

    def model(self) -> TaggerNetwork:
        return TaggerNetwork(self._network)

    def batches(self, epoch: int, seed: int) -> LazyBatches[TaggerBatch]:
        return self._batches(self._train, epoch, seed)

    def size(self, batch: TaggerBatch) -> int:
        return int(batch.mask.sum())

    def loss(self, model: TaggerNetwork, batch: TaggerBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        pos, ner = model(batch.rows, batch.glued, batch.mask)
        losses = {
            "pos": nn.functional.cross_entropy(pos.flatten(0, 1), batch.pos.flatten(), ignore_index=_UNKNOWN),
            "ner": nn.functional.cross_entropy(ner.flatten(0, 1), batch.ner.flatten(), ignore_index=_UNKNOWN),
        }
        return losses["pos"] + losses["ner"], losses

    def evaluate(self, model: TaggerNetwork) -> Mapping[str, float]:
        device = next(model.parameters()).device
        tally = Agreement()
        batches = self._batches(self._valid, 0, 0)
        for number in range(len(batches)):
            batch = batches[number]
            pos, ner = model(batch.rows.to(device), batch.glued.to(device), batch.mask.to(device))
            there = batch.mask.bool()
            tally.add(
                pos.argmax(dim=-1).cpu()[there].numpy(),
                ner.argmax(dim=-1).cpu()[there].numpy(),
                batch.pos[there].numpy(),
                batch.ner[there].numpy(),
            )
        figures = tally.figures()
        return {**figures, "score": figures["pos_accuracy"] + figures["entity_f1"]}

    def _batches(self, encoded: _Encoded, epoch: int, seed: int) -> LazyBatches[TaggerBatch]:
        lengths = [len(words) for words, _ in encoded.texts]
        plan = bucketed(lengths, epoch=epoch, seed=seed, tokens=self._microbatch)
        return LazyBatches(plan, encoded.batch)


class Agreement:
    """How far tags agree with spaCy's, over many texts."""

    def __init__(self) -> None:
        self._tokens = self._pos = self._ner = self._both = 0
        self._predicted, self._gold, self._right = (numpy.zeros(len(NER), numpy.int64) for _ in range(3))  # by type

    def add(self, pos: NDArray[Any], ner: NDArray[Any], gold_pos: NDArray[Any], gold_ner: NDArray[Any]) -> None:
        self._tokens += len(gold_pos)
        self._pos += int((pos == gold_pos).sum())
        self._ner += int((ner == gold_ner).sum())
        self._both += int(((ner != 0) & (gold_ner != 0)).sum())
        self._predicted += numpy.bincount(ner, minlength=len(NER))
        self._gold += numpy.bincount(gold_ner, minlength=len(NER))
        self._right += numpy.bincount(ner[ner == gold_ner], minlength=len(NER))

    def figures(self) -> dict[str, float]:
        """Shares of tokens; `entity_f1` counts tokens of the right type, `entity_any_f1` those of any."""
        if not self._tokens:
            raise TrainingError("there is no token to measure on")
        predicted, gold, right = (int(counts[1:].sum()) for counts in (self._predicted, self._gold, self._right))
        return {
            "pos_accuracy": self._pos / self._tokens,
            "ner_accuracy": self._ner / self._tokens,
            "entity_precision": right / max(1, predicted),
            "entity_recall": right / max(1, gold),
            "entity_f1": 2 * right / max(1, predicted + gold),
            "entity_any_f1": 2 * self._both / max(1, predicted + gold),
        }

    def by_type(self) -> dict[str, float]:
        """F1 of the tokens of each type of entity."""
        both = numpy.maximum(1, self._predicted + self._gold)
        return dict(zip(NER[1:], (2 * self._right / both)[1:].tolist(), strict=True))
