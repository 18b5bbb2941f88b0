"""Training of a network that asks: SQuAD's training questions, each about its answer in its passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy
import torch
from torch import Tensor

from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.origin import file_hash
from wherefrom.systems.asker.network import AskerNetwork, QuestionDecoderSettings
from wherefrom.train.batching import LazyBatches, bucketed, moved
from wherefrom.train.checkpoint import load_weights, saved_layers
from wherefrom.train.material import Material, Numbers
from wherefrom.train.task import TaskFacts


@dataclass(frozen=True, slots=True)
class AskerTaskSettings:
    """What the asker sees."""

    max_tokens: int = 256  # of a passage; a longer one is cut around its answer
    tokens: int = 24_576  # of a microbatch, padding included
    answer: float = 0.2  # weight of finding answers beside that of writing questions
    answers: int = 4  # one passage in so many is also read for finding answers, which is the easier of the two
    classify: int = 101  # [CLS], also what a question begins with
    separate: int = 102  # [SEP], also what a question ends with
    valid_questions: int = 1000


@dataclass(frozen=True, slots=True)
class AskerBatch:
    """A microbatch: passages with an answer in each, and a question."""

    tokens: Tensor  # (batch, length): [CLS] passage [SEP]
    mask: Tensor  # (batch, length)
    first: Tensor  # (batch,) where the answer begins
    last: Tensor  # (batch,) its last token
    question: Tensor  # (batch, steps): [CLS] question [SEP]
    question_mask: Tensor  # (batch, steps) true at tokens of the question, [CLS] and [SEP] among them


class AskerTask:
    """Trains an `AskerNetwork` on SQuAD's training questions."""

    def __init__(
        self,
        material: Path,
        encoder: EncoderSettings,
        start: Path | None,
        settings: AskerTaskSettings | None = None,
        network: QuestionDecoderSettings | None = None,
    ) -> None:
        """`start` holds a trained reader, whose encoder the asker begins with."""
        self.settings = settings or AskerTaskSettings()
        self._network = network or QuestionDecoderSettings()
        self._material = Material(material)
        self._start = start
        self._encoder = replace(encoder, layers=saved_layers(start)) if start else encoder
        column = self._material.column
        until, spans = column("spans_until"), column("spans")
        rows = numpy.flatnonzero(self._material.of_source("squad") & (column("gold") >= 0))
        first = spans[until[rows]].astype(numpy.int64)
        questions = self._material.lengths("question")[column("question")[rows]]
        fits = (first[:, 1] - first[:, 0] < self._network.longest_answer) & (questions < self._network.longest)
        self._rows, self._spans = rows[fits], first[fits]
        self._valid = column("valid")[self._rows] == 1

    def facts(self) -> TaskFacts:
        data = {self._material.path.name: file_hash(self._material.path)}
        if self._start is not None:
            data["start"] = file_hash(self._start)
        return TaskFacts("asker", data, {**asdict(self.settings), "network": asdict(self._network)})

    def model(self) -> AskerNetwork:
        network = AskerNetwork(self._encoder, self._network)
        if self._start is not None:
            reader = ReaderNetwork(self._encoder)
            load_weights(reader, self._start, without=("match.",))
            network.encoder.load_state_dict(reader.encoder.state_dict())
        return network

    def size(self, batch: AskerBatch) -> int:
        return len(batch.tokens)

    def batches(self, epoch: int, seed: int) -> LazyBatches[AskerBatch]:
        rows = numpy.flatnonzero(~self._valid)
        passages = self._material.lengths("passage")[self._material.column("gold")[self._rows[rows]]]
        lengths = numpy.minimum(passages + 2, self.settings.max_tokens).tolist()
        cut = bucketed(lengths, epoch=epoch, seed=seed, tokens=self.settings.tokens)
        return LazyBatches(cut, lambda places: self._batch(rows[numpy.array(places)]))

    def loss(self, model: AskerNetwork, batch: AskerBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        tokens, mask, first, last = (
            part[:: self.settings.answers] for part in (batch.tokens, batch.mask, batch.first, batch.last)
        )
        passage = inside(mask)
        plain = model.read(tokens, mask)
        at = torch.arange(len(tokens), device=tokens.device)
        starts = torch.log_softmax(model.starts(plain, passage), -1)[at, first]
        ends = torch.log_softmax(model.ends(plain, passage, first), -1)[at, last]
        answer = -(starts + ends).mean()
        states = model.read(batch.tokens, batch.mask, marked(batch.tokens, batch.first, batch.last))
        written, wanted, real = batch.question[:, :-1], batch.question[:, 1:], batch.question_mask[:, 1:]
        question = -(model.log_chances(states, batch.mask, batch.tokens, written, wanted) * real).sum() / real.sum()
        parts = {"question": question.detach(), "answer": answer.detach()}
        return question + self.settings.answer * answer, parts

    def evaluate(self, model: AskerNetwork) -> Mapping[str, float]:
        """The losses on questions about validation articles."""
        rows = numpy.flatnonzero(self._valid)
        rows = rows[:: max(1, len(rows) // max(1, self.settings.valid_questions))]
        device = next(model.parameters()).device
        sums = {"loss": 0.0, "question": 0.0, "answer": 0.0}
        for begin in range(0, len(rows), 64):
            batch = rows[begin : begin + 64]
            total, parts = self.loss(model, moved(self._batch(batch), device))
            for name, value in {"loss": total, **parts}.items():
                sums[name] += float(value) * len(batch)
        return {name: value / max(1, len(rows)) for name, value in sums.items()}

    def _batch(self, places: Numbers) -> AskerBatch:
        rows, column = self._rows[places], self._material.column
        passages, settings, text = column("gold")[rows], self.settings, self._material.text
        most = settings.max_tokens - 2
        spans = self._spans[places]
        lengths = self._material.lengths("passage")[passages]
        cut = numpy.maximum(0, numpy.minimum(spans[:, 0] - most // 2, lengths - most))
        tokens, mask = padded(
            [text("passage", number)[c : c + most] for number, c in zip(passages, cut, strict=True)], settings
        )
        question, question_mask = padded([text("question", n) for n in column("question")[rows]], settings, 1)
        first, last = (torch.from_numpy(spans[:, side] - cut + 1) for side in (0, 1))
        return AskerBatch(tokens, mask, first, last, question, question_mask)


def padded(texts: Sequence[Numbers], settings: AskerTaskSettings, multiple: int = 8) -> tuple[Tensor, Tensor]:
    """`[CLS] text [SEP]`, padded to such a multiple: the tokens and where they are real."""
    longest = -(-(max(len(text) for text in texts) + 2) // multiple) * multiple
    tokens = numpy.zeros((len(texts), longest), numpy.int64)
    tokens[:, 0] = settings.classify
    for row, text in zip(tokens, texts, strict=True):
        row[1 : len(text) + 1] = text
        row[len(text) + 1] = settings.separate
    lengths = numpy.array([len(text) + 2 for text in texts])
    return torch.from_numpy(tokens), torch.from_numpy(numpy.arange(longest)[None] < lengths[:, None])


def inside(mask: Tensor) -> Tensor:
    """The passage without its [CLS] and [SEP]."""
    within = mask & mask.roll(-1, 1)
    within[:, 0] = False
    return within


def marked(tokens: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """True at the answer's tokens."""
    place = torch.arange(tokens.shape[1], device=tokens.device)[None]
    return (place >= first[:, None]) & (place <= last[:, None])
