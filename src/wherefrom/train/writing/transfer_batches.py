"""Style transfer's microbatches: question, short answer and the sentences around it, and the sentence to make of them.

Preast-qa 4.3. Examples come from the writer's material: QA2D with SQuAD's passages, and VANiLLa, VQuAnDa and ParaQA,
which have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from wherefrom.train.batching import LazyBatches
from wherefrom.train.material import Numbers, evenly_spread
from wherefrom.train.seeds import seed_of
from wherefrom.train.writing.batches import PaddedTexts, WriterBatchSettings, texts
from wherefrom.train.writing.material import TEXTS, WritingMaterial
from wherefrom.train.writing.sampling import cut_by_length, evenly_cut, shares_of, target_length, tensor


@dataclass(frozen=True, slots=True)
class TransferBatch:
    """A microbatch of style transfer: short answers, and the sentences to make of them."""

    example: Tensor  # (rows,)
    question: Tensor  # (rows,)
    answer: Tensor  # (rows,) the text of the short answer
    passage: Tensor  # (rows,) the gold passage, or -1
    begin: Tensor  # (rows,) of the sentences around the answer, in the passage
    end: Tensor  # (rows,)
    style: Tensor  # (rows,)
    target: Tensor  # (rows,) the sentence; for synthesis the short answer stands here
    question_length: int
    answer_length: int
    context_length: int
    target_length: int


@dataclass(frozen=True, slots=True)
class Transferred:
    """The three sources of style transfer, each (rows, length)."""

    question: PaddedTexts
    answer: PaddedTexts
    context: PaddedTexts


def transferred(material: Mapping[str, Tensor], batch: TransferBatch, settings: WriterBatchSettings) -> Transferred:
    padding = settings.marks.padding
    question = texts(material, "question", batch.question, batch.question_length, padding)
    answer = texts(material, "target", batch.answer, batch.answer_length, padding)
    context = texts(material, "passage", batch.passage, batch.context_length, padding, batch.begin, batch.end)
    return Transferred(question, answer, context)


class TransferSampler:
    """Draws epochs of style transfer."""

    def __init__(self, material: WritingMaterial, settings: WriterBatchSettings | None = None) -> None:
        self.settings = settings or WriterBatchSettings()
        self.material = material
        self._lengths = {name: material.lengths(name) for name in TEXTS}
        self._held = material["sentence_valid"][material["triple_sentence"]] == 1

    def batches(self, epoch: int, seed: int) -> LazyBatches[TransferBatch]:
        """One sentence of every example, drawn anew each epoch where there are several."""
        chance = numpy.random.default_rng(seed_of("transfer", seed, epoch))
        triple = numpy.flatnonzero(~self._held)
        _, first, count = numpy.unique(self.material["triple_example"][triple], return_index=True, return_counts=True)
        drawn = triple[first + (chance.random(len(first)) * count).astype(numpy.int64)]
        shares = shares_of(self.material, self.settings)[self.material["triple_example"][drawn]]
        drawn = drawn[chance.random(len(drawn)) < shares]
        lengths = self._row_lengths(self._answers(drawn), self._sentences(drawn))
        cut = evenly_cut(lengths, numpy.ones_like(lengths), numpy.zeros_like(lengths), self.settings, chance)
        return LazyBatches(cut, lambda places: self._of_triples(drawn[numpy.asarray(places)]))

    def valid(self, most: int = 0) -> LazyBatches[TransferBatch]:
        """Every sentence that is never trained on, or so many of them evenly spread, longest first."""
        held = numpy.flatnonzero(self._held)
        chosen = numpy.array(evenly_spread(held.tolist(), most or len(held)), numpy.int64)
        return self._in_order(chosen, self._answers, self._of_triples)

    def answers(self, numbers: Sequence[int] | Numbers) -> LazyBatches[TransferBatch]:
        """Any answers by number, to make sentences of."""
        return self._in_order(numpy.asarray(numbers, numpy.int64), lambda answer: answer, self._of_answers)

    def to_synthesise(self) -> Numbers:
        """The first answer of every training example with a gold passage and no gold sentence to train on."""
        material = self.material
        wanted = (material["valid"] == 0) & (material["references"] > 0) & (material["gold"] >= 0)
        wanted &= material.gold_sentences()[1] == 0
        answers: Numbers = material["answers_until"][:-1][wanted]
        return answers

    # Inside.

    def _in_order(
        self, chosen: Numbers, answer: Callable[[Numbers], Numbers], made: Callable[[Numbers], TransferBatch]
    ) -> LazyBatches[TransferBatch]:
        lengths = self._row_lengths(answer(chosen), answer(chosen))
        order = numpy.argsort(-lengths, kind="stable")
        cut = cut_by_length(order, lengths, numpy.ones_like(lengths), self.settings)
        return LazyBatches(cut, lambda places: made(chosen[numpy.asarray(places)]))

    def _answers(self, triple: Numbers) -> Numbers:
        answers: Numbers = self.material["triple_answer"][triple]
        return answers

    def _sentences(self, triple: Numbers) -> Numbers:
        sentences: Numbers = self.material.first_sentence + self.material["triple_sentence"][triple]
        return sentences

    def _row_lengths(self, answer: Numbers, target: Numbers) -> Numbers:
        """Tokens of the longest of a row: all sources together, or its target."""
        settings, context = self.settings, self.material["answer_context"][answer].astype(numpy.int64)
        question = self._lengths["question"][self.material["question"][self._example(answer)]]
        sources: Numbers = (
            numpy.minimum(question, settings.max_question)
            + numpy.minimum(self._lengths["target"][answer], settings.max_target)
            + numpy.minimum(context[:, 1] - context[:, 0], settings.max_context)
        )
        written: Numbers = numpy.minimum(self._lengths["target"][target] + 1, settings.max_target)
        longest: Numbers = numpy.maximum(sources + 4, written)
        return longest

    def _example(self, answer: Numbers) -> Numbers:
        return numpy.searchsorted(self.material["answers_until"], answer, side="right") - 1

    def _of_triples(self, triple: Numbers) -> TransferBatch:
        return self._batch(self._answers(triple), self._sentences(triple))

    def _of_answers(self, answer: Numbers) -> TransferBatch:
        return self._batch(answer, answer)

    def _batch(self, answer: Numbers, target: Numbers) -> TransferBatch:
        material, settings = self.material, self.settings
        example = self._example(answer)
        question = material["question"][example]
        begin, end = material["answer_context"][answer].astype(numpy.int64).T
        end = numpy.minimum(end, begin + settings.max_context)
        lengths = self._lengths["target"]
        return TransferBatch(
            example=tensor(example),
            question=tensor(question),
            answer=tensor(answer),
            passage=tensor(numpy.where(end > begin, material["gold"][example], -1)),
            begin=tensor(begin),
            end=tensor(end),
            style=torch.full((len(answer),), settings.marks.sentence),
            target=tensor(target),
            question_length=int(numpy.minimum(self._lengths["question"][question], settings.max_question).max()),
            answer_length=target_length(lengths[answer] - 1, settings),
            context_length=int((end - begin).max(initial=1)),
            target_length=target_length(lengths[target], settings),
        )
