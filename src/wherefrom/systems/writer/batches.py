"""The writer's microbatches: named by number, put together from tokens on the device.

Drawn by `writer_sampling`. All of the material lies on the device, so that a GPU never waits for Python. There are four
views of a microbatch: question and passage as one sequence (`joint`), apart (`separate`), what the decoder says
(`decoded`), and the short answer as a source of its own (`short_answers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.train.material import BertLayout, Pairs, Sequences, assembled
from wherefrom.write.marks import Marks

Rule = Literal["gold-first", "random", "every", "sentence"]


@dataclass(frozen=True, slots=True)
class WriterBatchSettings:
    """What a microbatch holds."""

    passages: int = 10  # a question; 5 train twice as fast
    styles: Rule = "gold-first"  # PREAST: a gold sentence if there is one, else short or synthetic by a toss;
    # "random" (Masque): one of the styles there are; "every": short and sentence from one reading of the passages;
    # "sentence": that style alone, from gold (Masque's single-style comparison), beside NarrativeQA's own style
    quota: tuple[int, int] | None = (27, 44)  # PREAST: so many answerable of so many questions
    removed: float = 0.15  # without a quota: how often a gold passage is taken out
    put_back: bool = True  # gold passages that the ten-passage set left out: a third of all answers
    shares: Mapping[int, float] = field(default_factory=dict)  # of a source's examples an epoch
    subset: float = 1.0  # of each source's examples, always the same ones: how much data is needed?
    title_dropout: float = 0.3  # many documents have no title
    tokens: int = 65_536  # of a microbatch's passages, padding included
    size: int = 0  # questions of a microbatch, in place of `tokens`
    window: int = 50  # microbatches that are sorted by length together
    max_tokens: int = 256  # question, title and passage
    max_question: int = 64  # PREAST: 40 words
    max_passage: int = 200  # where it is read apart from the question, with its title; PREAST: 100 words
    max_target: int = 64  # of an answer with its end; a longer one loses its end
    max_context: int = 120  # of the sentences around an answer, for style transfer
    marks: Marks = field(default_factory=Marks)

    def __post_init__(self) -> None:
        if self.passages < 1 or self.max_target < 2 or self.max_tokens < self.max_question + 16:
            raise SettingsError("writer: passages, max_target, max_question and max_tokens make no sense together")
        if not 0 < self.subset <= 1:
            raise SettingsError(f"writer: subset is {self.subset}; it must be above 0 and at most 1")
        if self.quota is not None and not 0 < self.quota[0] <= self.quota[1]:
            raise SettingsError(f"writer: quota {self.quota} must be (answerable, of so many)")
        if (self.tokens > 0) == (self.size > 0):
            raise SettingsError("writer: microbatches need either a size or a token budget")

    def reading(self) -> BertLayout:
        """What `assembled` goes by."""
        return BertLayout(
            max_question=self.max_question,
            classify=self.marks.classify,
            separate=self.marks.separate,
            padding=self.marks.padding,
        )


@dataclass(frozen=True, slots=True)
class WriterBatch:
    """A microbatch: questions with their passages, and what is to be written about them."""

    pairs: Pairs  # every passage with its question, question by question
    slot: Tensor  # (pairs,) place of a passage among its question's
    weak: Tensor  # (pairs,) whether a passage without label probably holds the answer
    example: Tensor  # (questions,)
    question: Tensor  # (questions,)
    answerable: Tensor  # (questions,)
    labelled: Tensor  # (questions,) whether relevance and answerability are known
    row: Tensor  # (rows,) which question of the microbatch an answer is about
    style: Tensor  # (rows,) the token that begins it
    target: Tensor  # (rows,) its text
    answer: Tensor  # (rows,) the text of its question's short answer
    slots: int  # passages a question, at most
    question_length: int
    passage_length: int  # with [CLS] and title
    target_length: int  # with the end
    answer_length: int


@dataclass(frozen=True, slots=True)
class Joint:
    """Question and passage as one sequence."""

    sequences: Sequences
    asked: Tensor  # (pairs, length) true at the question's tokens


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of one kind, padded."""

    tokens: Tensor  # (..., length)
    mask: Tensor  # (..., length) true at real tokens


@dataclass(frozen=True, slots=True)
class Separate:
    """Questions and passages apart, for encoders that join them by attention."""

    question: Texts  # (questions, length)
    passages: Texts  # (questions, slots, length): [CLS], title [SEP], passage; a missing one is [CLS] alone
    copyable: Tensor  # (questions, slots, length) true at the passage's own tokens
    real: Tensor  # (questions, slots) false where there was no passage
    first: Tensor  # (questions, slots) where the passage's own tokens begin


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a decoder is given and what it should say."""

    inputs: Tensor  # (rows, length): style, then the answer
    targets: Tensor  # (rows, length): the answer, then the end
    mask: Tensor  # (rows, length)


def joint(material: Mapping[str, Tensor], batch: WriterBatch, settings: WriterBatchSettings) -> Joint:
    """`[CLS] question [SEP] title [SEP] passage [SEP]` for every pair, as the reader has it."""
    sequences = assembled(material, batch.pairs, settings.reading())
    starts, number = material["question_starts"], batch.pairs.question
    asked = (starts[number + 1] - starts[number]).long().clamp(max=settings.max_question)[:, None]  # (pairs, 1)
    place = torch.arange(batch.pairs.length, device=number.device)[None, :]
    return Joint(sequences, (place >= 1) & (place <= asked))


def separate(material: Mapping[str, Tensor], batch: WriterBatch, settings: WriterBatchSettings) -> Separate:
    """Question tokens, and `[CLS] title [SEP] passage` for every passage; one without title has no [SEP]."""
    marks, pairs = settings.marks, batch.pairs
    device, length = pairs.question.device, batch.passage_length
    place = torch.arange(length, device=device)[None, :]  # (1, length)
    title, named = _piece(material, "title", material["passage_title"][pairs.passage].long())
    named = torch.where(pairs.titled[:, None], named, 0)
    passage, told = _piece(material, "passage", pairs.passage)
    begin = 1 + named + (named > 0)  # (pairs, 1)
    told = torch.minimum(told, length - begin)
    inside = (place >= begin) & (place < begin + told)
    tokens = torch.full((len(pairs.passage), length), marks.padding, device=device)
    tokens = torch.where((place >= 1) & (place <= named), _taken(material, "title", title + place - 1), tokens)
    tokens = torch.where((place == begin - 1) & (named > 0), marks.separate, tokens)
    tokens = torch.where(inside, _taken(material, "passage", passage + place - begin), tokens)
    tokens = torch.where(place == 0, marks.classify, tokens)
    at = (pairs.group, batch.slot)
    shape = (pairs.groups, batch.slots)
    missing = torch.where(place == 0, marks.classify, marks.padding).expand(*shape, length)
    return Separate(
        question=texts(material, "question", batch.question, batch.question_length, settings.marks.padding),
        passages=Texts(
            missing.index_put(at, tokens), (place == 0).expand(*shape, length).index_put(at, place < begin + told)
        ),
        copyable=torch.zeros(*shape, length, dtype=torch.bool, device=device).index_put(at, inside),
        real=torch.zeros(shape, dtype=torch.bool, device=device).index_put(at, torch.ones_like(pairs.relevant)),
        first=torch.ones(shape, dtype=torch.long, device=device).index_put(at, begin.squeeze(1)),
    )


class Written(Protocol):
    """What a decoder is to write, in whatever microbatch."""

    @property
    def style(self) -> Tensor: ...
    @property
    def target(self) -> Tensor: ...
    @property
    def target_length(self) -> int: ...


def decoded(material: Mapping[str, Tensor], batch: Written, settings: WriterBatchSettings) -> Decoded:
    """Decoder inputs and targets; an answer of `max_target` tokens and more has no end."""
    padding = settings.marks.padding
    place = torch.arange(batch.target_length, device=batch.target.device)[None, :]  # (1, length)
    begin, count = _piece(material, "target", batch.target)  # (rows, 1) each
    said = _taken(material, "target", begin + place)
    targets = torch.where(place < count, said, torch.where(place == count, settings.marks.end, padding))
    mask = place <= count
    before = _taken(material, "target", begin + place - 1)
    inputs = torch.where(place == 0, batch.style[:, None], torch.where(mask, before, padding))
    return Decoded(inputs, targets, mask)


def short_answers(material: Mapping[str, Tensor], batch: WriterBatch, settings: WriterBatchSettings) -> Texts:
    """The short answer of every row, (rows, length): a source for writers that are told what to say."""
    return texts(material, "target", batch.answer, batch.answer_length, settings.marks.padding)


def texts(
    material: Mapping[str, Tensor],
    name: str,
    number: Tensor,
    length: int,
    padding: int,
    begin: Tensor | None = None,
    end: Tensor | None = None,
) -> Texts:
    """Texts by number, (rows, length), or the tokens from `begin` to `end` of each; an empty text for number -1."""
    place = torch.arange(length, device=number.device)[None, :]
    start, count = _piece(material, name, number.clamp(min=0))
    if begin is not None and end is not None:
        start, count = start + begin[:, None], (end - begin)[:, None]
    mask = (place < count) & (number >= 0)[:, None]
    return Texts(torch.where(mask, _taken(material, name, start + place), padding), mask)


def _piece(material: Mapping[str, Tensor], name: str, number: Tensor) -> tuple[Tensor, Tensor]:
    """Where texts lie and how long they are, (rows, 1) each."""
    starts = material[f"{name}_starts"]
    return starts[number].long()[:, None], (starts[number + 1] - starts[number]).long()[:, None]


def _taken(material: Mapping[str, Tensor], name: str, place: Tensor) -> Tensor:
    tokens = material[f"{name}_tokens"]
    return tokens[place.clamp(0, len(tokens) - 1)].long()
