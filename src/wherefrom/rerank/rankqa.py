"""Candidates ordered by RankQA: a small network on the scores of each candidate and of all that say the same.

Use it where a measurement says that it helps; its weights belong to the reader whose candidates they were trained on.
It needs the weights `rankqa` and, if these look at parts of speech and entities, the weights `tagger`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from wherefrom.errors import SettingsError
from wherefrom.features.candidates import GROUPS, Group, Marks, features, marks, names
from wherefrom.features.tags import Tagged
from wherefrom.runtime.weights import Weights, WeightsError
from wherefrom.text import Span, sentences
from wherefrom.types import Candidate, Question

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

MODEL = "model.npz"
ARRAYS = ("centre", "scale", "first", "first_bias", "second", "second_bias")


class Tags(Protocol):
    """What tags texts: `features.tags.Tagger`."""

    def tag(self, texts: Sequence[str]) -> list[Tagged]: ...


@dataclass(frozen=True, slots=True)
class _Network:
    """f(x) = ReLU(xAᵀ + b₁)Bᵀ + b₂ on features that are centred, scaled and bounded."""

    groups: tuple[Group, ...]
    columns: list[int]  # those of the groups' features that it looks at
    top_k: int
    bound: float
    arrays: dict[str, NDArray[numpy.float32]]

    def scores(self, rows: NDArray[numpy.float64]) -> list[float]:
        """(candidates, features) -> (candidates,)"""
        import numpy

        arrays = self.arrays
        seen = (rows[:, self.columns] - arrays["centre"]) / arrays["scale"]
        seen = numpy.clip(seen, -self.bound, self.bound).astype(numpy.float32)
        hidden = numpy.maximum(seen @ arrays["first"].T + arrays["first_bias"], 0.0)
        scores: list[float] = (hidden @ arrays["second"].T + arrays["second_bias"])[:, 0].tolist()
        return scores


class RankQAReranker:
    """Scores each candidate with the network; candidates behind the `top_k` it was trained on keep their places.

    `reader` is the kind of reader that the candidates come from. Ties keep the reader's order.
    """

    def __init__(self, weights: Weights, tagger: Tags, reader: str) -> None:
        self.weights = weights
        self._reader = reader
        self._tagger = tagger

    def rerank(self, questions: Sequence[Question], candidates: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
        return [
            self._rerank_one(question, list(question_candidates))
            for question, question_candidates in zip(questions, candidates, strict=True)
        ]

    def _rerank_one(self, question: Question, candidates: list[Candidate]) -> list[Candidate]:
        if not candidates:
            return []
        network = self._network
        seen = candidates[: network.top_k]
        tagged = spans_marked(seen, self._tagger) if "tags" in network.groups else None
        scores = network.scores(features(question.text, seen, tagged, network.groups))
        ordered = sorted(
            (candidate.rescored("rerank", score) for candidate, score in zip(seen, scores, strict=True)),
            key=lambda candidate: -candidate.score,
        )
        worst = ordered[-1].score
        behind = [candidate.rescored("rerank", worst - place) for place, candidate in _counted(candidates[len(seen) :])]
        return ordered + behind

    @cached_property
    def _network(self) -> _Network:
        import numpy

        settings, file = self.weights.settings, self.weights.file(MODEL)
        try:
            groups = tuple(group for group in GROUPS if group in settings["groups"])
            known = names(groups)
            columns = [known.index(name) for name in settings["features"]]
            with numpy.load(file, allow_pickle=False) as arrays:
                network = _Network(
                    groups,
                    columns,
                    int(settings["top_k"]),
                    float(settings["bound"]),
                    {name: arrays[name] for name in ARRAYS},
                )
            trained_for = str(settings["reader"])
        except (KeyError, ValueError, TypeError, OSError) as error:
            raise WeightsError(
                f"{self.weights.folder} does not hold a re-ranker ({error}); install wherefrom again, or make one with "
                "`wherefrom train rankqa`"
            ) from error
        if trained_for != self._reader:
            raise SettingsError(
                f"rerank.weights {self.weights.folder.name} was trained on candidates of read.kind {trained_for}, not "
                f"{self._reader}; name weights for {self._reader}, or make them with `wherefrom train rankqa --set "
                f"read.kind={self._reader}`"
            )
        return network


def spans_marked(candidates: Sequence[Candidate], tagger: Tags) -> list[Marks]:
    """The tags inside each candidate, from the sentences that it stands in."""
    passages = {candidate.passage.id: candidate.passage for candidate in candidates}
    borders = {id: sentences(passage.text) for id, passage in passages.items()}
    around = [_around(candidate, borders[candidate.passage.id]) for candidate in candidates]
    texts = [candidate.passage.text[start:end] for candidate, (start, end) in zip(candidates, around, strict=True)]
    distinct = list(dict.fromkeys(texts))
    tagged = dict(zip(distinct, tagger.tag(distinct), strict=True))
    return marks(candidates, [tagged[text] for text in texts], [start for start, _ in around])


def _around(candidate: Candidate, borders: Sequence[Span]) -> Span:
    """The sentences that a candidate touches, as characters of its passage."""
    touched = [(start, end) for start, end in borders if start < candidate.end and end > candidate.start]
    if not touched:
        return candidate.start, candidate.end
    return min(touched[0][0], candidate.start), max(touched[-1][1], candidate.end)


def _counted(candidates: Sequence[Candidate]) -> list[tuple[float, Candidate]]:
    return [(float(place), candidate) for place, candidate in enumerate(candidates, start=1)]
