"""What a reader's first layers see of pairs, and how relevant all of its layers find them.

Questions are SQuAD's training questions, each with the passages that a search over their articles finds, and those over
manuals that readers learn from, with the passages that come with them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import onnx
from numpy.typing import NDArray

from wherefrom.config import Settings
from wherefrom.data import manuals as manual_questions
from wherefrom.data import squad
from wherefrom.data.examples import Example
from wherefrom.library import Library
from wherefrom.runtime.reader import MODEL, ReaderSession
from wherefrom.runtime.weights import Weights
from wherefrom.systems.skim.parts import seen, with_states
from wherefrom.types import Document, Passage, Question

_LOWEST, _HIGHEST = -8.0, 8.0  # a relevance beyond these says no more


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question and the passages that compete to be read."""

    question: str
    passages: tuple[Passage, ...]


def collect(
    weights: Path,
    data: Path,
    manuals: Path | None,
    layers: int,
    count: int,
    seed: int,
    workplace: Path,
    out: Path,
    report: Callable[[int, int], None],
) -> dict[str, Any]:
    """Write `seen` (pairs, 3 * width), `relevance` and `question` (pairs,) of `count` questions of each source."""
    asked = list(_over_articles(data, count, seed, workplace))
    if manuals is not None:
        asked += _over_manuals(manuals, count, seed)
    reader = _SeeingReader(weights, layers)
    rows: list[NDArray[numpy.float32]] = []
    relevances: list[float] = []
    numbers: list[int] = []
    for number, each in enumerate(asked):
        report(number, len(asked))
        for states, relevance in reader.pairs(each.question, each.passages):
            rows.append(states)
            relevances.append(relevance)
            numbers.append(number)
    with out.open("wb") as file:
        numpy.savez(
            file,
            seen=numpy.stack(rows).astype(numpy.float16),
            relevance=numpy.clip(numpy.array(relevances, numpy.float32), _LOWEST, _HIGHEST),
            question=numpy.array(numbers, numpy.int32),
        )
    return {"questions": len(asked), "pairs": len(rows)}


def _over_articles(data: Path, count: int, seed: int, workplace: Path) -> Iterator[_Asked]:
    """Questions of the training articles, with what a search over all of these finds."""
    examples = list(squad.load(data / "squad", "train"))
    texts: dict[str, dict[str, None]] = {}
    for example in examples:
        texts.setdefault(example.article, {}).update({passage.text: None for passage in example.passages})
    library = Library(workplace / "articles")
    library.put([Document(name, "\n\n".join(own), name.replace("_", " "), name) for name, own in texts.items()])
    retriever = library.pipeline().retriever
    for example in _drawn(examples, count, seed):
        (hits,) = retriever.retrieve([Question("", example.question.text)])
        yield _Asked(example.question.text, tuple(hit.passage for hit in hits))


def _over_manuals(manuals: Path, count: int, seed: int) -> list[_Asked]:
    """Questions over the manuals that readers learn from, with as many passages as are read by default."""
    learnt = [each for each in manual_questions.load(manuals) if not manual_questions.is_held_out(each)]
    most = Settings().retrieve.k
    return [_Asked(each.question.text, each.passages[:most]) for each in _drawn(learnt, count, seed)]


def _drawn(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    return random.Random(seed).sample(list(examples), min(count, len(examples)))


class _SeeingReader:
    """The whole network, whose states after the first layers can be looked at."""

    def __init__(self, weights: Path, layers: int) -> None:
        from wherefrom.runtime.onnx import onnxruntime

        self._session = ReaderSession(Weights(weights), threads=1)
        network = with_states(onnx.load(weights / MODEL), layers)
        self._network = onnxruntime().InferenceSession(network.SerializeToString(), providers=["CPUExecutionProvider"])

    def pairs(self, question: str, passages: Sequence[Passage]) -> Iterator[tuple[NDArray[numpy.float32], float]]:
        """Of each pair its first window: what an estimate goes by, and the relevance."""
        for inputs in self._session.inputs_of(question, passages):
            given = {each.name: inputs[each.name] for each in self._network.get_inputs()}
            states, relevance = self._network.run(["states", "relevance"], given)
            yield seen(states[0], inputs["passage"][0]), float(relevance[0])
