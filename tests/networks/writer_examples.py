"""Eight made-up questions with passages and answers, for the networks that write, and such networks in small."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.writer import PassageNetwork, QuestionPassages, TargetAnswers, TokenSequences, WordpieceSettings
from wherefrom.systems.masque.network import MasqueNetwork, MasqueSettings, masque
from wherefrom.systems.writer.network import WriterNetwork, WriterNetworkSettings

Settings = MasqueSettings | WriterNetworkSettings

WORDS = WordpieceSettings(words=40, padding=0, unknown=3, classify=4, end=5)  # styles are 1 and 2, plain words 6 to 39
PRETRAINED = EncoderSettings(
    "bert", words=40, width=16, layers=2, heads=2, inner=24, positions=64, types=2, dropout=0.0, attention_dropout=0.0
)
SMALL: dict[str, Any] = {
    "words": WORDS,
    "pretrained": PRETRAINED,
    "heads": 2,
    "inner": 24,
    "decoder_layers": 2,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "embedding_dropout": 0.0,
    "positive_label": 1.0,
}
SEPARATE: dict[str, Any] = {
    "width": 16,
    "embedding": 12,
    "shared_layers": 1,
    "passage_layers": 2,
    "question_layers": 1,
    "dual_dropout": 0.0,
    "highway_dropout": 0.0,
}
COMMON = torch.arange(39, 5, -1)

MASQUE = masque(**SMALL, **SEPARATE, vocabulary=10, passages=3)
PREAST = MasqueSettings(**SMALL, **SEPARATE)
WRITER = WriterNetworkSettings(**SMALL, vocabulary=len(COMMON))
NETWORKS = {"masque": MASQUE, "preast": PREAST, "writer": WRITER}


def network(settings: Settings, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    if isinstance(settings, WriterNetworkSettings):
        return WriterNetwork(settings, COMMON)
    return MasqueNetwork(settings, COMMON if settings.vocabulary else None)


def lively(settings: Settings, seed: int = 0) -> Any:
    """A network whose weights are large enough for every part of it to show in the output."""
    made = network(settings, seed).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.4)
    return made


class Example:
    """Token lists of one question."""

    def __init__(self, seed: int, passages: int) -> None:
        chance = random.Random(seed)
        self.question = [chance.randrange(6, 40) for _ in range(chance.randint(2, 4))]
        self.passages = [[chance.randrange(6, 40) for _ in range(chance.randint(3, 6))] for _ in range(passages)]
        self.answerable = seed % 4 != 3
        self.relevant = [self.answerable and place == seed % passages for place in range(passages)]
        self.short = self.passages[seed % passages][:2]
        self.style = 1 + seed % 2
        self.answer = self.short if self.style == 1 else [self.question[0], *self.short, 30 + seed]
        self.target = [*self.answer, WORDS.end]


def examples(count: int = 8) -> list[Example]:
    return [Example(seed, passages=1 + seed % 3) for seed in range(count)]


def padded(rows: Sequence[Sequence[int]], length: int = 0) -> tuple[Tensor, Tensor]:
    """(rows, length) and its mask."""
    length = max(length, 1, *(len(row) for row in rows))
    tokens = torch.tensor([[*row, *[WORDS.padding] * (length - len(row))] for row in rows])
    return tokens, torch.arange(length)[None, :] < torch.tensor([[len(row)] for row in rows])


def reading(
    given: Sequence[Example], settings: Settings, more_passages: int = 0, more_places: int = 0
) -> QuestionPassages:
    """The batch, with so much more padding than it needs."""
    count = max(len(example.passages) for example in given) + more_passages
    question, question_mask = padded([example.question for example in given])
    question = torch.nn.functional.pad(question, (0, more_places))
    question_mask = torch.nn.functional.pad(question_mask, (0, more_places))
    together = isinstance(settings, WriterNetworkSettings)

    def rows(example: Example) -> list[list[int]]:
        texts = [
            [WORDS.classify, *example.question, WORDS.end, *passage, WORDS.end]
            if together
            else [WORDS.classify, *passage]
            for passage in example.passages
        ]
        return texts + [[]] * (count - len(texts))

    longest = max(len(row) for example in given for row in rows(example)) + more_places
    tokens, mask = (
        torch.stack(parts) for parts in zip(*(padded(rows(example), longest) for example in given), strict=True)
    )
    place = torch.arange(longest)[None, None, :]
    begin = torch.tensor([len(example.question) + 2 if together else 1 for example in given])[:, None, None]
    last = mask.sum(dim=-1, keepdim=True) - 1
    copyable = (place >= begin) & mask & ((place < last) if together else torch.tensor(True))
    types = (place >= begin).long() * mask
    gold = torch.tensor([[*example.relevant, *[False] * (count - len(example.relevant))] for example in given])
    answer = None
    if together:
        pairs = [[WORDS.classify, *one.question, WORDS.end, *one.short, WORDS.end] for one in given]
        tokens_of_answer, answer_mask = padded(pairs, max(map(len, pairs)) + more_places)
        at = torch.arange(tokens_of_answer.shape[1])[None, :]
        inside = (at >= begin[:, :, 0]) & (at < answer_mask.sum(dim=1, keepdim=True) - 1)
        answer = TokenSequences(tokens_of_answer, answer_mask, inside, (at >= begin[:, :, 0]).long() * answer_mask)
    passages = TokenSequences(tokens, mask, copyable, types if together else None)
    return QuestionPassages(question, question_mask, passages, gold, answer)


def answers(given: Sequence[Example], more_passages: int = 0) -> TargetAnswers:
    target, mask = padded([example.target for example in given])
    count = max(len(example.passages) for example in given) + more_passages
    return TargetAnswers(
        target,
        mask,
        torch.tensor([example.style for example in given]),
        torch.tensor([example.answerable for example in given]),
        torch.tensor([[*example.relevant, *[False] * (count - len(example.relevant))] for example in given]),
    )


def learn(made: nn.Module, loss: Callable[[], Tensor], steps: int, rate: float) -> list[float]:
    """Its losses while it learns, as the sources train: warm-up, decay, clipped gradients."""
    parameters = [part for part in made.parameters() if part.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 15, 2.5 * (steps - step) / steps)
    )
    losses = []
    for _ in range(steps):
        total = loss()
        optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        losses.append(total.item())
    return losses


def fitted(settings: Settings, steps: int, rate: float = 5e-3) -> tuple[Any, list[float]]:
    """A network that has seen the eight examples so often."""
    made: PassageNetwork = network(settings).train()
    batch, wanted = reading(examples(), settings), answers(examples())
    losses = learn(made, lambda: made.loss(batch, wanted)[0], steps, rate)
    return made.eval(), losses


def shapes(made: nn.Module) -> dict[str, int]:
    """How many tensors of each name and shape it has, `#` standing for the numbers of layers and sources."""
    parts = made.state_dict().items()
    return dict(Counter(f"{re.sub('[0-9]+', '#', name)} {'x'.join(map(str, part.shape))}" for name, part in parts))
