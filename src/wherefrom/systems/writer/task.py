"""The writer's training: questions over several passages and, among them, style transfer.

Given the short answer, the writer is also the style transfer of PREAST-QA: those examples need no passages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.evaluate.validation_answers import token_scores
from wherefrom.networks.writer import Memory, QuestionPassages, TokenSequences
from wherefrom.systems.writer.network import WriterNetwork, WriterNetworkSettings
from wherefrom.train.batching import LazyBatches
from wherefrom.train.writing.batches import PaddedTexts, WriterBatch, decoder_targets, joint, short_answers, texts
from wherefrom.train.writing.material import WritingMaterial
from wherefrom.train.writing.start import start_encoder
from wherefrom.train.writing.task import MaterialTexts, PassageTask, PassageTaskSettings
from wherefrom.train.writing.transfer_batches import TransferBatch, TransferSampler, transferred
from wherefrom.write.marks import Marks


@dataclass(frozen=True, slots=True)
class WriterTaskSettings(PassageTaskSettings):
    """What the writer sees in training, and what it is measured on meanwhile."""

    passages: bool = True  # questions with passages; without them it is style transfer alone
    triples: float = 0.0  # how often an epoch sees each example of style transfer
    triple_tokens: int = 16_384  # of a microbatch of style transfer
    answer_given: float = 0.8  # how often a sentence is written with its short answer given
    fused: bool = False  # compile the encoder's layers; pays on a GPU

    def __post_init__(self) -> None:
        if not self.passages and not self.triples:
            raise SettingsError("task: without passages there must be triples to learn from")
        if not 0.0 <= self.answer_given <= 1.0:
            raise SettingsError(f"task.answer_given is a share from 0 to 1, not {self.answer_given}")


class WriterTask(PassageTask[WriterNetwork]):
    """Trains a `WriterNetwork`; `start`: weights of a pretrained encoder, published or of a trained reader."""

    settings: WriterTaskSettings

    def __init__(
        self,
        material: WritingMaterial,
        network: WriterNetworkSettings,
        settings: WriterTaskSettings,
        common: Sequence[int],
        start: Path | None = None,
        data: Mapping[str, Path] | None = None,
    ) -> None:
        def build() -> WriterNetwork:
            made = WriterNetwork(network, torch.tensor(list(common)))
            if start is not None:
                start_encoder(made.reader.pretrained, start)
            if settings.fused:
                made.reader.pretrained.fuse()
            return made

        super().__init__("writer", material, settings, build, asdict(network), data)
        self.transfer = TransferSampler(material, replace(settings.batch, tokens=settings.triple_tokens, size=0))

    def batches(self, epoch: int, seed: int) -> LazyBatches[WriterBatch | TransferBatch]:
        """Microbatches with passages and, spread evenly among them, those of style transfer."""
        kinds: list[LazyBatches[Any]] = []
        if self.settings.passages:
            kinds.append(self.sampler.batches(epoch, seed))
        rounds = self.settings.triples
        for turn in range(int(numpy.ceil(rounds))):
            drawn = self.transfer.batches(1000 * epoch + turn, seed)
            share = min(1.0, rounds - turn)
            kinds.append(replace(drawn, plan=drawn.plan[: max(1, round(share * len(drawn)))]))
        places = [((at + 0.5) / len(kind), number, at) for number, kind in enumerate(kinds) for at in range(len(kind))]
        return LazyBatches([(number, at) for _, number, at in sorted(places)], lambda place: kinds[place[0]][place[1]])

    def loss(
        self, model: WriterNetwork, batch: WriterBatch | TransferBatch
    ) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        if not isinstance(batch, TransferBatch):
            return super().loss(model, batch)
        wanted = decoder_targets(self.material.on(batch.example.device), batch, self.transfer.settings)
        memory = self.transfer_memory(model, batch)
        generation = model.written_loss(memory, wanted.targets, wanted.mask, batch.style, wanted.mask[:, 0])
        return generation, {"transfer": generation.detach()}

    def evaluate(self, model: WriterNetwork) -> Mapping[str, float]:
        scores = dict(super().evaluate(model)) if self.settings.passages else {}
        if self.settings.valid_sentences:
            examples = self.validation_examples("sentence", self.settings.valid_sentences)
            given = self.answers(model, examples, "sentence", "given", put_back=True, given=True)
            scores |= token_scores(list(given), "given")
        return scores

    def reading(self, texts_there: MaterialTexts, batch: WriterBatch) -> QuestionPassages:
        """Question and passage as one sequence each; there is no short answer yet."""
        pairs, marks = batch.pairs, self.settings.batch.marks
        together = joint(texts_there, batch, self.settings.batch)
        at, shape = (pairs.group, batch.slot), (pairs.groups, batch.slots, pairs.length)

        def placed(values: Tensor, empty: int | bool) -> Tensor:
            return torch.full(shape, empty, dtype=values.dtype, device=values.device).index_put(at, values)

        question = texts(texts_there, "question", batch.question, batch.question_length, marks.padding)
        none = PaddedTexts(question.tokens[:, :1], torch.zeros_like(question.mask[:, :1]))
        return QuestionPassages(
            question.tokens,
            question.mask,
            TokenSequences(
                placed(together.tokens, marks.padding),
                placed(together.mask, False),
                placed(together.passage, False),
                placed(together.types, 0),
            ),
            answer=paired(PaddedTexts(question.tokens[:, :1], question.mask[:, :1]), none, marks),
        )

    def given(self, batch: WriterBatch) -> Tensor:
        """Some of the sentences; a short answer is never given itself."""
        toss = torch.rand(len(batch.row), device=batch.row.device)
        return (batch.style == self.settings.batch.marks.sentence) & (toss < self.settings.answer_given)

    def rows(
        self, model: WriterNetwork, memory: Memory, texts_there: MaterialTexts, batch: WriterBatch, given: Tensor
    ) -> Memory:
        padding = self.settings.batch.marks.padding
        question = texts(texts_there, "question", batch.question[batch.row], batch.question_length, padding)
        answer = short_answers(texts_there, batch, self.settings.batch)
        answer = PaddedTexts(torch.where(given[:, None], answer.tokens, padding), answer.mask & given[:, None])
        return model.with_answer(memory.rows(batch.row), paired(question, answer, self.settings.batch.marks))

    def transfer_memory(self, model: WriterNetwork, batch: TransferBatch) -> Memory:
        """Style transfer: the sentences around the short answer are its one passage."""
        marks = self.settings.batch.marks
        three = transferred(self.material.on(batch.example.device), batch, self.transfer.settings)
        context = paired(three.question, three.context, marks)
        assert context.types is not None
        return model.encode(
            QuestionPassages(
                three.question.tokens,
                three.question.mask,
                TokenSequences(
                    context.tokens[:, None], context.mask[:, None], context.copyable[:, None], context.types[:, None]
                ),
                answer=paired(three.question, three.answer, marks),
            )
        )


def paired(first: PaddedTexts, second: PaddedTexts, marks: Marks) -> TokenSequences:
    """`[CLS] first [SEP] second [SEP]` row by row; the second's tokens may be copied. Without one, `[CLS] first [SEP]`.

    (rows, length) of both, to (rows, length of all).
    """
    first_length, second_length = first.mask.sum(1, keepdim=True), second.mask.sum(1, keepdim=True)  # (rows, 1)
    length = -(-(first.tokens.shape[1] + second.tokens.shape[1] + 3) // 8) * 8
    place = torch.arange(length, device=first_length.device)[None, :].expand(len(first_length), length)
    at = first_length + 2
    last = torch.where(second_length > 0, at + second_length, first_length + 1)

    def put(text: PaddedTexts, begin: Tensor | int) -> Tensor:
        return text.tokens.gather(1, (place - begin).clamp(0, text.tokens.shape[1] - 1))

    copyable = (place >= at) & (place < at + second_length)
    tokens = torch.full(place.shape, marks.padding, device=place.device)
    tokens = torch.where((place >= 1) & (place <= first_length), put(first, 1), tokens)
    tokens = torch.where(copyable, put(second, at), tokens)
    tokens = torch.where((place == first_length + 1) | (place == last), marks.separate, tokens)
    tokens = torch.where(place == 0, marks.classify, tokens)
    mask = place <= last
    return TokenSequences(tokens, mask, copyable, ((place > first_length + 1) & mask).long())
