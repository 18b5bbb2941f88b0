"""The embedder's training: of all passages of a batch, the one that answers is nearest to its question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.origin import file_hash
from wherefrom.systems.embedder.network import EmbedderNetwork, contrast, structure, taught
from wherefrom.systems.embedder.pairs import CLASSIFY, SEPARATE, SOURCES, PairColumns
from wherefrom.train.batching import LazyBatches
from wherefrom.train.seeds import seed_of
from wherefrom.train.task import TaskFacts

_EMBEDDED = 256  # passages at a time, when it is measured
_DEPTHS = (1, 20)
_Ints = NDArray[numpy.int64]


@dataclass(frozen=True, slots=True)
class EmbedderTaskSettings:
    """What is shown, and what counts."""

    shares: Mapping[str, int] = field(  # of a source's questions, how often an epoch shows each
        default_factory=lambda: {"squad": 1, "typed": 1, "nq": 8, "manuals": 2, "headings": 1}
    )
    questions: int = 256  # of a batch; the passages of all are negatives of each
    negatives: int = 2  # beside them, of those that a search finds for the question
    passage: int = 192  # tokens
    reader: float = 0.5  # weight of what the reader says of a question's own list; 0 without one
    structure: float = 10.0  # weight of how near gte-small finds the passages of a batch to each other
    temperature: float = 2.0  # of the reader's logits
    bounded: bool = True  # whether [CLS] and [SEP] stand around a text
    valid: int = 600  # questions of each source that are held out to measure by
    searched: int = 30_000  # passages that they are measured over, the right ones among them

    def __post_init__(self) -> None:
        if min(self.questions, self.passage, self.valid, self.searched) < 1 or self.negatives < 0:
            raise SettingsError(
                "embedder: questions, passage, valid and searched must be above 0, negatives at least 0"
            )
        if unknown := set(self.shares) - set(SOURCES):
            raise SettingsError(f"embedder.shares knows no source {', '.join(sorted(unknown))}; there are {SOURCES}")


@dataclass(frozen=True, slots=True)
class EmbedderBatch:
    """Questions and passages; the first passage of each list is right."""

    questions: Tensor  # (questions, length)
    question_mask: Tensor
    passages: Tensor  # (passages, length), each once
    passage_mask: Tensor
    lists: Tensor  # (questions, 1 + negatives), places among the passages
    there: Tensor  # (questions, 1 + negatives), whether the list goes on so far
    logits: Tensor  # (questions, 1 + negatives), of the reader
    heard: Tensor  # (questions, 1 + negatives), whether the reader was asked
    given: Tensor  # (passages, width of gte-small) its vectors; of no width where it was not asked


class EmbedderTask:
    """Trains a network of either kind; `make` gives it as it begins."""

    def __init__(
        self, pairs: Path, make: Callable[[], EmbedderNetwork], settings: EmbedderTaskSettings, lessons: Path | None
    ) -> None:
        self.settings = settings
        self._pairs = PairColumns(pairs)
        self._make = make
        self._lessons_path = lessons
        self._lessons = {} if lessons is None else load_file(lessons)

    def facts(self) -> TaskFacts:
        files = {self._pairs.path.name: file_hash(self._pairs.path)}
        if self._lessons_path is not None:
            files[self._lessons_path.name] = file_hash(self._lessons_path)
        return TaskFacts("embedder", files, asdict(self.settings))

    def model(self) -> EmbedderNetwork:
        return self._make()

    def batches(self, epoch: int, seed: int) -> LazyBatches[EmbedderBatch]:
        chance = numpy.random.default_rng(seed_of("embedder", seed, epoch))
        shown = [
            numpy.repeat(self._pairs.of_source(name, False), times) for name, times in self.settings.shares.items()
        ]
        order = chance.permutation(numpy.concatenate(shown))
        size = min(self.settings.questions, len(order))
        plan = [order[begin : begin + size].tolist() for begin in range(0, len(order) - size + 1, size)]

        def make(chosen: Sequence[int]) -> EmbedderBatch:
            return self._batch(chosen, numpy.random.default_rng(seed_of("embedder lists", seed, epoch, int(chosen[0]))))

        return LazyBatches(plan, make)

    def size(self, batch: EmbedderBatch) -> int:
        return len(batch.questions)

    def loss(self, model: EmbedderNetwork, batch: EmbedderBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        questions = model(batch.questions, batch.question_mask).float()
        passages = model(batch.passages, batch.passage_mask).float()
        with _exactly(questions):
            return self._losses(model, batch, questions, passages)

    def _losses(
        self, model: EmbedderNetwork, batch: EmbedderBatch, questions: Tensor, passages: Tensor
    ) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        scores = model.scale.clamp(1.0, 100.0) * questions @ passages.T  # (questions, passages)
        # One passage may be right for several questions: it stands once, and is nobody's negative where it is right.
        right = batch.lists[:, 0]
        parts: dict[str, Tensor | float] = {"contrast": contrast(scores, right, torch.zeros_like(scores).bool())}
        loss = parts["contrast"]
        if self.settings.reader and bool(batch.heard.any()):
            own = scores.gather(1, batch.lists)
            parts["reader"] = taught(own, batch.logits, batch.heard & batch.there, self.settings.temperature)
            loss = loss + self.settings.reader * parts["reader"]
        if self.settings.structure and batch.given.shape[1]:
            parts["structure"] = structure(passages, batch.given.float())
            loss = loss + self.settings.structure * parts["structure"]
        assert isinstance(loss, Tensor)
        return loss, parts

    def evaluate(self, model: EmbedderNetwork) -> Mapping[str, float]:
        """How often the right passage is the nearest of all that are searched, and among the nearest twenty."""
        device = next(model.parameters()).device
        held_out = {
            name: evenly_spread(self._pairs.of_source(name, True).tolist(), self.settings.valid)
            for name in self.settings.shares
        }
        gold = sorted({int(self._pairs["gold"][number]) for chosen in held_out.values() for number in chosen})
        others = evenly_spread(range(self._pairs.passages), max(0, self.settings.searched - len(gold)))
        searched = sorted({*gold, *others})
        place = {passage: at for at, passage in enumerate(searched)}
        passages = self._vectors(model, "passage", searched, device)
        metrics: dict[str, float] = {}
        for name, chosen in held_out.items():
            if not chosen:
                continue
            questions = self._vectors(model, "question", chosen, device)
            with _exactly(questions):
                scores = questions @ passages.T  # (questions, passages)
            right = torch.tensor([place[int(self._pairs["gold"][number])] for number in chosen], device=device)
            ranks = (scores > scores.gather(1, right[:, None])).sum(dim=1)
            for depth in _DEPTHS:
                metrics[f"{name} top_{depth}"] = 100 * float((ranks < depth).float().mean())
        deep = [value for name, value in metrics.items() if name.endswith("top_20")]
        return {**metrics, "score": sum(deep) / max(1, len(deep))}

    def _vectors(self, model: EmbedderNetwork, kind: str, numbers: Sequence[int], device: torch.device) -> Tensor:
        order = sorted(range(len(numbers)), key=lambda at: len(self._pairs.tokens(kind, numbers[at])))
        parts: list[Tensor] = []
        for begin in range(0, len(order), _EMBEDDED):
            tokens, mask = self._padded(kind, [numbers[at] for at in order[begin : begin + _EMBEDDED]])
            parts.append(model(tokens.to(device), mask.to(device)).float())
        back = torch.empty(len(order), dtype=torch.long, device=device)
        back[torch.tensor(order, device=device)] = torch.arange(len(order), device=device)
        return torch.cat(parts)[back]

    def _padded(self, kind: str, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        return padded([self._pairs.tokens(kind, number) for number in numbers], self.settings)

    def _batch(self, chosen: Sequence[int], chance: numpy.random.Generator) -> EmbedderBatch:
        gold, negatives = self._pairs["gold"], self._pairs["negatives"]
        places: dict[int, int] = {}
        lists = numpy.zeros((len(chosen), 1 + self.settings.negatives), numpy.int64)
        there = numpy.zeros_like(lists, dtype=bool)
        logits = numpy.zeros(lists.shape, numpy.float32)
        heard = numpy.zeros_like(there)
        known = self._lessons.get("reader")
        for row, number in enumerate(chosen):
            there_are = numpy.flatnonzero(negatives[number] >= 0)
            drawn = chance.permutation(there_are)[: self.settings.negatives]
            own = [int(gold[number]), *(int(negatives[number][at]) for at in drawn)]
            for column, passage in enumerate(own):
                lists[row, column] = places.setdefault(passage, len(places))
                there[row, column] = True
            if known is not None:
                columns = [0, *(1 + int(at) for at in drawn)]
                logits[row, : len(own)] = known[number][columns].numpy()
                heard[row, : len(own)] = True
        tokens, mask = self._padded("question", chosen)
        passages, passage_mask = self._padded("passage", list(places))
        vectors = self._lessons.get("vectors")
        given = torch.zeros(len(places), 0) if vectors is None else vectors[list(places)]
        return EmbedderBatch(
            questions=tokens,
            question_mask=mask,
            passages=passages,
            passage_mask=passage_mask,
            lists=torch.from_numpy(lists),
            there=torch.from_numpy(there),
            logits=torch.from_numpy(logits),
            heard=torch.from_numpy(heard),
            given=given,
        )


def _exactly(vectors: Tensor) -> torch.autocast:
    """In bf16 the scores of near passages would be the same."""
    return torch.autocast(vectors.device.type, enabled=False)


def padded(rows: Sequence[NDArray[numpy.int16]], settings: EmbedderTaskSettings) -> tuple[Tensor, Tensor]:
    """(rows, longest) twice: the tokens, and where they are."""
    kept = [row[: settings.passage] for row in rows]
    if settings.bounded:
        kept = [numpy.concatenate([numpy.array([CLASSIFY]), row, numpy.array([SEPARATE])]) for row in kept]
    longest = max(1, *(len(row) for row in kept))
    tokens = numpy.zeros((len(kept), longest), numpy.int64)
    mask = numpy.zeros((len(kept), longest), bool)
    for place, row in enumerate(kept):
        tokens[place, : len(row)] = row
        mask[place, : len(row)] = True
    return torch.from_numpy(tokens), torch.from_numpy(mask)
