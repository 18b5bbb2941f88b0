"""The reader's training: questions over gold and hard negative passages, from gold alone or from a teacher too.

Material comes from `reader_data`. A microbatch names its pairs by number; their tokens are put together on the
device, where all of the material lies, so that a GPU never waits for Python.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import EncoderSettings, load_pretrained
from wherefrom.networks.reader import (
    HeadSettings,
    ReaderNetwork,
    ReaderOutput,
    best_spans,
    distillation_loss,
    relevance_loss,
    span_loss,
)
from wherefrom.origin import file_hash
from wherefrom.train.batching import LazyBatches, bucketed, moved
from wherefrom.train.seeds import seed_of
from wherefrom.train.task import TaskFacts

SQUAD, TEN_PASSAGES, QUOREF, NQ, WIKIQA = range(5)  # as reader_data numbers its sources


@dataclass(frozen=True, slots=True)
class ReaderTaskSettings:
    """What the reader sees and what it is asked for."""

    negatives: int = 2  # hard passages beside the gold one; more teach ranking, fewer leave time for reading
    max_tokens: int = 384  # question, title and passage; longer paragraphs lose their tail in training
    max_question: int = 64
    tokens: int = 32_768  # of a microbatch, padding included
    shares: Mapping[int, float] = field(default_factory=lambda: {TEN_PASSAGES: 0.5})  # of a source's examples an epoch
    title_dropout: float = 0.3  # many documents have no title
    relevance: float = 0.5  # weight of the relevance losses beside the span loss
    distillation: float = 0.0  # weight of the teacher's starts and ends; 0 trains on gold alone
    temperature: float = 2.0  # of the teacher: 1.5 to 2 shows its second guesses
    classify: int = 101  # [CLS]
    separate: int = 102  # [SEP]
    padding: int = 0  # [PAD]
    valid_paragraphs: int = 2000
    valid_questions: int = 600

    def __post_init__(self) -> None:
        if self.negatives < 0 or self.max_tokens < 16 or not 0.0 <= self.title_dropout <= 1.0:
            raise SettingsError("reader: negatives, max_tokens and title_dropout make no sense together")


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


@dataclass(frozen=True, slots=True)
class Sequences:
    """What a network reads."""

    tokens: Tensor  # (pairs, length)
    mask: Tensor  # (pairs, length) true at real tokens
    passage: Tensor  # (pairs, length) true at the passage's tokens
    types: Tensor  # (pairs, length)
    first: Tensor  # (pairs,) where the passage begins


class Material:
    """The tensors of `reader_data`, moved to the device that asks for them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._here = load_file(path)
        self._lists: dict[str, list[int]] = {}
        self._there: dict[str, Tensor] = {}
        self._device = torch.device("cpu")

    def __getitem__(self, name: str) -> Tensor:
        return self._here[name]

    def on(self, device: torch.device) -> Mapping[str, Tensor]:
        if device != self._device or not self._there:
            wanted = ("question_tokens", "question_starts", "title_tokens", "title_starts", "passage_tokens",
                      "passage_starts", "passage_title")  # fmt: skip
            self._there = {name: self._here[name].to(device) for name in wanted}
            self._device = device
        return self._there

    def numbers(self, name: str) -> list[int]:
        """A column as plain numbers, which Python reads a hundred times faster than a tensor's elements."""
        if name not in self._lists:
            self._lists[name] = self._here[name].tolist()
        return self._lists[name]

    def lengths(self, name: str) -> list[int]:
        """How many tokens each text has."""
        if name + " lengths" not in self._lists:
            starts = self._here[f"{name}_starts"]
            self._lists[name + " lengths"] = (starts[1:] - starts[:-1]).tolist()
        return self._lists[name + " lengths"]

    def spans(self, number: int) -> list[tuple[int, int]]:
        """First and last token of every answer of an example."""
        until = self.numbers("spans_until")
        spans = self.numbers("spans")
        return [(spans[place][0], spans[place][1]) for place in range(until[number], until[number + 1])]  # type: ignore[index]

    def others(self, number: int) -> list[int]:
        """The passages that do not answer an example's question."""
        until = self.numbers("others_until")
        return self.numbers("others")[until[number] : until[number + 1]]


def assembled(material: Mapping[str, Tensor], pairs: Pairs, settings: ReaderTaskSettings) -> Sequences:
    """`[CLS] question [SEP] title [SEP] passage [SEP]` for every pair; a pair without title has no second [SEP]."""
    device = pairs.question.device
    place = torch.arange(pairs.length, device=device)[None, :]  # (1, length)

    def piece(name: str, number: Tensor) -> tuple[Tensor, Tensor]:
        starts = material[f"{name}_starts"]
        return starts[number].long()[:, None], (starts[number + 1] - starts[number]).long()[:, None]

    question, asked = piece("question", pairs.question)  # (pairs, 1) each: where it lies, how long it is
    asked = asked.clamp(max=settings.max_question)
    title, named = piece("title", material["passage_title"][pairs.passage].long())
    named = torch.where(pairs.titled[:, None], named, 0)
    passage, told = piece("passage", pairs.passage)
    title_at = asked + 2
    passage_at = title_at + named + (named > 0)
    told = torch.minimum(told, pairs.length - passage_at - 1)
    last = passage_at + told  # the closing [SEP]

    def taken(name: str, begin: Tensor, at: Tensor) -> Tensor:
        tokens = material[f"{name}_tokens"]
        return tokens[(begin + place - at).clamp(0, len(tokens) - 1)].long()

    inside = (place >= passage_at) & (place < last)
    tokens = torch.full((len(pairs.question), pairs.length), settings.padding, device=device)
    tokens = torch.where((place >= 1) & (place <= asked), taken("question", question, torch.ones_like(asked)), tokens)
    tokens = torch.where((place >= title_at) & (place < title_at + named), taken("title", title, title_at), tokens)
    tokens = torch.where(inside, taken("passage", passage, passage_at), tokens)
    separators = (place == asked + 1) | ((place == passage_at - 1) & (named > 0)) | (place == last)
    tokens = torch.where(separators, settings.separate, tokens)
    tokens = torch.where(place == 0, settings.classify, tokens)
    mask = place <= last
    return Sequences(tokens, mask, inside, ((place > asked + 1) & mask).long(), passage_at.squeeze(1))


class ReaderTask:
    """Trains a `ReaderNetwork`; with a teacher, on its opinions too."""

    def __init__(
        self,
        material: Path,
        encoder: EncoderSettings,
        pretrained: Path | None,
        settings: ReaderTaskSettings | None = None,
        teacher: ReaderNetwork | None = None,
        teacher_tokens: Tensor | None = None,
        heads: HeadSettings | None = None,
        own_tokens: Tensor | None = None,
    ) -> None:
        """`teacher_tokens` and `own_tokens` map the material's token ids to another vocabulary's."""
        self.settings = settings or ReaderTaskSettings()
        self._material = Material(material)
        self._encoder = encoder
        self._heads = heads
        self._pretrained = pretrained
        self._teacher = teacher.eval() if teacher else None
        self._teacher_tokens = teacher_tokens
        self._own_tokens = own_tokens
        if self.settings.distillation and teacher is None:
            raise SettingsError("reader.distillation needs a teacher")

    def facts(self) -> TaskFacts:
        data = {self._material.path.name: file_hash(self._material.path)}
        settings = asdict(self.settings)
        settings["shares"] = {str(source): share for source, share in self.settings.shares.items()}
        return TaskFacts("reader", data, settings)

    def model(self) -> ReaderNetwork:
        network = ReaderNetwork(self._encoder, self._heads)
        if self._pretrained is not None:
            load_pretrained(network.encoder, self._pretrained)
        return network

    def size(self, batch: Pairs) -> int:
        return batch.groups

    def batches(self, epoch: int, seed: int) -> LazyBatches[Pairs]:
        chance = random.Random(seed_of("reader", seed, epoch))
        valid, source = self._material.numbers("valid"), self._material.numbers("source")
        gold = self._material.numbers("gold")
        groups: list[tuple[int, list[int]]] = []
        for number in range(len(valid)):
            if valid[number] or chance.random() >= self.settings.shares.get(source[number], 1.0):
                continue
            others = self._material.others(number)
            wanted = self.settings.negatives + (gold[number] < 0)
            drawn = chance.sample(others, min(wanted, len(others)))
            groups.append((number, [gold[number], *drawn] if gold[number] >= 0 else drawn))
        groups = [group for group in groups if group[1]]
        lengths = self._lengths(groups)
        totals = [max(length) * len(length) for length in lengths]
        plan = bucketed(totals, epoch=epoch, seed=seed, tokens=self.settings.tokens)
        titles = [chance.random() >= self.settings.title_dropout for _ in groups]

        def make(places: Sequence[int]) -> Pairs:
            return self._pairs([groups[place] for place in places], [titles[place] for place in places])

        return LazyBatches(plan, make)

    def loss(self, model: ReaderNetwork, batch: Pairs) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        settings = self.settings
        sequences = assembled(self._material.on(batch.question.device), batch, settings)
        output = self._read(model, sequences, self._own_tokens)
        starts, ends = _gold_masks(batch, sequences)
        span = span_loss(output, starts, ends, batch.group, batch.groups)
        point = relevance_loss(output.relevance, batch.relevant, batch.group, batch.groups, "point")
        order = relevance_loss(output.relevance, batch.relevant, batch.group, batch.groups, "list")
        total = span + settings.relevance * (point + order)
        parts: dict[str, Tensor | float] = {"span": span.detach(), "relevance": (point + order).detach()}
        if self._teacher is not None and settings.distillation:
            with torch.no_grad():
                told = self._read(self._teacher.to(batch.question.device), sequences, self._teacher_tokens)
            learned = distillation_loss(
                output, told, sequences.passage, batch.group, batch.groups, settings.temperature
            )
            soft = relevance_loss(output.relevance, torch.sigmoid(told.relevance), batch.group, batch.groups, "point")
            total = total + settings.distillation * (learned + settings.relevance * soft)
            parts |= {"distillation": learned.detach(), "soft relevance": soft.detach()}
        return total, parts

    def evaluate(self, model: ReaderNetwork) -> Mapping[str, float]:
        """Token-level exact match and F1 on whole paragraphs; on ten passages, whether the gold one comes first."""
        device = next(model.parameters()).device
        valid, source = self._material["valid"], self._material["source"]
        gold = self._material["gold"]
        paragraphs = _some(torch.where((valid == 1) & (source == SQUAD))[0], self.settings.valid_paragraphs)
        exact, overlap = self._span_scores(model, paragraphs, device)
        asked = _some(
            torch.where((valid == 1) & (source == TEN_PASSAGES) & (gold >= 0))[0], self.settings.valid_questions
        )
        first = self._gold_first(model, asked, device)
        return {"em": 100 * exact, "f1": 100 * overlap, "p_1": 100 * first, "score": 100 * overlap + 20 * first}

    # Inside.

    def _read(self, network: ReaderNetwork, sequences: Sequences, tokens: Tensor | None) -> ReaderOutput:
        read = sequences.tokens if tokens is None else tokens.to(sequences.tokens.device)[sequences.tokens]
        output: ReaderOutput = network(read, sequences.mask, sequences.passage, sequences.types)
        return output

    def _lengths(self, groups: Sequence[tuple[int, Sequence[int]]]) -> list[list[int]]:
        """Tokens of every pair, with its title, at most `max_tokens`."""
        question, passage = self._material.lengths("question"), self._material.lengths("passage")
        title, titles = self._material.lengths("title"), self._material.numbers("passage_title")
        asked = self._material.numbers("question")
        most, longest = self.settings.max_tokens, self.settings.max_question
        return [
            [
                min(most, min(question[asked[number]], longest) + title[titles[other]] + passage[other] + 4)
                for other in passages
            ]
            for number, passages in groups
        ]

    def _pairs(self, groups: Sequence[tuple[int, Sequence[int]]], titled: Sequence[bool]) -> Pairs:
        asked, gold = self._material.numbers("question"), self._material.numbers("gold")
        question: list[int] = []
        passage: list[int] = []
        shown: list[bool] = []
        group: list[int] = []
        relevant: list[bool] = []
        golds: list[tuple[int, int, int]] = []
        for place, ((number, passages), title) in enumerate(zip(groups, titled, strict=True)):
            for other in passages:
                right = other == gold[number]
                if right:
                    golds += [(len(question), first, last) for first, last in self._material.spans(number)]
                question.append(asked[number])
                passage.append(other)
                shown.append(title)
                group.append(place)
                relevant.append(right)
        return Pairs(
            torch.tensor(question),
            torch.tensor(passage),
            torch.tensor(shown),
            torch.tensor(group),
            torch.tensor(golds, dtype=torch.long).reshape(-1, 3),
            torch.tensor(relevant),
            len(groups),
            max(max(lengths) for lengths in self._lengths(groups)),
        )

    def _span_scores(self, model: ReaderNetwork, numbers: Sequence[int], device: torch.device) -> tuple[float, float]:
        exact = overlap = 0.0
        gold, lengths = self._material.numbers("gold"), self._material.lengths("passage")
        ordered = sorted(numbers, key=lambda number: lengths[gold[number]])
        for begin in range(0, len(ordered), 64):
            some = ordered[begin : begin + 64]
            pairs = moved(self._pairs([(number, [gold[number]]) for number in some], [True] * len(some)), device)
            sequences = assembled(self._material.on(device), pairs, self.settings)
            output = self._read(model, sequences, self._own_tokens)
            found = best_spans(output.start, output.end, 30, 1)
            starts = (found.start[:, 0] - sequences.first).tolist()
            ends = (found.end[:, 0] - sequences.first).tolist()
            for number, start, end in zip(some, starts, ends, strict=True):
                right = self._material.spans(number)
                exact += (start, end) in right
                overlap += max(_overlap(start, end, a, b) for a, b in right)
        return exact / max(len(numbers), 1), overlap / max(len(numbers), 1)

    def _gold_first(self, model: ReaderNetwork, numbers: Sequence[int], device: torch.device) -> float:
        right = 0
        gold = self._material.numbers("gold")
        for begin in range(0, len(numbers), 16):
            some = numbers[begin : begin + 16]
            groups = [(number, [gold[number], *self._material.others(number)]) for number in some]
            pairs = moved(self._pairs(groups, [True] * len(groups)), device)
            sequences = assembled(self._material.on(device), pairs, self.settings)
            relevance = self._read(model, sequences, self._own_tokens).relevance.tolist()
            at = 0
            for _, passages in groups:
                right += max(relevance[at : at + len(passages)]) == relevance[at]
                at += len(passages)
        return right / max(len(numbers), 1)


def _gold_masks(batch: Pairs, sequences: Sequences) -> tuple[Tensor, Tensor]:
    """True where an answer starts, and where one ends; answers beyond the cut are lost."""
    starts = torch.zeros_like(sequences.mask)
    ends = torch.zeros_like(sequences.mask)
    if len(batch.gold):
        pair, first, last = batch.gold.unbind(1)
        begin = sequences.first[pair]
        fits = begin + last < batch.length
        pair, first, last, begin = pair[fits], first[fits], last[fits], begin[fits]
        starts[pair, begin + first] = True
        ends[pair, begin + last] = True
    return starts & sequences.passage, ends & sequences.passage


def _overlap(a: int, b: int, c: int, d: int) -> float:
    """F1 of two token spans, ends included."""
    shared = min(b, d) - max(a, c) + 1
    return 2 * shared / ((b - a + 1) + (d - c + 1)) if shared > 0 else 0.0


def _some(numbers: Tensor, most: int) -> list[int]:
    """At most so many, evenly spread."""
    listed: list[int] = numbers.tolist()
    return listed if len(listed) <= most else [listed[place * len(listed) // most] for place in range(most)]
