"""What a training of QR-BERTSUM fits: sentences of the reference, or its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

import torch
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.metrics.rouge import Kind, rouge
from wherefrom.networks.encoder import load_pretrained
from wherefrom.systems.bertsum.material import (
    BEGIN,
    CLASSIFY,
    PADDING,
    SEPARATE,
    UNKNOWN,
    Encoded,
    SummaryBatch,
    batch_of,
)
from wherefrom.systems.bertsum.network import BertsumNetwork, BertsumSettings, beam_search
from wherefrom.train.batching import LazyBatches, bucketed
from wherefrom.train.checkpoint import load_weights
from wherefrom.train.task import TaskFacts

Goal = Literal["extract", "write"]
KINDS: tuple[Kind, ...] = ("1", "2", "L")
_WATCHED = 64  # summaries that are written to watch a training; it is kept by its loss


@dataclass(frozen=True, slots=True)
class BertsumTaskSettings:
    """How examples are put together, and how a summary is searched for."""

    batch: int = 32  # examples a microbatch
    document_tokens: int = 100
    summary_tokens: int = 25  # written at most, as in the source
    target_tokens: int = 64  # learnt from at most
    beam: int = 5

    def __post_init__(self) -> None:
        if min(self.batch, self.document_tokens, self.summary_tokens, self.target_tokens, self.beam) < 1:
            raise SettingsError("batch, document_tokens, summary_tokens, target_tokens and beam must be above 0")


class BertsumTask:
    """`start` is a training's weights to go on from, `encoder` the pretrained encoder's; neither begins afresh."""

    def __init__(
        self,
        goal: Goal,
        train: Sequence[Encoded],
        valid: Sequence[Encoded],
        network: BertsumSettings,
        settings: BertsumTaskSettings,
        data: Mapping[str, str],
        encoder: Path | None = None,
        start: Path | None = None,
    ) -> None:
        self._goal, self._train, self._valid = goal, train, valid
        self._network, self._settings, self._data = network, settings, data
        self._encoder, self._start = encoder, start

    def facts(self) -> TaskFacts:
        settings = {"goal": self._goal, "network": asdict(self._network), "task": asdict(self._settings)}
        return TaskFacts("bertsum", self._data, {**settings, "examples": len(self._train)})

    def model(self) -> BertsumNetwork:
        network = BertsumNetwork(self._network, BEGIN, PADDING)
        if self._start is not None:
            load_weights(network, self._start)
        elif self._encoder is not None:
            load_pretrained(network.encoder, self._encoder)
            network.take_words()
        return network

    def batches(self, epoch: int, seed: int) -> LazyBatches[SummaryBatch]:
        lengths = [len(each.tokens) + len(each.target) for each in self._train]
        plan = bucketed(lengths, epoch=epoch, seed=seed, size=self._settings.batch)
        return LazyBatches(plan, lambda places: batch_of([self._train[place] for place in places]))

    def size(self, batch: SummaryBatch) -> int:
        """Tokens that are written, or sentences that are judged."""
        counted = batch.target != PADDING if self._goal == "write" else batch.given.sentence_mask
        return max(1, int(counted.sum()))

    def loss(self, model: BertsumNetwork, batch: SummaryBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        if self._goal == "write":
            return model.writing_loss(batch.given, batch.target), {}
        return model.extraction_loss(batch.given, batch.labels), {}

    def evaluate(self, model: BertsumNetwork) -> Mapping[str, float]:
        """The loss on what is held out, and of its first examples also how often the first sentence is right."""
        device = next(model.parameters()).device
        losses: list[float] = []
        right: list[float] = []
        for begin in range(0, len(self._valid), self._settings.batch):
            batch = _on(batch_of(self._valid[begin : begin + self._settings.batch]), device)
            losses.append(float(self.loss(model, batch)[0]))
            if self._goal == "extract":
                first = model.extract(batch.given).argmax(dim=1, keepdim=True)
                right += batch.labels.gather(1, first).flatten().tolist()
        metrics = {"loss_valid": fmean(losses) if losses else 0.0}
        return {**metrics, "first_right": 100 * fmean(right)} if right else metrics

    def written(self, model: BertsumNetwork, examples: Sequence[Encoded]) -> list[tuple[int, ...]]:
        """Summaries in wordpieces, by beam search."""
        device = next(model.parameters()).device
        summaries: list[tuple[int, ...]] = []
        settings = self._settings
        for begin in range(0, len(examples), settings.batch):
            given = _on(batch_of(examples[begin : begin + settings.batch]), device).given
            forbidden = (PADDING, UNKNOWN, CLASSIFY, BEGIN)
            summaries += beam_search(model, given, SEPARATE, forbidden, settings.beam, settings.summary_tokens)
        return summaries


def rouge_of(texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Recall, precision and F of ROUGE-1, -2 and -L, means over the texts; shares from 0 to 1."""
    scores = [rouge(text, [reference], KINDS) for text, reference in zip(texts, references, strict=True)]
    figures: dict[str, float] = {}
    for kind in KINDS:
        for letter, name in (("r", "recall"), ("p", "precision"), ("f", "f")):
            figures[f"rouge_{kind.lower()}_{letter}"] = fmean(getattr(score[kind], name) for score in scores)
    return figures


def _on(batch: SummaryBatch, device: torch.device) -> SummaryBatch:
    from wherefrom.train.batching import moved

    there: SummaryBatch = moved(batch, device)
    return there
