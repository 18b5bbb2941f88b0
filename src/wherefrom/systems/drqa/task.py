"""The training of DrQA's reader: a question over a passage that answers it, loss -log P_start - log P_end.

A microbatch names its examples by number; words, matches and features are put together on the device, where all of the
material lies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy
import torch
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.networks.spans import best_spans
from wherefrom.origin import file_hash
from wherefrom.systems.drqa.network import DrQANetwork, DrQASettings, Logits, soft_loss, span_loss
from wherefrom.systems.drqa.settings import DrQATaskSettings, VectorKind
from wherefrom.systems.drqa.teacher import ReaderTeacher
from wherefrom.train.batching import LazyBatches, bucketed, moved
from wherefrom.train.checkpoint import load_weights
from wherefrom.train.material import Material, Numbers
from wherefrom.train.task import TaskFacts

_ON_DEVICE = (
    "question_tokens",
    "question_starts",
    "passage_tokens",
    "passage_starts",
    "passage_pos",
    "passage_ner",
    "passage_count",
    "form_word",
    "word_stem",
    "word_pieces",
    "word_pieces_until",
    "question",
    "passage",
)


@dataclass(frozen=True, slots=True)
class DrQABatch:
    """A microbatch: examples by number, how long their texts are, and where the answers are."""

    example: Tensor  # (batch,)
    question_lengths: tuple[int, ...]
    passage_lengths: tuple[int, ...]
    gold: Tensor  # (golds, 3): row, first and last token of an answer


@dataclass(frozen=True, slots=True)
class DrQATexts:
    """What the network is given, but for the vectors."""

    question: Tensor  # (batch, words)
    passage: Tensor  # (batch, tokens): words
    exact: Tensor  # (batch, tokens, 3)
    pos: Tensor  # (batch, tokens)
    ner: Tensor  # (batch, tokens)
    tf: Tensor  # (batch, tokens)


class DrQAColumns(Material):
    """The tensors of the material and every word's vector, moved to the device that asks for them."""

    def __init__(self, path: Path, vectors: VectorKind) -> None:
        super().__init__(path)
        self.table = word_vectors(self._here, vectors)  # (words, width) fp16

    def on(self, device: torch.device) -> Mapping[str, Tensor]:
        if device != self._device or not self._there:
            self._there = {name: self._here[name].to(device) for name in _ON_DEVICE}
            self._there["table"] = self.table.to(device)
            self._device = device
        return self._there


def word_vectors(tensors: Mapping[str, Tensor], kind: VectorKind) -> Tensor:
    """(words, width) fp16: GloVe's vector, the mean over the word's pieces, or both side by side."""
    if kind == "glove":
        return tensors["glove"]
    until, pieces = tensors["word_pieces_until"].long(), tensors["word_pieces"].long()
    counts = until.diff()
    word = torch.repeat_interleave(torch.arange(len(counts)), counts)
    sums = torch.zeros(len(counts), tensors["pieces"].shape[1]).index_add_(0, word, tensors["pieces"].float()[pieces])
    means = (sums / counts.clamp(min=1)[:, None]).half()
    return means if kind == "pieces" else torch.cat([tensors["glove"], means], -1)


def assembled(material: Mapping[str, Tensor], batch: DrQABatch) -> DrQATexts:
    """The words and features of the examples, padded on the right."""

    def places(name: str, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """(batch, longest) each: where every token lies, and whether there is one."""
        first = material[f"{name}_starts"][material[name][batch.example].long()].long()[:, None]
        step = torch.arange(max(lengths), device=first.device)[None]
        inside = step < torch.tensor(list(lengths), device=first.device)[:, None]
        return (first + step).clamp(max=len(material[f"{name}_tokens"]) - 1), inside

    question_places, real = places("question", batch.question_lengths)
    passage_places, inside = places("passage", batch.passage_lengths)
    question = torch.where(real, material["question_tokens"][question_places].long(), 0)
    passage = torch.where(inside, material["passage_tokens"][passage_places].long(), 0)
    question_words, passage_words = material["form_word"][question].long(), material["form_word"][passage].long()
    question_stems, passage_stems = material["word_stem"][question_words], material["word_stem"][passage_words]
    exact = torch.stack(
        [
            ((one[:, :, None] == other[:, None]) & real[:, None]).any(-1) & inside
            for one, other in ((passage, question), (passage_words, question_words), (passage_stems, question_stems))
        ],
        -1,
    )
    length = torch.tensor(batch.passage_lengths, device=passage.device)[:, None]
    return DrQATexts(
        question=question_words,
        passage=passage_words,
        exact=exact,
        pos=torch.where(inside, material["passage_pos"][passage_places], 0),
        ner=torch.where(inside, material["passage_ner"][passage_places], 0),
        tf=torch.where(inside, material["passage_count"][passage_places].float() / length, 0.0),
    )


class DrQATask:
    """Trains a `DrQANetwork`."""

    def __init__(
        self,
        material: Path,
        network: DrQASettings | None = None,
        settings: DrQATaskSettings | None = None,
        teacher: ReaderTeacher | None = None,
        start: Path | None = None,
    ) -> None:
        """`start` holds an earlier training's weights, of the same network and the same tuned words, to go on from."""
        self.settings = settings or DrQATaskSettings()
        self._material = DrQAColumns(material, self.settings.vectors)
        self._teacher = teacher
        self._start = start
        if self.settings.distillation and teacher is None:
            raise SettingsError(f"task.distillation is {self.settings.distillation}, but there is no teacher")
        self.network = replace(network or DrQASettings(), width=self._material.table.shape[1])
        self._question_lengths = self._material.lengths("question")
        self._passage_lengths = self._material.lengths("passage")

    def facts(self) -> TaskFacts:
        data = {self._material.path.name: file_hash(self._material.path)}
        if self._teacher is not None:
            data[f"teacher {self._teacher.path.name}"] = file_hash(self._teacher.path)
        if self._start is not None:
            data["start"] = file_hash(self._start)
        return TaskFacts("drqa", data, {**asdict(self.settings), "network": asdict(self.network)})

    def model(self) -> DrQANetwork:
        network = DrQANetwork(self.network)
        if self._start is not None:
            load_weights(network, self._start)
            return network
        with torch.no_grad():
            known = min(len(self._material.table), self.network.tuned + 1)
            network.tuned.weight[:known] = self._material.table[:known].float()
        return network

    def size(self, batch: DrQABatch) -> int:
        return len(batch.question_lengths)

    def batches(self, epoch: int, seed: int) -> LazyBatches[DrQABatch]:
        spans, until = self._material.column("spans"), self._material.column("spans_until")
        reached = numpy.minimum.reduceat(spans[:, 1], until[:-1]) < self.settings.max_tokens
        chosen = numpy.flatnonzero((self._material.column("valid") == 0) & reached)
        lengths = numpy.minimum(self._of_passages(chosen), self.settings.max_tokens)
        cut = bucketed(lengths.tolist(), epoch=epoch, seed=seed, size=self.settings.batch)
        return LazyBatches(cut, lambda places: self.batch(chosen[list(places)], self.settings.max_tokens))

    def loss(self, model: DrQANetwork, batch: DrQABatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        material = self._material.on(batch.example.device)
        texts = assembled(material, batch)
        logits = self._read(model, batch, texts)
        row, first, last = batch.gold.unbind(1)
        starts, ends = (torch.zeros_like(logits.start, dtype=torch.bool) for _ in range(2))
        starts[row, first] = True
        ends[row, last] = True
        loss = span_loss(logits, starts, ends)
        if not self.settings.distillation or self._teacher is None:
            return loss, {}
        lengths, temperature = (batch.question_lengths, batch.passage_lengths), self.settings.temperature
        chances = self._teacher.chances(material, texts.question, lengths[0], texts.passage, lengths[1], temperature)
        soft = soft_loss(logits, *chances, temperature)
        return loss + self.settings.distillation * soft, {"span": loss.detach(), "distillation": soft.detach()}

    def evaluate(self, model: DrQANetwork) -> Mapping[str, float]:
        """Exact match and F1 of words, articles and signs apart, on whole passages of the validation part."""
        predictions = self.predicted(model)
        exact = overlap = 0.0
        for number, span in predictions.items():
            answer = self._content_words(number, span)
            golds = [self._content_words(number, gold) for gold in self._material.spans(number)]
            exact += answer in golds
            overlap += max(_f1(answer, gold) for gold in golds)
        count = max(len(predictions), 1)
        return {"em": 100 * exact / count, "f1": 100 * overlap / count}

    def predicted(self, model: DrQANetwork, batch: int = 256) -> dict[int, tuple[int, int]]:
        """The best span of every validation example that is evaluated on."""
        device = model.tuned.weight.device
        valid = numpy.flatnonzero(self._material.column("valid") == 1).tolist()
        numbers = numpy.array(evenly_spread(valid, self.settings.valid_questions), numpy.int64)
        ordered = numbers[numpy.argsort(self._of_passages(numbers), kind="stable")]
        predictions: dict[int, tuple[int, int]] = {}
        for begin in range(0, len(ordered), batch):
            part = ordered[begin : begin + batch]
            examples = moved(self.batch(part, int(self._passage_lengths.max())), device)
            logits = self._read(model, examples, assembled(self._material.on(device), examples))
            spans = best_spans(logits.start, logits.end, self.settings.max_span, 1)
            starts, ends = spans.start[:, 0].tolist(), spans.end[:, 0].tolist()
            predictions |= zip(part.tolist(), zip(starts, ends, strict=True), strict=True)
        return predictions

    def batch(self, numbers: Numbers, longest: int) -> DrQABatch:
        """A microbatch of these examples; passages are cut to `longest`."""
        questions = self._question_lengths[self._material.column("question")[numbers]]
        passages = numpy.minimum(self._of_passages(numbers), longest)
        golds = [
            (row, first, last)
            for row, number in enumerate(numbers.tolist())
            for first, last in self._material.spans(number)
            if last < passages[row]
        ]
        return DrQABatch(
            example=torch.from_numpy(numbers.astype(numpy.int64)),
            question_lengths=tuple(numpy.minimum(questions, self.settings.max_question).tolist()),
            passage_lengths=tuple(passages.tolist()),
            gold=torch.tensor(golds, dtype=torch.long).reshape(-1, 3),
        )

    def _of_passages(self, examples: Numbers) -> Numbers:
        """How many tokens the passages of these examples have."""
        lengths: Numbers = self._passage_lengths[self._material.column("passage")[examples]]
        return lengths

    def _content_words(self, number: int, span: tuple[int, int]) -> list[int]:
        """The words of a span that count when answers are compared."""
        begin = int(self._material.column("passage_starts")[self._material.column("passage")[number]])
        forms = self._material.column("passage_tokens")[begin + span[0] : begin + span[1] + 1]
        words = self._material.column("form_word")[forms]
        return words[self._material.column("silent")[words] == 0].tolist()  # type: ignore[no-any-return]

    def _read(self, model: DrQANetwork, batch: DrQABatch, texts: DrQATexts) -> Logits:
        table = self._material.on(batch.example.device)["table"]
        features = model.features(texts.exact, texts.pos, texts.ner, texts.tf)
        question, passage = model.vectors(texts.question, table), model.vectors(texts.passage, table)
        logits: Logits = model(question, batch.question_lengths, passage, batch.passage_lengths, features)
        return logits


def _f1(answer: Sequence[int], gold: Sequence[int]) -> float:
    """Token F1 of two bags of words; two empty ones agree."""
    if not answer or not gold:
        return float(list(answer) == list(gold))
    return 2 * (Counter(answer) & Counter(gold)).total() / (len(answer) + len(gold))
