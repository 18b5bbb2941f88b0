"""QASA's training: a question's positives against its negatives, which Algorithm 3.1 picks anew for every epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy
import torch
from torch import Tensor, nn

from wherefrom.origin import file_hash
from wherefrom.systems.qasa.lists import Numbers, PassageLists
from wherefrom.systems.qasa.network import QasaNetwork, WordTexts, margin_loss
from wherefrom.systems.qasa.settings import QasaNetworkSettings, QasaTaskSettings
from wherefrom.train.batching import LazyBatches, bucketed, moved
from wherefrom.train.errors import TrainingError
from wherefrom.train.seeds import seed_of
from wherefrom.train.task import TaskFacts

_AT_A_TIME = 16  # questions, each with its whole list
_TOP = (1, 3, 5)
_READY_BY = 500  # dev questions that tell whether a network is ready for hard negatives; others it knows by heart


@dataclass(frozen=True, slots=True)
class QasaBatch:
    """Questions with passages of their lists."""

    words: Tensor  # (distinct,) numbers of the words that occur
    letters: Tensor  # (distinct, letters)
    letter_counts: Tensor  # (distinct,)
    questions: WordTexts
    passages: WordTexts
    group: Tensor  # (passages,) the question of each
    positive: Tensor  # (passages,)


class QasaTask:
    """Trains a `QasaNetwork`; `Adapting`: negatives follow from how it went."""

    def __init__(self, lists: Path, network: QasaNetworkSettings, settings: QasaTaskSettings) -> None:
        self.settings = settings
        self.network = network
        self._lists = PassageLists(lists)
        self._hard: Numbers | None = None  # (questions of `_learnt`, n) places in lists; -1 where there are fewer
        self._vectors = torch.from_numpy(self._lists.column("vectors"))
        positive = self._lists.column("list_positive")
        self._learnt = [
            question
            for question in self._lists.questions(False)
            if 0 < positive[(places := self._places(question))].sum() < len(places)
        ]

    def facts(self) -> TaskFacts:
        data = {self._lists.path.name: file_hash(self._lists.path)}
        return TaskFacts("qasa", data, {**asdict(self.settings), "network": asdict(self.network)})

    def model(self) -> QasaNetwork:
        return QasaNetwork(self._vectors.shape[1], self.network)

    def batches(self, epoch: int, seed: int) -> LazyBatches[QasaBatch]:
        if not self._learnt:
            raise TrainingError(f"no question of {self._lists.path} has both a passage with the answer and one without")
        plan = bucketed([1] * len(self._learnt), epoch=epoch, seed=seed, size=self.settings.batch)
        return LazyBatches(plan, lambda rows: self._drawn(rows, epoch, seed))

    def size(self, batch: QasaBatch) -> int:
        return len(batch.questions.lengths)

    def loss(self, model: QasaNetwork, batch: QasaBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        scores = self._scores(model, batch)
        return margin_loss(scores.float(), batch.group, batch.positive, self.settings.margin), {}

    def evaluate(self, model: QasaNetwork) -> Mapping[str, float]:
        """How many questions have a positive among the first 1, 3, 5 of their list, in per cent of all of them."""
        return shares(self.ranked(model, self._lists.questions(True)))

    def adapt(self, model: nn.Module, stale: int) -> Mapping[str, Tensor]:
        """Algorithm 3.1: after an epoch without a gain the n negatives that the best network ranks highest.

        A network that has learnt nothing yet goes on with random ones.
        """
        wanted = self.settings.negatives
        assert isinstance(model, QasaNetwork)
        if wanted == "random" or (wanted == "mixed" and not (stale and self._ready(model))):
            return {}
        positive = self._lists.column("list_positive")
        hard = numpy.full((len(self._learnt), self.settings.each), -1, numpy.int64)
        for row, (question, scores) in enumerate(zip(self._learnt, self.scores(model, self._learnt), strict=True)):
            places = numpy.array(self._lists.of(question, self.settings.length))
            wrong = numpy.flatnonzero(positive[places] == 0)
            worst = places[wrong[numpy.argsort(-scores[wrong], kind="stable")]][: self.settings.each]
            hard[row, : len(worst)] = worst
        return {"hard": torch.from_numpy(hard)}

    def _ready(self, model: QasaNetwork) -> bool:
        """Whether lists of dev are ranked clearly better than by chance."""
        valid = self._lists.questions(True)
        orders = self.ranked(model, valid[:: -(-len(valid) // _READY_BY) or 1])
        chance = sum(sum(order) / len(order) for order in orders if order)
        return sum(any(order[:1]) for order in orders) >= self.settings.ready * chance

    def adapted(self, state: Mapping[str, Tensor]) -> None:
        self._hard = state["hard"].numpy() if "hard" in state else None

    # For measuring, too.

    def ranked(self, model: QasaNetwork, questions: Sequence[int]) -> list[list[bool]]:
        """Of each question whether the passages of its list hold an answer, as the network orders them."""
        positive = self._lists.column("list_positive")
        orders = []
        for question, scores in zip(questions, self.scores(model, questions), strict=True):
            places = numpy.array(self._lists.of(question, self.settings.length), numpy.int64)
            orders.append((positive[places[numpy.argsort(-scores, kind="stable")]] > 0).tolist())
        return orders

    def in_order(self, questions: Sequence[int]) -> list[list[bool]]:
        """The same in the order of the index."""
        positive = self._lists.column("list_positive")
        return [(positive[self._places(question)] > 0).tolist() for question in questions]

    def questions(self, valid: bool) -> list[int]:
        """The numbers of all questions of a part, in the order of the lists."""
        return self._lists.questions(valid)

    def id(self, question: int) -> str:
        return self._lists.ids[question]

    def scores(self, model: QasaNetwork, questions: Sequence[int]) -> list[Numbers]:
        """Of each question the scores of its list."""
        device = model.judge.weight.device
        scored: list[Numbers] = []
        for begin in range(0, len(questions), _AT_A_TIME):
            part = questions[begin : begin + _AT_A_TIME]
            places = [list(self._lists.of(question, self.settings.length)) for question in part]
            if not any(places):
                scored += [numpy.zeros(0, numpy.float32)] * len(part)
                continue
            batch = moved(self._batch(part, places), device)
            scores = self._scores(model, batch).float().cpu().numpy()
            ends = numpy.cumsum([len(each) for each in places])
            scored += [scores[end - len(each) : end] for each, end in zip(places, ends, strict=True)]
        return scored

    # Inside.

    def _scores(self, model: QasaNetwork, batch: QasaBatch) -> Tensor:
        if self._vectors.device != batch.words.device:
            self._vectors = self._vectors.to(batch.words.device)
        words = model.embed(self._vectors[batch.words].float(), batch.letters, batch.letter_counts)
        scores: Tensor = model(words, batch.questions, batch.passages, batch.group)
        return scores

    def _drawn(self, rows: Sequence[int], epoch: int, seed: int) -> QasaBatch:
        """Each question with its positives and the epoch's negatives."""
        positive = self._lists.column("list_positive")
        shown = []
        for row in rows:
            chance = numpy.random.default_rng(seed_of("qasa", seed, epoch, row))
            places = self._places(self._learnt[row])
            right, wrong = places[positive[places] > 0], places[positive[places] == 0]
            if self.settings.positives and len(right) > self.settings.positives:
                right = numpy.sort(chance.permutation(right)[: self.settings.positives])
            if self._hard is not None:
                wrong = self._hard[row][self._hard[row] >= 0]
            else:
                wrong = numpy.sort(chance.permutation(wrong)[: self.settings.each])
            shown.append([*right.tolist(), *wrong.tolist()])
        return self._batch([self._learnt[row] for row in rows], shown)

    def _places(self, question: int) -> Numbers:
        return numpy.array(self._lists.of(question, self.settings.length), numpy.int64)

    def _batch(self, questions: Sequence[int], places: Sequence[Sequence[int]]) -> QasaBatch:
        column = self._lists.column
        questions_words = [self._lists.text(int(column("question_text")[question])) for question in questions]
        passages_words = [self._lists.text(int(column("list_text")[place])) for each in places for place in each]
        distinct, numbers = numpy.unique(numpy.concatenate([*questions_words, *passages_words]), return_inverse=True)
        letters = torch.from_numpy(column("letters")[distinct].astype(numpy.int64))
        ends = numpy.cumsum([len(text) for text in [*questions_words, *passages_words]])
        cut = numpy.split(numbers, ends[:-1])
        flat = numpy.array([place for each in places for place in each], numpy.int64)
        return QasaBatch(
            words=torch.from_numpy(distinct.astype(numpy.int64)),
            letters=letters,
            letter_counts=(letters > 0).sum(1),
            questions=_texts(cut[: len(questions_words)]),
            passages=_texts(cut[len(questions_words) :]),
            group=torch.tensor([row for row, each in enumerate(places) for _ in each]),
            positive=torch.from_numpy(column("list_positive")[flat] > 0),
        )


def shares(ranked: Sequence[Sequence[bool]]) -> dict[str, float]:
    """top_k: the questions with a positive among the first k, in per cent; ceiling: those with any."""
    count = max(len(ranked), 1)
    values = {f"top_{k}": 100 * sum(any(each[:k]) for each in ranked) / count for k in _TOP}
    return {**values, "ceiling": 100 * sum(any(each) for each in ranked) / count}


def _texts(rows: Sequence[Numbers]) -> WordTexts:
    lengths = torch.tensor([len(row) for row in rows])
    words = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
    for number, row in enumerate(rows):
        words[number, : len(row)] = torch.from_numpy(row.astype(numpy.int64))
    return WordTexts(words, lengths)
