"""The matcher's training: of the passages that an index finds for a question, the one that answers comes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.features.matching import MOST_QUESTION
from wherefrom.origin import file_hash
from wherefrom.systems.matcher.network import MatcherNetwork, list_loss, rarity
from wherefrom.train.batching import LazyBatches, moved
from wherefrom.train.material import SOURCES, Material
from wherefrom.train.seeds import seed_of
from wherefrom.train.task import TaskFacts

_MOST_TITLE = 24
_COUNTED = 40_000  # passages by which it is known how rare a wordpiece is
_EVALUATED = 50  # questions at a time

_Ints = NDArray[numpy.int64]


@dataclass(frozen=True, slots=True)
class MatcherTaskSettings:
    """What is shown."""

    width: int = 128  # of a vector: a wordpiece takes as many bytes at run time
    # Of a source's questions, how often an epoch shows each.
    shares: Mapping[str, int] = field(default_factory=lambda: {"ten-passages": 1, "manuals": 3, "nq": 2})
    negatives: int = 6  # passages beside the right one, those of other questions where too few were found
    passage: int = 184  # wordpieces, headings included
    questions: int = 32  # of a microbatch
    valid: int = 600  # questions of each source that are held out to measure by

    def __post_init__(self) -> None:
        if min(self.width, self.negatives, self.passage, self.questions, self.valid) < 1:
            raise SettingsError("matcher: width, negatives, passage, questions and valid must be above 0")
        if unknown := set(self.shares) - set(SOURCES):
            raise SettingsError(f"matcher.shares knows no source {', '.join(sorted(unknown))}; there are {SOURCES}")


@dataclass(frozen=True, slots=True)
class Lists:
    """Questions, each with passages of which the first is right."""

    questions: Tensor  # (questions, length)
    question_mask: Tensor  # (questions, length), true at wordpieces
    passages: Tensor  # (pairs, length)
    passage_mask: Tensor  # (pairs, length)
    group: Tensor  # (pairs,)
    place: Tensor  # (pairs,) among those of its question


class MatcherTask:
    """Trains a `MatcherNetwork`, from vectors that know each wordpiece alone."""

    def __init__(self, material: Sequence[Path], start: Path, settings: MatcherTaskSettings) -> None:
        self.settings = settings
        first, *beside = material
        self._material = Material(first, *beside)
        self._start = start

    def facts(self) -> TaskFacts:
        files = {path.name: file_hash(path) for path in (*self._material.paths, self._start)}
        return TaskFacts("matcher", files, asdict(self.settings))

    def model(self) -> MatcherNetwork:
        vectors = load_file(self._start)["vectors"][:, : self.settings.width]
        counts = torch.zeros(len(vectors))
        passages = evenly_spread(range(len(self._material.column("passage_title"))), _COUNTED)
        for passage in passages:
            counts[numpy.unique(self._passage(passage))] += 1
        return MatcherNetwork(vectors, rarity(counts, len(passages)))

    def batches(self, epoch: int, seed: int) -> LazyBatches[Lists]:
        chance = numpy.random.default_rng(seed_of("matcher", seed, epoch))
        shown = [numpy.repeat(self._answered(name, False), times) for name, times in self.settings.shares.items()]
        order = chance.permutation(numpy.concatenate(shown))
        size = self.settings.questions
        plan = [order[begin : begin + size].tolist() for begin in range(0, len(order) - size + 1, size)]

        def make(examples: Sequence[int]) -> Lists:
            drawn = numpy.random.default_rng(seed_of("matcher lists", seed, epoch, int(examples[0])))
            return self._lists(examples, drawn)

        return LazyBatches(plan, make)

    def size(self, batch: Lists) -> int:
        return len(batch.questions)

    def loss(self, model: MatcherNetwork, batch: Lists) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        scores = model(batch.questions, batch.question_mask, batch.passages, batch.passage_mask, batch.group)
        return list_loss(scores, batch.group, batch.place, len(batch.questions)), {}

    def evaluate(self, model: MatcherNetwork) -> Mapping[str, float]:
        """How often the right passage comes first of those that an index found, and its mean reciprocal rank."""
        device = next(model.parameters()).device
        metrics: dict[str, float] = {}
        for source in self.settings.shares:
            ranks: list[int] = []
            held_out = evenly_spread(self._answered(source, True).tolist(), self.settings.valid)
            for begin in range(0, len(held_out), _EVALUATED):
                lists = moved(self._lists(held_out[begin : begin + _EVALUATED]), device)
                scores = model(lists.questions, lists.question_mask, lists.passages, lists.passage_mask, lists.group)
                for question in range(len(lists.questions)):
                    own = scores[lists.group == question]
                    ranks.append(int((own > own[0]).sum()))
            if ranks:
                metrics[f"{source} p_1"] = 100 * sum(rank == 0 for rank in ranks) / len(ranks)
                metrics[f"{source} mrr"] = 100 * sum(1 / (1 + rank) for rank in ranks) / len(ranks)
        scores_of = [value for name, value in metrics.items() if name.endswith("mrr")]
        return {**metrics, "score": sum(scores_of) / max(len(scores_of), 1)}

    def _answered(self, source: str, valid: bool) -> _Ints:
        """The questions of a source that a passage answers."""
        column = self._material.column
        chosen: _Ints = numpy.flatnonzero(
            self._material.of_source(source) & (column("valid") == int(valid)) & (column("gold") >= 0)
        )
        return chosen

    def _passage(self, number: int) -> _Ints:
        """A passage's wordpieces behind those of its headings."""
        title = self._material.text("title", int(self._material.column("passage_title")[number]))[:_MOST_TITLE]
        text = self._material.text("passage", number)
        whole: _Ints = numpy.concatenate([title, text])[: self.settings.passage].astype(numpy.int64)
        return whole

    def _lists(self, examples: Sequence[int], chance: numpy.random.Generator | None = None) -> Lists:
        """All that an index found; with `chance` so many of it, and strangers in place of those that are missing."""
        gold = self._material.column("gold")
        questions, passages, group, place = [], [], [], []
        for number, example in enumerate(examples):
            others = [other for other in self._material.others(example) if other != gold[example]]
            if chance is not None:
                missing = self.settings.negatives - len(others)
                if missing > 0:
                    strangers = gold[chance.choice(examples, missing)]
                    others += [other for other in strangers.tolist() if other != gold[example]]
                else:
                    others = chance.choice(others, self.settings.negatives, replace=False).tolist()
            question = self._material.column("question")[example]
            questions.append(self._material.text("question", int(question))[:MOST_QUESTION].astype(numpy.int64))
            for at, passage in enumerate([int(gold[example]), *others]):
                passages.append(self._passage(passage))
                group.append(number)
                place.append(at)
        return Lists(*_padded(questions), *_padded(passages), torch.tensor(group), torch.tensor(place))


def _padded(rows: Sequence[_Ints]) -> tuple[Tensor, Tensor]:
    """(rows, longest) twice: the numbers, and where they are."""
    longest = max(1, *(len(row) for row in rows))
    numbers = numpy.zeros((len(rows), longest), numpy.int64)
    mask = numpy.zeros((len(rows), longest), bool)
    for place, row in enumerate(rows):
        numbers[place, : len(row)] = row
        mask[place, : len(row)] = True
    return torch.from_numpy(numbers), torch.from_numpy(mask)
