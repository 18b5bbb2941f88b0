"""A task so small that training it takes a second, with everything that makes resuming and sharing hard.

Sequences of uneven length, dropout, random numbers in the loss, a batch norm (buffers that change), a head that some
microbatches leave without a gradient, and a tied parameter.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from wherefrom.train.batching import LazyBatches, bucketed
from wherefrom.train.loop import LoopSettings, fit
from wherefrom.train.progress import Progress
from wherefrom.train.task import TaskFacts

WORDS = 20

# Children are forked from a server that has imported these, which take seconds, once.
PRELOAD = ["torch", "torch._dynamo", "torch.distributed", "train.tiny"]


class TinyNetwork(nn.Module):
    def __init__(self, dropout: float, batch_norm: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 8, padding_idx=0)
        self.encoder = nn.Linear(8, 8)
        self.dropout = nn.Dropout(dropout)
        self.norm: nn.Module = nn.BatchNorm1d(8) if batch_norm else nn.LayerNorm(8)
        self.head = nn.Linear(8, 2)
        self.rare_head = nn.Linear(8, 2)
        self.output = nn.Linear(8, WORDS, bias=False)
        self.output.weight = self.embedding.weight

    def encode(self, words: Tensor) -> Tensor:
        """(batch, length) -> (batch, width)"""
        mask = (words != 0).unsqueeze(-1)
        mean = (self.embedding(words) * mask).sum(1) / mask.sum(1)
        hidden: Tensor = self.norm(self.dropout(torch.tanh(self.encoder(mean))))
        return hidden


@dataclass(frozen=True, slots=True)
class TinyBatch:
    words: Tensor  # (batch, length)
    labels: Tensor  # (batch,)


@dataclass(frozen=True, slots=True)
class Tiny:
    """Are the words small numbers on average?"""

    examples: int = 48
    batch: int = 5
    dropout: float = 0.2
    batch_norm: bool = False
    tricky: bool = True  # random numbers in the loss, and the head without a gradient
    poison: int | None = None  # this example's loss is no number

    def facts(self) -> TaskFacts:
        return TaskFacts("tiny", {"made up": f"sha256 of {self.examples} examples"}, {"dropout": self.dropout})

    def model(self) -> TinyNetwork:
        return TinyNetwork(self.dropout, self.batch_norm)

    def data(self) -> list[tuple[list[int], int]]:
        generator = random.Random(7)
        sequences = [
            [generator.randrange(1, WORDS) for _ in range(generator.randrange(2, 7))] for _ in range(self.examples)
        ]
        return [(words, int(sum(words) / len(words) < WORDS / 2)) for words in sequences]

    def batches(self, epoch: int, seed: int) -> LazyBatches[TinyBatch]:
        data = self.data()
        plan = bucketed([len(words) for words, _ in data], epoch=epoch, seed=seed, size=self.batch)

        def make(positions: Sequence[int]) -> TinyBatch:
            poisoned = self.poison is not None and self.poison in positions
            return _collated([data[p] for p in positions], -1 if poisoned else None)

        return LazyBatches(plan, make)

    def size(self, batch: TinyBatch) -> int:
        return len(batch.labels)

    def loss(self, model: TinyNetwork, batch: TinyBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        hidden = model.encode(batch.words)
        loss = nn.functional.cross_entropy(model.head(hidden), batch.labels.abs())
        if batch.labels.min() < 0:
            loss = loss * float("nan")
        if not self.tricky:
            return loss, {}
        loss = loss * (1 + 0.1 * random.random())
        if int(batch.words[0, 0]) % 3 == 0:
            rare = nn.functional.cross_entropy(model.rare_head(hidden), batch.labels.abs())
            return loss + 0.1 * rare, {"rare": rare}
        return loss, {"words": float(batch.words.shape[1])}

    def evaluate(self, model: TinyNetwork) -> Mapping[str, float]:
        assert not model.training
        assert not torch.is_grad_enabled()
        batch = _collated(self.data(), None)
        device = model.head.weight.device
        scores = model.head(model.encode(batch.words.to(device)))
        labels = batch.labels.to(device)
        right = (scores.argmax(1) == labels).float().mean().item()
        return {"accuracy": right, "loss": nn.functional.cross_entropy(scores, labels).item()}


def _collated(examples: Iterable[tuple[list[int], int]], poisoned: int | None) -> TinyBatch:
    examples = list(examples)
    longest = max(len(words) for words, _ in examples)
    words = torch.tensor([words + [0] * (longest - len(words)) for words, _ in examples])
    labels = torch.tensor([label for _, label in examples])
    return TinyBatch(words, labels if poisoned is None else torch.full_like(labels, poisoned))


def train(task: Tiny, settings: LoopSettings, folder: Path) -> list[Progress]:
    """All reports of one training."""
    torch.set_num_threads(1)
    return list(fit(task, settings, folder))


def train_as(rank: int, count: int, port: int, task: Tiny, settings: LoopSettings, folder: Path) -> None:
    """One of several processes, with the environment that `torchrun` would give; notes how often it reported."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ |= {name: str(value) for name, value in place.items()}
    reports = train(task, settings, folder)
    (folder / f"reports-{rank}").write_text(str(len(reports)))
