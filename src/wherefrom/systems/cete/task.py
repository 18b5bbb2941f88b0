"""CETE's two trainings: pairs in one sequence by cross-entropy, texts apart by the squared error of their nearness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy
import torch
from torch import Tensor
from torch.nn import functional

from wherefrom.networks.encoder import EncoderSettings, load_pretrained
from wherefrom.origin import file_hash
from wherefrom.systems.cete.figures import means, rankings
from wherefrom.systems.cete.network import FeatureNetwork, PairNetwork
from wherefrom.systems.cete.pairs import Numbers, PairMaterial, SelectionQuestion, SequenceBatch, sequences
from wherefrom.systems.cete.settings import NetworkSettings, Source, TaskSettings
from wherefrom.systems.cete.states import FrozenStates
from wherefrom.train.batching import LazyBatches, bucketed, moved
from wherefrom.train.checkpoint import load_weights
from wherefrom.train.task import TaskFacts

_EVALUATED = 64  # pairs at a time
_READER_HEADS = ("relevance", "no_answer", "truth", "span")  # what a reader has in place of a head


class PairTask:
    """Fine-tunes a published encoder, or goes on from an earlier training of the same kind or from a reader."""

    def __init__(
        self,
        material: Path,
        encoder: Path,
        shape: EncoderSettings,
        settings: TaskSettings,
        tokens: Tensor | None = None,
        start: Path | None = None,
    ) -> None:
        """`encoder` is the published model.safetensors; `tokens` maps the material's ids to its own."""
        self.settings = settings
        self.shape = shape
        self._material = PairMaterial(material)
        self._encoder, self._start = encoder, start
        self._tokens = tokens

    def facts(self) -> TaskFacts:
        data = {self._material.path.name: file_hash(self._material.path), "encoder": file_hash(self._encoder)}
        if self._start is not None:
            data["start"] = file_hash(self._start)
        return TaskFacts("cete", data, asdict(self.settings))

    def model(self) -> PairNetwork:
        network = PairNetwork(self.shape)
        if self._start is not None:
            load_weights(network, self._start, without=_READER_HEADS, lacking=("head",))
        else:
            load_pretrained(network.encoder, self._encoder)
        return network

    def batches(self, epoch: int, seed: int) -> LazyBatches[SequenceBatch]:
        pairs = self._material.training_pairs(self.settings)
        plan = bucketed(self._lengths(pairs), epoch=epoch, seed=seed, size=self.settings.batch)
        return LazyBatches(plan, lambda places: sequences(self._material, pairs[list(places)].tolist(), self.settings))

    def size(self, batch: SequenceBatch) -> int:
        return len(batch.labels)

    def loss(self, model: PairNetwork, batch: SequenceBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        return functional.cross_entropy(self._logits(model, batch).float(), batch.labels), {}

    def evaluate(self, model: PairNetwork) -> Mapping[str, float]:
        return watched(self._material, self.settings, self.scores(model, self.dev(self.settings.sources)))

    def dev(self, sources: Sequence[Source]) -> list[SelectionQuestion]:
        return self._material.measured_on(self.settings, sources)

    def scores(self, model: PairNetwork, questions: Sequence[SelectionQuestion]) -> dict[int, float]:
        """log P(right) - log P(wrong) of every candidate, by the pair's number."""
        device = model.head.weight.device
        pairs = numpy.array([pair for question in questions for pair in question.pairs], numpy.int64)
        by_pair: dict[int, float] = {}
        for part in _by_length(pairs, self._lengths(pairs)):
            batch = moved(sequences(self._material, part, self.settings), device)
            with torch.autocast(device.type, enabled=False):  # 16 bits would make ties of candidates that are near
                logits = self._logits(model, batch).float()
            by_pair |= zip(part, (logits[:, 1] - logits[:, 0]).tolist(), strict=True)
        return by_pair

    def _logits(self, model: PairNetwork, batch: SequenceBatch) -> Tensor:
        tokens = batch.tokens
        if self._tokens is not None:
            if self._tokens.device != tokens.device:
                self._tokens = self._tokens.to(tokens.device)
            tokens = torch.where(batch.mask, self._tokens[tokens], self.shape.padding)
        logits: Tensor = model(tokens, batch.mask, batch.types)
        return logits

    def _lengths(self, pairs: Numbers) -> list[int]:
        lengths = self._material.lengths()
        question_lengths = numpy.minimum(
            lengths[self._material.column("pair_question")[pairs]], self.settings.max_question
        )
        whole: list[int] = (question_lengths + lengths[self._material.column("pair_text")[pairs]] + 3).tolist()
        return [min(length, self.settings.max_tokens) for length in whole]


@dataclass(frozen=True, slots=True)
class FeatureBatch:
    """Pairs as frozen vectors: (pairs, length, width) with their masks, and whether each is right."""

    question: Tensor
    question_mask: Tensor
    candidate: Tensor
    candidate_mask: Tensor
    labels: Tensor  # (pairs,)


class FeatureTask:
    """Trains one fresh layer for questions and one for candidates, over vectors that stay as they are."""

    def __init__(self, material: Path, states: FrozenStates, network: NetworkSettings, settings: TaskSettings) -> None:
        self.settings = settings
        self.network = network
        self._material = PairMaterial(material)
        self._states = states

    @property
    def token_counts(self) -> Numbers:
        """How many vectors each text of the material has."""
        return self._states.lengths

    def facts(self) -> TaskFacts:
        data = {self._material.path.name: file_hash(self._material.path), **self._states.facts()}
        return TaskFacts("cete features", data, {**asdict(self.settings), "network": asdict(self.network)})

    def model(self) -> FeatureNetwork:
        wanted = self.network
        return FeatureNetwork(self._states.width, wanted.heads, wanted.dropout, wanted.layer, wanted.restriction)

    def batches(self, epoch: int, seed: int) -> LazyBatches[FeatureBatch]:
        pairs = self._material.training_pairs(self.settings)
        plan = bucketed(self._lengths(pairs), epoch=epoch, seed=seed, size=self.settings.batch)
        return LazyBatches(plan, lambda places: self.batch(pairs[list(places)].tolist()))

    def size(self, batch: FeatureBatch) -> int:
        return len(batch.labels)

    def loss(self, model: FeatureNetwork, batch: FeatureBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        return functional.mse_loss(_nearness(model, batch), batch.labels.float()), {}

    def evaluate(self, model: FeatureNetwork) -> Mapping[str, float]:
        device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
        return watched(self._material, self.settings, self.scores(model, self.dev(self.settings.sources), device))

    def dev(self, sources: Sequence[Source]) -> list[SelectionQuestion]:
        """Without squad's, whose texts have no vectors."""
        return self._material.measured_on(self.settings, [source for source in sources if source != "squad"])

    def scores(
        self, model: FeatureNetwork, questions: Sequence[SelectionQuestion], device: torch.device | str = "cpu"
    ) -> dict[int, float]:
        """The nearness of every candidate, by the pair's number."""
        pairs = numpy.array([pair for question in questions for pair in question.pairs], numpy.int64)
        by_pair: dict[int, float] = {}
        for part in _by_length(pairs, self._lengths(pairs)):
            batch = moved(self.batch(part), torch.device(device))
            with torch.autocast(torch.device(device).type, enabled=False):
                by_pair |= zip(part, _nearness(model, batch).tolist(), strict=True)
        return by_pair

    def nearness_of_words(self, model: FeatureNetwork, pair: int) -> Numbers:
        """The cosine of every token of the question with every one of the candidate, as the layers leave them."""
        batch = self.batch([pair])
        with torch.inference_mode():
            rows = model.encoded(batch.question.float(), batch.question_mask, model.question)[0]
            columns = model.encoded(batch.candidate.float(), batch.candidate_mask, model.candidate)[0]
        nearness: Numbers = (functional.normalize(rows, dim=-1) @ functional.normalize(columns, dim=-1).T).numpy()
        return nearness

    def batch(self, pairs: Sequence[int]) -> FeatureBatch:
        numbers = numpy.asarray(pairs, numpy.int64)
        question = self._states.of(self._material.column("pair_question")[numbers].tolist())
        candidate = self._states.of(self._material.column("pair_text")[numbers].tolist())
        labels = torch.from_numpy(self._material.column("pair_label")[numbers].astype(numpy.int64))
        return FeatureBatch(*question, *candidate, labels)

    def _lengths(self, pairs: Numbers) -> list[int]:
        lengths: list[int] = self._states.lengths[self._material.column("pair_text")[pairs]].tolist()
        return lengths


def watched(material: PairMaterial, settings: TaskSettings, scores: Mapping[int, float]) -> dict[str, float]:
    """MAP and MRR of each source that is learnt from, and the mean of the MAPs, by which the best weights are kept."""
    measured = means(rankings(material, material.measured_on(settings, settings.sources), scores))
    metrics = {f"{name} {measure}": values[measure] for name, values in measured.items() for measure in ("map", "mrr")}
    own = [values["map"] for name, values in measured.items() if name in settings.sources]
    return {"map": sum(own) / max(len(own), 1), **metrics}


def _nearness(model: FeatureNetwork, batch: FeatureBatch) -> Tensor:
    nearness: Tensor = model(batch.question.float(), batch.question_mask, batch.candidate.float(), batch.candidate_mask)
    return nearness.float()


def _by_length(pairs: Numbers, lengths: Sequence[int]) -> Iterator[list[int]]:
    """Pairs of like length together."""
    ordered = pairs[numpy.argsort(numpy.asarray(lengths), kind="stable")].tolist()
    for begin in range(0, len(ordered), _EVALUATED):
        yield ordered[begin : begin + _EVALUATED]
