"""Epochs of training to write: which questions, which passages, which style.

Drawn with numpy, all questions at once; an epoch depends on (epoch, seed) alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from wherefrom.train.batching import LazyBatches
from wherefrom.train.material import Numbers, Pairs
from wherefrom.train.seeds import seed_of
from wherefrom.train.writing.batches import WriterBatch, WriterBatchSettings
from wherefrom.train.writing.material import TEXTS, WritingMaterial
from wherefrom.train.writing.sources import SOURCES
from wherefrom.write.marks import WrittenStyle

_ALIGNED = 8  # lengths are multiples of it: attention's fast kernels want that


@dataclass(frozen=True, slots=True)
class _Epoch:
    """All questions of an epoch."""

    example: Numbers  # (questions,)
    passage: Numbers  # (questions, slots), -1 where there is none
    titled: Numbers  # (questions,)
    answerable: Numbers  # (questions,)
    style: Numbers  # (questions, 2): short and sentence; -1 where nothing is to be written
    target: Numbers  # (questions, 2)
    length: Numbers  # (questions,): tokens of the longest pair
    pieces: Numbers  # (questions,): how many passages


class WriterSampler:
    """Draws epochs of questions with passages."""

    def __init__(self, material: WritingMaterial, settings: WriterBatchSettings | None = None) -> None:
        self.settings = settings or WriterBatchSettings()
        self.material = material
        self._lengths = {name: material.lengths(name) for name in TEXTS}
        self._given = (material["passages"] >= 0).any(1)
        self._labelled = material.of("ten-passages")
        self._stories = material.of("narrativeqa")
        self._sentences = material.gold_sentences()

    def batches(self, epoch: int, seed: int) -> LazyBatches[WriterBatch]:
        """The microbatches of an epoch; answerable questions are spread evenly over them."""
        chance = numpy.random.default_rng(seed_of("writer", seed, epoch))
        plan = self._drawn(chance)
        cut = evenly_cut(plan.length, plan.pieces, plan.answerable.astype(int), self.settings, chance)
        return LazyBatches(cut, lambda places: self._batch(plan, numpy.asarray(places)))

    def given(
        self, examples: Sequence[int] | Numbers, style: WrittenStyle, put_back: bool = False
    ) -> LazyBatches[WriterBatch]:
        """These examples as their dataset has them, titles shown, with the first answer of a style where there is one.

        For validation: nothing is drawn, and sentences that are never trained on are there. `put_back` makes every
        question answerable, so that none of the few gold sentences is lost.
        """
        example = numpy.asarray(examples, numpy.int64)
        mark, target = numpy.full((len(example), 2), -1), numpy.full((len(example), 2), -1)
        answerable = (self.material["answerable"][example] == 1) | (put_back & (self.material["gold"][example] >= 0))
        target[:, 1] = numpy.where(answerable, self._first_target(example, style), -1)
        mark[:, 1] = numpy.where(target[:, 1] >= 0, self.settings.marks.style(style), -1)
        plan = self._plan(example, answerable, mark, target, numpy.ones(len(example), bool), None)
        order = numpy.argsort(-plan.length, kind="stable")
        return LazyBatches(
            cut_by_length(order, plan.length, plan.pieces, self.settings),
            lambda places: self._batch(plan, numpy.asarray(places)),
        )

    # Inside.

    def _drawn(self, chance: numpy.random.Generator) -> _Epoch:
        material, settings = self.material, self.settings
        wanted = self._given & (material["valid"] == 0)
        if settings.styles == "sentence":
            wanted &= (self._sentences[1] > 0) | self._stories
        if settings.subset < 1:  # spread evenly, by a multiple of the golden ratio
            wanted &= numpy.arange(len(wanted)) * 0.6180339887498949 % 1 < settings.subset
        example = numpy.flatnonzero(wanted & (chance.random(len(wanted)) < shares_of(material, settings)))
        if settings.sentence_share:
            example = self._with_share(example, chance)
        example, answerable = self._with_quota(example, chance)
        style, target = self._styles(example, answerable, chance)
        titled = chance.random(len(example)) >= settings.title_dropout
        return self._plan(example, answerable, style, target, titled, chance)

    def _with_share(self, example: Numbers, chance: numpy.random.Generator) -> Numbers:
        """Those with a gold sentence as often as it takes for their share of the epoch; never less than once."""
        precious = example[self._sentences[1][example] > 0]
        share = self.settings.sentence_share
        missing = round(share / (1 - share) * (len(example) - len(precious))) - len(precious)
        if missing <= 0 or not len(precious):
            return example
        whole, rest = divmod(missing, len(precious))
        return numpy.concatenate([example, numpy.tile(precious, whole), chance.permutation(precious)[:rest]])

    def _with_quota(self, example: Numbers, chance: numpy.random.Generator) -> tuple[Numbers, Numbers]:
        """Which questions are taken, and which of them keep their gold passage.

        A quota takes gold passages out until it is met, of questions with a gold sentence last; if too few questions
        can be answered, some of the others are left out.
        """
        material, settings = self.material, self.settings
        left_out = self._labelled & (material["answerable"] == 0)
        precious = self._sentences[1][example] > 0
        spared = settings.spare_sentences & precious
        answerable = ((settings.put_back | spared) & (material["gold"][example] >= 0)) | ~left_out[example]
        removable = answerable & self._labelled[example] & ~spared
        tossed = chance.random(len(example))
        if not settings.quota:
            return example, answerable & ~(removable & (tossed < settings.removed))
        share = settings.quota[0] / settings.quota[1]
        surplus = int(answerable.sum()) - round(share * len(example))
        if surplus >= 0:
            order = numpy.argsort(tossed + precious + 2.0 * ~removable)[: min(surplus, int(removable.sum()))]
            answerable[order] = False
            return example, answerable
        others = numpy.flatnonzero(~answerable)
        others = others[numpy.argsort(tossed[others])][: round(int(answerable.sum()) * (1 - share) / share)]
        chosen = numpy.sort(numpy.concatenate([numpy.flatnonzero(answerable), others]))
        return example[chosen], answerable[chosen]

    def _styles(self, example: Numbers, answerable: Numbers, chance: numpy.random.Generator) -> tuple[Numbers, Numbers]:
        """Style token and text of the short answer and of the sentence, -1 where the rule takes none."""
        material, marks = self.material, self.settings.marks
        toss, draw = chance.random(len(example)), chance.random((2, len(example)))
        references = material["references"][example].astype(numpy.int64)
        short = material["answers_until"][example] + (draw[0] * references).astype(numpy.int64)
        short = numpy.where(answerable & (references > 0), short, -1)
        begin, count = (column[example] for column in self._sentences)
        gold = material.first_sentence + begin + (draw[1] * count).astype(numpy.int64)
        sentence = numpy.where(count > 0, gold, material["synthetic"][example])
        sentence = numpy.where(answerable, sentence, -1)
        in_full = sentence >= 0
        free = self._stories[example]
        if self.settings.styles == "gold-first":
            in_full &= (count > 0) | (toss < 0.5)
        elif self.settings.styles == "random":
            in_full &= toss < 0.5
        elif self.settings.styles == "sentence":
            short = numpy.where(free, short, -1)
        if self.settings.styles != "every":
            short = numpy.where(in_full, -1, short)
        sentence = numpy.where(in_full, sentence, -1)
        style = numpy.stack(
            [
                numpy.where(short < 0, -1, numpy.where(free, marks.narrative, marks.short)),
                numpy.where(sentence < 0, -1, marks.sentence),
            ],
            axis=1,
        )
        return style, numpy.stack([short, sentence], axis=1)

    def _first_target(self, example: Numbers, style: WrittenStyle) -> Numbers:
        """The first answer in a style, -1 where there is none; a story has no sentences, but its answers."""
        material = self.material
        story = self._stories[example]
        answer = numpy.where(material["references"][example] > 0, material["answers_until"][example], -1)
        if style == "sentence":
            until = material["sentences_until"]
            there = until[example + 1] > until[example]
            return numpy.where(there, material.first_sentence + until[example], numpy.where(story, answer, -1))
        return numpy.where(story == (style == "narrative"), answer, -1)

    def _plan(
        self,
        example: Numbers,
        answerable: Numbers,
        style: Numbers,
        target: Numbers,
        titled: Numbers,
        chance: numpy.random.Generator | None,
    ) -> _Epoch:
        passage = self._passages(example, answerable, chance)
        length = numpy.where(passage >= 0, self._pair_lengths(example[:, None], passage, titled[:, None]), 0).max(1)
        return _Epoch(example, passage, titled, answerable, style, target, length, (passage >= 0).sum(1))

    def _passages(self, example: Numbers, answerable: Numbers, chance: numpy.random.Generator | None) -> Numbers:
        """The passages of every question: the gold one if it is answerable, guessed ones, then any; in mixed order.

        Without `chance` the first ones are taken, in the order of the dataset; a gold passage that was left out goes to
        a place that depends on its example.
        """
        material, slots = self.material, self.settings.passages
        given, gold = material["passages"][example], material["gold"][example][:, None]
        left_out = numpy.where((given == gold).any(1, keepdims=True), -1, gold)
        each = numpy.concatenate([given, left_out], axis=1)  # (questions, 11)
        right = (each == gold) & (gold >= 0)
        there = (each >= 0) & (~right | answerable[:, None])
        guessed = numpy.pad(material["weak"][example] == 1, ((0, 0), (0, 1)))

        def keys() -> Numbers:
            if chance:
                return chance.random(each.shape)
            columns: Numbers = numpy.tile(numpy.arange(each.shape[1]) / each.shape[1], (len(example), 1))
            columns[:, -1] = (example * 7 % slots - 0.5) / each.shape[1]
            return columns

        chosen = numpy.argsort(keys() - 1.0 * (right | guessed) + 2.0 * ~there, axis=1, kind="stable")[:, :slots]
        order = keys() + 2.0 * ~there
        taken = numpy.take_along_axis(order, chosen, axis=1).argsort(axis=1, kind="stable")
        chosen = numpy.take_along_axis(chosen, taken, axis=1)
        passages = numpy.take_along_axis(each, chosen, axis=1)
        return numpy.where(numpy.take_along_axis(there, chosen, axis=1), passages, -1)

    def _pair_lengths(self, example: Numbers, passage: Numbers, titled: Numbers) -> Numbers:
        """Tokens of question, title and passage, with the marks between them."""
        settings, lengths = self.settings, self._lengths
        question = numpy.minimum(lengths["question"][self.material["question"][example]], settings.max_question)
        whole: Numbers = question + self._passage_lengths(passage, titled) + 2
        return numpy.minimum(whole, settings.max_tokens)

    def _passage_lengths(self, passage: Numbers, titled: Numbers) -> Numbers:
        """Tokens of `[CLS] title [SEP] passage`."""
        title = numpy.where(titled, self._lengths["title"][self.material["passage_title"][passage]], 0)
        lengths: Numbers = 1 + title + (title > 0) + self._lengths["passage"][passage]
        return lengths

    def _batch(self, plan: _Epoch, places: Numbers) -> WriterBatch:
        material, settings = self.material, self.settings
        example, passages = plan.example[places], plan.passage[places]
        group, slot = numpy.nonzero(passages >= 0)
        passage, titled = passages[group, slot], plan.titled[places][group]
        relevant = passage == material["gold"][example][group]
        longest = int(self._pair_lengths(example[group], passage, titled).max(initial=_ALIGNED))
        row, column = numpy.nonzero(plan.target[places] >= 0)
        target, style = plan.target[places][row, column], plan.style[places][row, column]
        sentence = target - material.first_sentence
        gold_sentence = (sentence >= 0) & (sentence < len(material["sentence_answer"]))
        closest = numpy.append(material["sentence_answer"], -1)[numpy.where(gold_sentence, sentence, -1)]
        first = material["answers_until"][example[row]]
        answer = numpy.where(sentence < 0, target, numpy.where(closest >= 0, closest, first))
        question_lengths = self._lengths["question"][material["question"][example]]
        passage_lengths = self._passage_lengths(passage, titled)
        return WriterBatch(
            pairs=Pairs(
                question=tensor(material["question"][example][group]),
                passage=tensor(passage),
                titled=torch.from_numpy(titled),
                group=tensor(group),
                gold=torch.zeros(0, 3, dtype=torch.long),  # spans are the reader's
                relevant=torch.from_numpy(relevant),
                groups=len(places),
                length=min(-(-longest // _ALIGNED) * _ALIGNED, settings.max_tokens),
            ),
            slot=tensor(slot),
            example=tensor(example),
            question=tensor(material["question"][example]),
            answerable=torch.from_numpy(plan.answerable[places]),
            labelled=torch.from_numpy(self._labelled[example]),
            row=tensor(row),
            style=tensor(style),
            target=tensor(target),
            answer=tensor(answer),
            slots=settings.passages,
            question_length=int(numpy.minimum(question_lengths, settings.max_question).max(initial=1)),
            passage_length=int(numpy.minimum(passage_lengths, settings.max_passage).max(initial=1)),
            target_length=target_length(self._lengths["target"][target], settings),
            answer_length=target_length(self._lengths["target"][answer] - 1, settings),
        )


def shares_of(material: WritingMaterial, settings: WriterBatchSettings) -> Numbers:
    """How often an epoch sees each example: (examples,)."""
    shares = numpy.array([settings.shares.get(source, 1.0) for source in SOURCES])
    return shares[material["source"]]


def evenly_cut(
    length: Numbers, pieces: Numbers, kind: Numbers, settings: WriterBatchSettings, chance: numpy.random.Generator
) -> list[list[int]]:
    """Questions cut into microbatches of similar length, each with about the same share of every kind.

    As `batching.bucketed`, without a loop over questions: shuffled, sorted by length in windows, cut, and the
    microbatches shuffled. Inside a window the kinds are merged by rank, so that no microbatch is of one kind.
    """
    if not len(length):
        return []
    order = chance.permutation(len(length))
    mean = settings.size or max(1, int(settings.tokens * len(length) / max(1, int((length * pieces).sum()))))
    span = settings.window * mean
    cut: list[list[int]] = []
    for start in range(0, len(order), span):
        some = order[start : start + span]
        some = some[numpy.lexsort((-length[some], kind[some]))]
        _, first, count = numpy.unique(kind[some], return_index=True, return_counts=True)
        rank = numpy.arange(len(some)) - numpy.repeat(first, count)
        merged = numpy.argsort((rank + 0.5) / numpy.repeat(count, count), kind="stable")
        cut += cut_by_length(some[merged], length, pieces, settings)
    return [cut[place] for place in chance.permutation(len(cut))]


def cut_by_length(order: Numbers, length: Numbers, pieces: Numbers, settings: WriterBatchSettings) -> list[list[int]]:
    """Questions in this order, nearly longest first, cut where the next one would not fit."""
    if settings.size:
        return [order[start : start + settings.size].tolist() for start in range(0, len(order), settings.size)]
    aligned = -(-length[order] // _ALIGNED) * _ALIGNED
    longest = numpy.maximum.accumulate(aligned[::-1])[::-1]  # from here on
    until = numpy.concatenate([[0], numpy.cumsum(pieces[order])])
    cut: list[list[int]] = []
    start = 0
    while start < len(order):
        fits = until[start] + settings.tokens // max(1, int(longest[start]))
        stop = max(start + 1, int(numpy.searchsorted(until, fits, side="right")) - 1)
        cut.append(order[start:stop].tolist())
        start = stop
    return cut


def target_length(length: Numbers, settings: WriterBatchSettings) -> int:
    return int(numpy.minimum(length + 1, settings.max_target).max(initial=1))


def tensor(numbers: Numbers) -> Tensor:
    return torch.from_numpy(numbers.astype(numpy.int64))
