"""Microbatches for writing: named by number, put together from tokens on the device.

Drawn by `sampling`. All of the material lies on the device, so that a GPU never waits for Python. There are four views
of a microbatch: question and passage as one sequence (`joint`), apart (`separate`), what the decoder writes
(`decoder_targets`), and the short answer as a source of its own (`short_answers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.train.material import BertLayout, Pairs, Sequences, assembled
from wherefrom.train.writing.sources import check_shares
from wherefrom.write.marks import Marks

StyleRule = Literal["gold-first", "random", "every", "sentence"]


@dataclass(frozen=True, slots=True)
class WriterBatchSettings:
    """What a microbatch holds."""

    passages: int = 10  # a question; 5 train twice as fast
    styles: StyleRule = "gold-first"  # PREAST: a gold sentence if there is one, else short or synthetic by a toss;
    # "random" (Masque): one of the styles there are; "every": short and sentence from one reading of the passages;
    # "sentence": that style alone, from gold (Masque's single-style comparison), beside NarrativeQA's own style
    quota: tuple[int, ...] = (27, 44)  # PREAST: so many answerable of so many questions; empty: no quota
    removed: float = 0.15  # without a quota: how often a gold passage is taken out
    put_back: bool = True  # gold passages that the ten-passage set left out: a third of all answers
    spare_sentences: bool = False  # a question with a sentence that people wrote always has its gold passage
    sentence_share: float = 0.0  # of an epoch's questions so many have a sentence that people wrote: those are drawn
    # several times (MS MARCO: 0.19 of all its questions); 0: each once
    shares: Mapping[str, float] = field(default_factory=dict)  # of a source's examples an epoch, by its name
    subset: float = 1.0  # of each source's examples, always the same ones: how much data is needed?
    title_dropout: float = 0.3  # many documents have no title
    tokens: int = 65_536  # of a microbatch's passages, padding included; 0 with a size
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
            raise SettingsError("batch: passages, max_target, max_question and max_tokens make no sense together")
        if not 0 < self.subset <= 1:
            raise SettingsError(f"batch.subset is {self.subset}; it must be above 0 and at most 1")
        if not 0 <= self.sentence_share < 1:
            raise SettingsError(
                f"batch.sentence_share is {self.sentence_share}; it must be from 0 up to, not including, 1"
            )
        if self.quota and not (len(self.quota) == 2 and 0 < self.quota[0] <= self.quota[1]):
            raise SettingsError(f"batch.quota {self.quota} must be [answerable, of so many], or empty")
        if (self.tokens > 0) == (self.size > 0):
            raise SettingsError("batch: microbatches need either a size or a token budget, the other 0")
        check_shares(self.shares)

    @property
    def layout(self) -> BertLayout:
        """How question and passage stand in one sequence."""
        return BertLayout(self.max_question, self.marks.classify, self.marks.separate, self.marks.padding)


@dataclass(frozen=True, slots=True)
class WriterBatch:
    """A microbatch: questions with their passages, and what is to be written about them."""

    pairs: Pairs  # every passage with its question, question by question
    slot: Tensor  # (pairs,) place of a passage among its question's
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

    def relevant(self) -> Tensor:
        """Which passages are relevant: (questions, slots)."""
        empty = torch.zeros(self.pairs.groups, self.slots, dtype=torch.bool, device=self.pairs.relevant.device)
        return empty.index_put((self.pairs.group, self.slot), self.pairs.relevant)


@dataclass(frozen=True, slots=True)
class PaddedTexts:
    """Texts of one kind, padded."""

    tokens: Tensor  # (..., length)
    mask: Tensor  # (..., length) true at real tokens


@dataclass(frozen=True, slots=True)
class SeparateTexts:
    """Questions and passages apart, for encoders that join them by attention."""

    question: PaddedTexts  # (questions, length)
    passages: PaddedTexts  # (questions, slots, length): [CLS], title [SEP], passage; a missing one is [CLS] alone
    copyable: Tensor  # (questions, slots, length) true at the passage's own tokens
    real: Tensor  # (questions, slots) false where there was no passage


@dataclass(frozen=True, slots=True)
class DecoderTargets:
    """What a decoder is given and what it should write."""

    inputs: Tensor  # (rows, length): style, then the answer
    targets: Tensor  # (rows, length): the answer, then the end
    mask: Tensor  # (rows, length)


def joint(material: Mapping[str, Tensor], batch: WriterBatch, settings: WriterBatchSettings) -> Sequences:
    """`[CLS] question [SEP] title [SEP] passage [SEP]` for every pair, as the reader has it."""
    return assembled(material, batch.pairs, settings.layout)


def separate(material: Mapping[str, Tensor], batch: WriterBatch, settings: WriterBatchSettings) -> SeparateTexts:
    """Question tokens, and `[CLS] title [SEP] passage` for every passage; one without title has no [SEP]."""
    marks, pairs = settings.marks, batch.pairs
    device, length = pairs.question.device, batch.passage_length
    place = torch.arange(length, device=device)[None, :]  # (1, length)
    title, title_length = _piece(material, "title", material["passage_title"][pairs.passage].long())
    title_length = torch.where(pairs.titled[:, None], title_length, 0)
    passage, passage_length = _piece(material, "passage", pairs.passage)
    begin = 1 + title_length + (title_length > 0)  # (pairs, 1)
    passage_length = torch.minimum(passage_length, length - begin)
    inside = (place >= begin) & (place < begin + passage_length)
    tokens = torch.full((len(pairs.passage), length), marks.padding, device=device)
    tokens = torch.where((place >= 1) & (place <= title_length), _taken(material, "title", title + place - 1), tokens)
    tokens = torch.where((place == begin - 1) & (title_length > 0), marks.separate, tokens)
    tokens = torch.where(inside, _taken(material, "passage", passage + place - begin), tokens)
    tokens = torch.where(place == 0, marks.classify, tokens)
    at = (pairs.group, batch.slot)
    shape = (pairs.groups, batch.slots)
    missing = torch.where(place == 0, marks.classify, marks.padding).expand(*shape, length)
    mask = (place == 0).expand(*shape, length)
    return SeparateTexts(
        question=texts(material, "question", batch.question, batch.question_length, settings.marks.padding),
        passages=PaddedTexts(missing.index_put(at, tokens), mask.index_put(at, place < begin + passage_length)),
        copyable=torch.zeros(*shape, length, dtype=torch.bool, device=device).index_put(at, inside),
        real=torch.zeros(shape, dtype=torch.bool, device=device).index_put(at, torch.ones_like(pairs.relevant)),
    )


class HasTargets(Protocol):
    """What a decoder is to write, in whatever microbatch."""

    @property
    def style(self) -> Tensor: ...
    @property
    def target(self) -> Tensor: ...
    @property
    def target_length(self) -> int: ...


def decoder_targets(material: Mapping[str, Tensor], batch: HasTargets, settings: WriterBatchSettings) -> DecoderTargets:
    """Decoder inputs and targets; an answer of `max_target` tokens and more has no end."""
    padding = settings.marks.padding
    place = torch.arange(batch.target_length, device=batch.target.device)[None, :]  # (1, length)
    begin, count = _piece(material, "target", batch.target)  # (rows, 1) each
    answer = _taken(material, "target", begin + place)
    targets = torch.where(place < count, answer, torch.where(place == count, settings.marks.end, padding))
    mask = place <= count
    before = _taken(material, "target", begin + place - 1)
    inputs = torch.where(place == 0, batch.style[:, None], torch.where(mask, before, padding))
    return DecoderTargets(inputs, targets, mask)


def short_answers(material: Mapping[str, Tensor], batch: WriterBatch, settings: WriterBatchSettings) -> PaddedTexts:
    """The short answer of every row, (rows, length): a source for writers that are given what to say."""
    return texts(material, "target", batch.answer, batch.answer_length, settings.marks.padding)


def texts(
    material: Mapping[str, Tensor],
    name: str,
    number: Tensor,
    length: int,
    padding: int,
    begin: Tensor | None = None,
    end: Tensor | None = None,
) -> PaddedTexts:
    """Texts by number, (rows, length), or the tokens from `begin` to `end` of each; an empty text for number -1."""
    place = torch.arange(length, device=number.device)[None, :]
    start, count = _piece(material, name, number.clamp(min=0))
    if begin is not None and end is not None:
        start, count = start + begin[:, None], (end - begin)[:, None]
    mask = (place < count) & (number >= 0)[:, None]
    return PaddedTexts(torch.where(mask, _taken(material, name, start + place), padding), mask)


def _piece(material: Mapping[str, Tensor], name: str, number: Tensor) -> tuple[Tensor, Tensor]:
    """Where texts lie and how long they are, (rows, 1) each."""
    starts = material[f"{name}_starts"]
    return starts[number].long()[:, None], (starts[number + 1] - starts[number]).long()[:, None]


def _taken(material: Mapping[str, Tensor], name: str, place: Tensor) -> Tensor:
    tokens = material[f"{name}_tokens"]
    return tokens[place.clamp(0, len(tokens) - 1)].long()
