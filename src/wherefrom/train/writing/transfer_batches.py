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
from wherefrom.train.material import Sequences
from wherefrom.train.seeds import seed_of
from wherefrom.train.writing.batches import Texts, WriterBatchSettings, texts
from wherefrom.train.writing.material import PARAQA, TEXTS, Material, Numbers, gold_sentences
from wherefrom.train.writing.sampling import cut_by_length, evenly_cut, target_length, tensor

_ALIGNED = 8


@dataclass(frozen=True, slots=True)
class TransferBatch:
    """A microbatch of style transfer: what is said shortly, and the sentence to make of it."""

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

    question: Texts
    answer: Texts
    context: Texts


@dataclass(frozen=True, slots=True)
class TransferJoint:
    """The three sources as one sequence, with masks of each."""

    sequences: Sequences  # `passage` is true at the context's tokens
    asked: Tensor  # (rows, length)
    answered: Tensor  # (rows, length)


def transferred(material: Mapping[str, Tensor], batch: TransferBatch, settings: WriterBatchSettings) -> Transferred:
    padding = settings.marks.padding
    question = texts(material, "question", batch.question, batch.question_length, padding)
    answer = texts(material, "target", batch.answer, batch.answer_length, padding)
    context = texts(material, "passage", batch.passage, batch.context_length, padding, batch.begin, batch.end)
    return Transferred(question, answer, context)


def transfer_joint(
    material: Mapping[str, Tensor], batch: TransferBatch, settings: WriterBatchSettings
) -> TransferJoint:
    """`[CLS] question [SEP] answer [SEP] context [SEP]`; without context the last [SEP] is left out."""
    marks, sources = settings.marks, transferred(material, batch, settings)
    asked, answered, told = (
        source.mask.sum(1, keepdim=True) for source in (sources.question, sources.answer, sources.context)
    )  # (rows, 1) each
    length = -(-(batch.question_length + batch.answer_length + batch.context_length + 4) // _ALIGNED) * _ALIGNED
    place = torch.arange(length, device=batch.question.device)[None, :].expand(len(batch.question), length)
    answer_at = asked + 2
    context_at = answer_at + answered + 1
    last = torch.where(told > 0, context_at + told, context_at - 1)

    def put(source: Texts, at: Tensor) -> Tensor:
        return source.tokens.gather(1, (place - at).clamp(0, source.tokens.shape[1] - 1))

    in_question = (place >= 1) & (place <= asked)
    in_answer = (place >= answer_at) & (place < answer_at + answered)
    in_context = (place >= context_at) & (place < context_at + told)
    tokens = torch.full(place.shape, marks.padding, device=place.device)
    tokens = torch.where(in_question, put(sources.question, torch.ones_like(asked)), tokens)
    tokens = torch.where(in_answer, put(sources.answer, answer_at), tokens)
    tokens = torch.where(in_context, put(sources.context, context_at), tokens)
    separators = (place == asked + 1) | (place == context_at - 1) | (place == last)
    tokens = torch.where(separators, marks.separate, tokens)
    tokens = torch.where(place == 0, marks.classify, tokens)
    mask = place <= last
    types = ((place > asked + 1) & mask).long()
    return TransferJoint(Sequences(tokens, mask, in_context, types, context_at.squeeze(1)), in_question, in_answer)


class TransferSampler:
    """Draws epochs of style transfer."""

    def __init__(self, material: Material, settings: WriterBatchSettings | None = None) -> None:
        self.settings = settings or WriterBatchSettings()
        self.material = material
        self._lengths = {name: material.lengths(name) for name in TEXTS}
        self._held = material["sentence_valid"][material["triple_sentence"]] == 1

    def batches(self, epoch: int, seed: int) -> LazyBatches[TransferBatch]:
        """One sentence of every example, drawn anew each epoch where there are several."""
        chance = numpy.random.default_rng(seed_of("transfer", seed, epoch))
        triple = numpy.flatnonzero(~self._held)
        shares = numpy.array([self.settings.shares.get(source, 1.0) for source in range(PARAQA + 1)])
        _, first, count = numpy.unique(self.material["triple_example"][triple], return_index=True, return_counts=True)
        drawn = triple[first + (chance.random(len(first)) * count).astype(numpy.int64)]
        source = self.material["source"][self.material["triple_example"][drawn]]
        drawn = drawn[chance.random(len(drawn)) < shares[source]]
        lengths = self._row_lengths(self._answers(drawn), self._sentences(drawn))
        cut = evenly_cut(lengths, numpy.ones_like(lengths), numpy.zeros_like(lengths), self.settings, chance)
        return LazyBatches(cut, lambda places: self._of_triples(drawn[numpy.asarray(places)]))

    def valid(self, most: int = 0) -> LazyBatches[TransferBatch]:
        """Every sentence that is never trained on, or so many of them evenly spread, longest first."""
        held = numpy.flatnonzero(self._held)
        if 0 < most < len(held):
            held = held[numpy.arange(most) * len(held) // most]
        return self._in_order(held, self._answers, self._of_triples)

    def answers(self, numbers: Sequence[int] | Numbers) -> LazyBatches[TransferBatch]:
        """Any answers by number, to make sentences of."""
        return self._in_order(numpy.asarray(numbers, numpy.int64), lambda answer: answer, self._of_answers)

    def to_synthesise(self) -> Numbers:
        """The first answer of every training example with a gold passage and no gold sentence to train on."""
        material = self.material
        wanted = (material["valid"] == 0) & (material["references"] > 0) & (material["gold"] >= 0)
        wanted &= gold_sentences(material)[1] == 0
        found: Numbers = material["answers_until"][:-1][wanted]
        return found

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
        asked = self._lengths["question"][self.material["question"][self._example(answer)]]
        said = numpy.minimum(self._lengths["target"][answer], settings.max_target)
        told = numpy.minimum(context[:, 1] - context[:, 0], settings.max_context)
        read: Numbers = numpy.minimum(asked, settings.max_question) + said + told + 4
        said_in_full: Numbers = numpy.minimum(self._lengths["target"][target] + 1, settings.max_target)
        return numpy.maximum(read, said_in_full)

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
