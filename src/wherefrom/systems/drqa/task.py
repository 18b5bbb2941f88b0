"""The training of DrQA's reader: a question over a passage that answers it, loss -log P_start - log P_end.

Material comes from `drqa_data`. A microbatch names its examples by number; words, matches and features are put together
on the device, where all of the material lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.origin import file_hash
from wherefrom.systems.drqa.network import DrQANetwork, DrQASettings, Logits, best_spans, soft_loss, span_loss
from wherefrom.train import material as columns
from wherefrom.train.batching import LazyBatches, bucketed, moved
from wherefrom.train.checkpoint import load_weights, saved_layers
from wherefrom.train.task import TaskFacts

VectorKind = Literal["glove", "pieces", "both"]
Numbers = NDArray[Any]

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
class DrQATaskSettings:
    """What the reader sees and what it is asked for."""

    vectors: VectorKind = "both"  # GloVe's 100 numbers, MiniLM's wordpieces, or both side by side
    batch: int = 64  # examples of a microbatch
    max_tokens: int = 400  # of a passage in training; an answer further on is not trained on
    max_question: int = 60
    max_span: int = 15  # tokens of an answer
    distillation: float = 0.0  # weight of a teacher's starts and ends beside the gold ones; 0 trains on gold alone
    temperature: float = 2.0  # of the teacher: 1.5 to 2 shows its second guesses
    valid_questions: int = 0  # evaluated on, evenly spread; 0 takes all

    def __post_init__(self) -> None:
        for name in ("batch", "max_tokens", "max_question", "max_span", "temperature"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"task.{name} must be above 0, not {getattr(self, name)}")
        if self.distillation < 0 or self.valid_questions < 0:
            raise SettingsError("task.distillation and task.valid_questions must be 0 or above")


@dataclass(frozen=True, slots=True)
class Examples:
    """A microbatch: examples by number, how long their texts are, and where the answers are."""

    example: Tensor  # (batch,)
    asked: tuple[int, ...]
    told: tuple[int, ...]
    gold: Tensor  # (golds, 3): row, first and last token of an answer


@dataclass(frozen=True, slots=True)
class Texts:
    """What the network is given, but for the vectors."""

    question: Tensor  # (batch, asked) words
    passage: Tensor  # (batch, told) words
    exact: Tensor  # (batch, told, 3)
    pos: Tensor  # (batch, told)
    ner: Tensor  # (batch, told)
    tf: Tensor  # (batch, told)


class Material(columns.Material):
    """The tensors of `drqa_data`, moved to the device that asks for them."""

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


def assembled(material: Mapping[str, Tensor], examples: Examples) -> Texts:
    """The words and features of the examples, padded on the right."""

    def places(name: str, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """(batch, longest) each: where every token lies, and whether there is one."""
        first = material[f"{name}_starts"][material[name][examples.example].long()].long()[:, None]
        step = torch.arange(max(lengths), device=first.device)[None]
        inside = step < torch.tensor(list(lengths), device=first.device)[:, None]
        return (first + step).clamp(max=len(material[f"{name}_tokens"]) - 1), inside

    (heard, real), (read, inside) = places("question", examples.asked), places("passage", examples.told)
    question = torch.where(real, material["question_tokens"][heard].long(), 0)
    passage = torch.where(inside, material["passage_tokens"][read].long(), 0)
    question_words, passage_words = material["form_word"][question].long(), material["form_word"][passage].long()
    question_stems, passage_stems = material["word_stem"][question_words], material["word_stem"][passage_words]
    exact = torch.stack(
        [
            ((one[:, :, None] == other[:, None]) & real[:, None]).any(-1) & inside
            for one, other in ((passage, question), (passage_words, question_words), (passage_stems, question_stems))
        ],
        -1,
    )
    length = torch.tensor(examples.told, device=passage.device)[:, None]
    return Texts(
        question=question_words,
        passage=passage_words,
        exact=exact,
        pos=torch.where(inside, material["passage_pos"][read], 0),
        ner=torch.where(inside, material["passage_ner"][read], 0),
        tf=torch.where(inside, material["passage_count"][read].float() / length, 0.0),
    )


class ReaderTeacher:
    """The reader network as a teacher: it reads the pieces of the same words.

    BERT cuts text at the same places as `features.tokens`, and more: a word's pieces are inside it, so that a chance of
    a piece is a chance of its word.
    """

    longest = 512  # pieces of question and passage; what is further on gets no chance

    def __init__(self, path: Path, encoder: EncoderSettings, classify: int = 101, separate: int = 102) -> None:
        """`encoder` may have more or fewer layers than the weights: these tell."""
        self.path = path
        self._network = ReaderNetwork(replace(encoder, layers=saved_layers(path))).eval().requires_grad_(False)
        load_weights(self._network, path, without=("match.",))
        self._classify, self._separate = classify, separate

    @torch.no_grad()
    def chances(
        self, material: Mapping[str, Tensor], texts: Texts, examples: Examples, temperature: float
    ) -> tuple[Tensor, Tensor]:
        """For every token of the passages the chance to be the start and the end: (batch, told) each."""
        device = texts.passage.device
        self._network.to(device)
        question, _, asked = _pieces(material, texts.question, examples.asked)
        passage, word, told = _pieces(material, texts.passage, examples.told)
        at = asked + 2  # (batch, 1): where the passage begins, behind [CLS] question [SEP]
        whole = min(self.longest, int((at + told + 1).max()))
        place = torch.arange(whole, device=device)[None]
        inside = (place >= at) & (place < at + told)
        tokens = torch.where(inside, passage.gather(1, (place - at).clamp(0, passage.shape[1] - 1)), 0)
        heard = question.gather(1, (place - 1).clamp(0, question.shape[1] - 1).expand(len(question), -1))
        tokens = torch.where((place >= 1) & (place <= asked), heard, tokens)
        tokens = torch.where((place == asked + 1) | (place == at + told), self._separate, tokens)
        tokens = torch.where(place == 0, self._classify, tokens)
        mask = place <= at + told
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            read = self._network(tokens, mask, inside, ((place >= at) & mask).long())
        owner = torch.where(inside, word.gather(1, (place - at).clamp(0, word.shape[1] - 1)), 0)

        def spread(logits: Tensor) -> Tensor:
            chance = torch.softmax((logits.float() / temperature).masked_fill(~inside, -torch.inf), -1)
            return torch.zeros(texts.passage.shape, device=device).scatter_add_(1, owner, chance)

        return spread(read.start), spread(read.end)


def _pieces(material: Mapping[str, Tensor], words: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Words as pieces, (batch, pieces), the number of each piece's word in its text, and how many there are."""
    until = material["word_pieces_until"].long()
    real = torch.arange(words.shape[1], device=words.device) < torch.tensor(lengths, device=words.device)[:, None]
    counts = torch.where(real, until[words + 1] - until[words], 0)
    ends = counts.cumsum(1)  # (batch, words)
    total = ends[:, -1:]
    place = torch.arange(int(total.max()), device=words.device).expand(len(words), -1).contiguous()
    word = torch.searchsorted(ends, place, right=True).clamp(max=words.shape[1] - 1)
    first = (ends - counts).gather(1, word)
    found = (until[words.gather(1, word)] + place - first).clamp(max=len(material["word_pieces"]) - 1)
    return material["word_pieces"][found].long(), word, total


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
        self._material = Material(material, self.settings.vectors)
        self._teacher = teacher
        self._start = start
        if self.settings.distillation and teacher is None:
            raise SettingsError(f"task.distillation is {self.settings.distillation}, but there is no teacher")
        self.network = replace(network or DrQASettings(), width=self._material.table.shape[1])
        self._asked, self._told = self._material.lengths("question"), self._material.lengths("passage")

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

    def size(self, batch: Examples) -> int:
        return len(batch.asked)

    def batches(self, epoch: int, seed: int) -> LazyBatches[Examples]:
        spans, until = self._material.column("spans"), self._material.column("spans_until")
        reached = numpy.minimum.reduceat(spans[:, 1], until[:-1]) < self.settings.max_tokens
        chosen = numpy.flatnonzero((self._material.column("valid") == 0) & reached)
        lengths = numpy.minimum(self._told[self._material.column("passage")[chosen]], self.settings.max_tokens)
        cut = bucketed(lengths.tolist(), epoch=epoch, seed=seed, size=self.settings.batch)
        return LazyBatches(cut, lambda places: self.examples(chosen[list(places)], self.settings.max_tokens))

    def loss(self, model: DrQANetwork, batch: Examples) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        texts = self._texts(batch)
        logits = self._read(model, batch, texts)
        row, first, last = batch.gold.unbind(1)
        starts, ends = (torch.zeros_like(logits.start, dtype=torch.bool) for _ in range(2))
        starts[row, first] = True
        ends[row, last] = True
        loss = span_loss(logits, starts, ends)
        if not self.settings.distillation or self._teacher is None:
            return loss, {}
        material, temperature = self._material.on(batch.example.device), self.settings.temperature
        soft = soft_loss(logits, *self._teacher.chances(material, texts, batch, temperature), temperature)
        return loss + self.settings.distillation * soft, {"span": loss.detach(), "distillation": soft.detach()}

    def evaluate(self, model: DrQANetwork) -> Mapping[str, float]:
        """Exact match and F1 of words, articles and signs apart, on whole passages of the validation part."""
        found = self.predicted(model)
        words, silent = self._material.column("form_word"), self._material.column("silent")
        tokens, starts = self._material.column("passage_tokens"), self._material.column("passage_starts")
        exact = overlap = 0.0
        for number, (first, last) in found.items():
            begin = int(starts[self._material.column("passage")[number]])

            def said(first: int, last: int, begin: int = begin) -> list[int]:
                spoken = words[tokens[begin + first : begin + last + 1]]
                return spoken[silent[spoken] == 0].tolist()  # type: ignore[no-any-return]

            told = said(first, last)
            golds = [said(a, b) for a, b in self._material.spans(number)]
            exact += told in golds
            overlap += max(_f1(told, gold) for gold in golds)
        return {"em": 100 * exact / max(len(found), 1), "f1": 100 * overlap / max(len(found), 1)}

    def predicted(self, model: DrQANetwork, batch: int = 256) -> dict[int, tuple[int, int]]:
        """The best span of every validation example that is evaluated on."""
        device = model.tuned.weight.device
        numbers = numpy.flatnonzero(self._material.column("valid") == 1)
        count = min(self.settings.valid_questions or len(numbers), len(numbers))
        numbers = numbers[numpy.arange(count) * len(numbers) // max(count, 1)]
        ordered = numbers[numpy.argsort(self._told[self._material.column("passage")[numbers]], kind="stable")]
        found: dict[int, tuple[int, int]] = {}
        for begin in range(0, len(ordered), batch):
            some = ordered[begin : begin + batch]
            examples = moved(self.examples(some, int(self._told.max())), device)
            logits = self._read(model, examples, self._texts(examples))
            spans = best_spans(logits, self.settings.max_span).tolist()
            found |= {int(number): (first, last) for number, (first, last) in zip(some, spans, strict=True)}
        return found

    def examples(self, numbers: Numbers, longest: int) -> Examples:
        """A microbatch of these examples; passages are cut to `longest`."""
        asked = numpy.minimum(self._asked[self._material.column("question")[numbers]], self.settings.max_question)
        told = numpy.minimum(self._told[self._material.column("passage")[numbers]], longest)
        golds = [
            (row, first, last)
            for row, number in enumerate(numbers.tolist())
            for first, last in self._material.spans(number)
            if last < told[row]
        ]
        return Examples(
            example=torch.from_numpy(numbers.astype(numpy.int64)),
            asked=tuple(asked.tolist()),
            told=tuple(told.tolist()),
            gold=torch.tensor(golds, dtype=torch.long).reshape(-1, 3),
        )

    def _texts(self, batch: Examples) -> Texts:
        return assembled(self._material.on(batch.example.device), batch)

    def _read(self, model: DrQANetwork, batch: Examples, texts: Texts) -> Logits:
        table = self._material.on(batch.example.device)["table"]
        features = model.features(texts.exact, texts.pos, texts.ner, texts.tf)
        question, passage = model.vectors(texts.question, table), model.vectors(texts.passage, table)
        logits: Logits = model(question, batch.asked, passage, batch.told, features)
        return logits


def _f1(told: Sequence[int], gold: Sequence[int]) -> float:
    """Token F1 of two bags of words; two empty ones agree."""
    if not told or not gold:
        return float(list(told) == list(gold))
    left = list(gold)
    same = 0
    for word in told:
        if word in left:
            left.remove(word)
            same += 1
    return 2 * same / (len(told) + len(gold))
