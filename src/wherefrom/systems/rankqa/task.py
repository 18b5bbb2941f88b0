"""RankQA trained on kept candidates: pairs of a right and a wrong answer to one question.

The questions must be new to the reader whose candidates they are: on questions it was fitted to, its scores are better
than they will ever be again, and a re-ranker would learn to trust them. `system.py` sees to it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherefrom.config import Settings
from wherefrom.errors import SettingsError
from wherefrom.features.candidates import GROUPS, Group, features, names
from wherefrom.metrics.answers import exact_match, token_f1
from wherefrom.rerank.rankqa import Tags, spans_marked
from wherefrom.systems.rankqa.material import KeptQuestion
from wherefrom.systems.rankqa.network import RankQANetwork, Reg, pair_loss, regularizer
from wherefrom.train.batching import LazyBatches
from wherefrom.train.errors import TrainingError
from wherefrom.train.seeds import seed_of
from wherefrom.train.settings import LoopSettings
from wherefrom.train.task import TaskFacts

Pairing = Literal["drawn", "all", "adjacent"]
Pair = tuple[int, int]  # rows of the right and of the wrong candidate
Numbers = NDArray[numpy.float64]

_LEAST_SCALE = 1e-6  # a feature that never changes is left as it is


@dataclass(frozen=True, slots=True)
class RankQATaskSettings:
    """How the re-ranker is trained; the numbers are those of the source."""

    groups: tuple[str, ...] = GROUPS  # of features
    without: tuple[str, ...] = ()  # single features to leave out, for ablations
    top_k: int = 40  # candidates of a question; the report had to do with 4
    width: int = 512  # of the hidden layer
    reg: Reg = "l2"  # as the report's listing has it; l1: as its formula has it
    reg_weight: float = 5e-5
    # drawn: any two candidates. all: the first pairs of i < j, as the report's listing has it, which never sees the
    # candidates behind the tenth. adjacent: neighbours among the first, as the original paper's code has it.
    pairing: Pairing = "drawn"
    pairs: int = 10  # of one question, at most
    depth: int = 2  # adjacent: pairs that begin among so many first candidates
    batch: int = 256  # pairs
    held_out: float = 0.1  # share of the questions for early stopping

    def __post_init__(self) -> None:
        for name in ("top_k", "width", "pairs", "depth", "batch"):
            if getattr(self, name) < 1:
                raise SettingsError(f"task.{name} must be above 0, not {getattr(self, name)}")
        if not 0.0 < self.held_out < 1.0:
            raise SettingsError(f"task.held_out is a share between 0 and 1, not {self.held_out}")
        if self.reg_weight < 0:
            raise SettingsError(f"task.reg_weight must be 0 or above, not {self.reg_weight}")
        for name, choices in (("reg", Reg), ("pairing", Pairing)):
            given, known = getattr(self, name), get_args(choices)
            if given not in known:
                raise SettingsError(f"task.{name} is one of {', '.join(known)}, not {given}")
        for group in self.groups:
            if group not in GROUPS:
                raise SettingsError(f"task.groups knows no '{group}'; it knows {', '.join(GROUPS)}")
        for name in self.without:
            if name not in names():
                raise SettingsError(f"task.without knows no feature '{name}'")
        if not self.features:
            raise SettingsError("task.groups leaves no feature to look at")

    @property
    def chosen(self) -> tuple[Group, ...]:
        """The groups, in the order of their columns."""
        return tuple(group for group in GROUPS if group in self.groups)

    @property
    def features(self) -> tuple[str, ...]:
        """The features that are looked at."""
        return tuple(name for name in names(self.chosen) if name not in self.without)


LOOP = LoopSettings(
    epochs=100,
    learning_rate=5e-4,
    warmup=0.0,
    decay="none",
    weight_decay=0.0,  # the loss has a regulariser of its own
    clip=0.0,
    metric="loss",
    goal="min",
    patience=20,
    report_every=100_000,  # an epoch is a second: a line each is enough
    checkpoint_every=100_000,
)


@dataclass(frozen=True, slots=True)
class RankQARecipe:
    """How candidates are read and a re-ranker is trained on them."""

    task: RankQATaskSettings = field(default_factory=RankQATaskSettings)
    loop: LoopSettings = LOOP
    pipeline: Settings = field(default_factory=Settings)  # that the library is asked with


@dataclass(frozen=True, slots=True)
class CandidateRows:
    """One question's candidates as numbers: a row each, in the reader's order."""

    id: str
    article: str
    question: str
    features: Numbers  # (candidates, names())
    exact: NDArray[numpy.bool_]  # whether a candidate is a gold answer
    f1: Numbers  # of each candidate with the nearest gold answer


def candidate_rows(
    questions: Sequence[KeptQuestion], tagger: Tags | None, report: Callable[[int, int], None] = lambda *_: None
) -> list[CandidateRows]:
    """Kept candidates as numbers; without a tagger those of the group `tags` are 0."""
    rows = []
    for done, kept in enumerate(questions):
        if done % 100 == 0:
            report(done, len(questions))
        candidates = kept.candidates()
        marked = spans_marked(candidates, tagger) if tagger else [_NO_TAGS] * len(candidates)
        exact = [exact_match(candidate.text, kept.answers, "1.1") > 0 for candidate in candidates]
        f1 = [token_f1(candidate.text, kept.answers, "1.1") for candidate in candidates]
        numbers = features(kept.question, candidates, marked)
        right, overlap = numpy.array(exact, bool), numpy.array(f1, numpy.float64)
        rows.append(CandidateRows(kept.id, kept.article, kept.question, numbers, right, overlap))
    report(len(questions), len(questions))
    return rows


_NO_TAGS = (0.0,) * len(names(("tags",)))


def pairs_of(exact: Sequence[bool], settings: RankQATaskSettings, id: str = "") -> list[Pair]:
    """(right, wrong) places of one question's candidates, at most `settings.pairs`; the question's id is the seed."""
    exact = exact[: settings.top_k]
    later: dict[Pairing, Callable[[int], range]] = {
        "drawn": lambda i: range(i + 1, len(exact)),
        "all": lambda i: range(i + 1, len(exact)),
        "adjacent": lambda i: range(i + 1, min(i + 2, len(exact))) if i < settings.depth else range(0),
    }
    pairs = [
        (i, j) if exact[i] else (j, i)
        for i in range(len(exact))
        for j in later[settings.pairing](i)
        if exact[i] != exact[j]
    ]
    if settings.pairing == "drawn" and len(pairs) > settings.pairs:
        return random.Random(seed_of("pairs", id)).sample(pairs, settings.pairs)
    return pairs[: settings.pairs]


@dataclass(frozen=True, slots=True)
class _Part:
    """Questions for training or for early stopping, flattened."""

    features: Tensor  # (candidates of all questions, features)
    pairs: Tensor  # (pairs, 2) rows
    questions: tuple[tuple[int, int], ...]  # rows of each question
    exact: Tensor  # (candidates,)


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Features of right candidates and of wrong ones, row against row."""

    better: Tensor  # (pairs, features)
    worse: Tensor


class RankQATask:
    """The task that the loop fits: pairs in, scores out."""

    def __init__(
        self, questions: Sequence[CandidateRows], settings: RankQATaskSettings, data: Mapping[str, str]
    ) -> None:
        self.settings = settings
        self._data = data
        columns = [names().index(name) for name in settings.features]
        order = sorted(questions, key=lambda question: seed_of("rankqa", question.id))
        held = max(1, round(settings.held_out * len(order)))
        self._fitting, self._held = self._part(order[held:], columns), self._part(order[:held], columns)
        for part, name in ((self._fitting, "train"), (self._held, "stop early")):
            if not len(part.pairs):
                raise TrainingError(
                    f"{len(questions)} questions give no pair of a right and a wrong candidate to {name} on; take more "
                    "questions, or more candidates of each (task.top_k)"
                )
        seen = self._fitting.features
        scale = seen.std(dim=0, correction=0)
        self._centre = seen.mean(dim=0)
        self._scale = torch.where(scale > _LEAST_SCALE, scale, torch.ones_like(scale))

    def _part(self, questions: Sequence[CandidateRows], columns: list[int]) -> _Part:
        rows, exact, ranges = [], [], []
        pairs: list[Pair] = []
        start = 0
        for question in questions:
            kept = min(len(question.features), self.settings.top_k)
            rows.append(question.features[:kept, columns])
            exact.append(question.exact[:kept])
            pairs += [(start + a, start + b) for a, b in pairs_of(question.exact.tolist(), self.settings, question.id)]
            ranges.append((start, start + kept))
            start += kept
        together = numpy.concatenate(rows) if rows else numpy.zeros((0, len(columns)))
        right = numpy.concatenate(exact) if exact else numpy.zeros(0, bool)
        return _Part(
            torch.tensor(together, dtype=torch.float32),
            torch.tensor(pairs, dtype=torch.long).reshape(-1, 2),
            tuple(ranges),
            torch.tensor(right),
        )

    def facts(self) -> TaskFacts:
        return TaskFacts("rankqa", self._data, asdict(self.settings))

    def model(self) -> RankQANetwork:
        return RankQANetwork(self._centre, self._scale, self.settings.width)

    def batches(self, epoch: int, seed: int) -> LazyBatches[PairBatch]:
        order = list(range(len(self._fitting.pairs)))
        random.Random(seed_of("rankqa", seed, epoch)).shuffle(order)
        size = self.settings.batch
        plan = [order[start : start + size] for start in range(0, len(order), size)]
        return LazyBatches(plan, self._batch)

    def _batch(self, which: Sequence[int]) -> PairBatch:
        rows, seen = self._fitting.pairs[torch.tensor(which)], self._fitting.features
        return PairBatch(seen[rows[:, 0]], seen[rows[:, 1]])

    def size(self, batch: PairBatch) -> int:
        return len(batch.better)

    def loss(self, model: RankQANetwork, batch: PairBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        ranking = pair_loss(model(batch.better), model(batch.worse)).mean()
        reg = self.settings.reg_weight * regularizer(model, self.settings.reg)
        return ranking + reg, {"ranking": ranking.detach(), "regulariser": reg.detach()}

    def evaluate(self, model: RankQANetwork) -> Mapping[str, float]:
        """On the questions held out: the pairs' loss, and how often the first candidate is right, before and after."""
        part = self._held
        device = model.centre.device
        scores = model(part.features.to(device)).cpu()
        loss = pair_loss(scores[part.pairs[:, 0]], scores[part.pairs[:, 1]]).mean().item()
        before = after = 0
        for start, end in part.questions:
            if end > start:
                before += int(part.exact[start])
                after += int(part.exact[start + int(scores[start:end].argmax())])
        count = max(len(part.questions), 1)
        return {"loss": loss, "accuracy": 100.0 * after / count, "reader's accuracy": 100.0 * before / count}


def first_of(network: RankQANetwork, question: CandidateRows, settings: RankQATaskSettings) -> int:
    """The place of the candidate that the network puts first; ties go to the reader's order. -1 without candidates."""
    if not len(question.features):
        return -1
    columns = [names().index(name) for name in settings.features]
    rows = torch.tensor(question.features[: settings.top_k, columns], dtype=torch.float32)
    with torch.no_grad():
        return int(network(rows).argmax())
