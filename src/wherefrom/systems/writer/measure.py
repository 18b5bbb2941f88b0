"""What an exported writer is worth alone, apart from the reader: given the gold answer, asked shortly, about stories.

`given`: sentences of unseen articles, with the gold short answer. `short`: ten passages, no answer given. `narrative`:
NarrativeQA's validation stories in their own style. As shipped: 8 bits, onnxruntime, on the CPU.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherefrom.evaluate.texts import ReferenceTexts, passages_beside, text_scores, texts_beside, validation_texts
from wherefrom.runtime.search import SearchSettings
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import Short, WriterSession, WritingTask
from wherefrom.systems.writer.settings import WriterMeasure
from wherefrom.train.material import evenly_spread
from wherefrom.train.progress import paced
from wherefrom.train.stages import Say
from wherefrom.train.writing.material import WritingMaterial, load
from wherefrom.types import Passage, joined
from wherefrom.write.marks import WrittenStyle
from wherefrom.write.masque import words_of

_TOGETHER = 8  # questions written for at a time

Tasks = Sequence[tuple[int, WritingTask]]  # by number of example


@dataclass(frozen=True, slots=True)
class ValidationTasks:
    """The validation examples as texts to write from."""

    material: WritingMaterial
    texts: dict[int, ReferenceTexts]
    passages: dict[int, Passage]

    @classmethod
    def of(cls, material: Path) -> ValidationTasks:
        with gzip.open(passages_beside(material), "rt", encoding="utf-8") as lines:
            passages = {
                row["passage"]: Passage(row["id"], row["id"], row["text"], 0, len(row["text"]), row["title"])
                for row in map(json.loads, lines)
            }
        return cls(load(material), validation_texts(texts_beside(material)), passages)

    def given(self, most_passages: int) -> Iterator[tuple[int, WritingTask]]:
        """Sentences to be made of gold answers; the gold passage comes first, as a good ranker has it."""
        for example, texts in self._of("ten-passages"):
            gold = self.passages.get(int(self.material["gold"][example]))
            if not texts.sentences or gold is None or texts.answers[0] not in gold.text:
                continue
            others = [passage for passage in self._given(example) if passage is not gold]
            at = gold.text.index(texts.answers[0])
            short = Short(0, at, at + len(texts.answers[0]))
            yield example, WritingTask(texts.question, (gold, *others[: most_passages - 1]), short)

    def short(self) -> Iterator[tuple[int, WritingTask]]:
        for example, texts in self._of("ten-passages"):
            if self.material["answerable"][example]:
                yield example, WritingTask(texts.question, tuple(self._given(example)))

    def narrative(self) -> Iterator[tuple[int, WritingTask]]:
        for example, texts in self._of("narrativeqa"):
            yield example, WritingTask(texts.question, tuple(self._given(example)))

    def _of(self, source: str) -> Iterator[tuple[int, ReferenceTexts]]:
        wanted = self.material.of(source) & (self.material["valid"] == 1)
        return ((example, texts) for example, texts in self.texts.items() if wanted[example])

    def _given(self, example: int) -> list[Passage]:
        numbers = self.material["passages"][example].tolist()
        return [self.passages[number] for number in numbers if number in self.passages]


def alone(weights: Path, material: Path, settings: WriterMeasure, say: Say) -> dict[str, dict[str, Any]]:
    """All three, on at most so many examples each, evenly spread."""
    validation, session = ValidationTasks.of(material), WriterSession(Weights(weights), threads=settings.threads)
    kinds: dict[str, tuple[Tasks, WrittenStyle]] = {
        "given": (list(validation.given(settings.passages)), "sentence"),
        "short": (list(validation.short()), "short"),
        "narrative": (list(validation.narrative()), "narrative"),
    }
    figures: dict[str, dict[str, Any]] = {}
    for name, (tasks, style) in kinds.items():
        if not tasks:  # a material without stories, say
            continue
        chosen = [tasks[place] for place in evenly_spread(range(len(tasks)), settings.most or len(tasks))]
        scores = text_scores(name, written(session, chosen, style, paced(name, say)), validation.texts)
        figures[name] = {"examples": scores.examples, **scores.metrics, "words": scores.lengths["all"]}
        say(f"measure: {name}: " + ", ".join(f"{key} {value:.2f}" for key, value in scores.metrics.items()))
    return figures


def written(
    session: WriterSession, tasks: Tasks, style: WrittenStyle, report: Callable[[int, int], None]
) -> dict[int, str]:
    """What the network writes about each example, greedily."""
    texts: dict[int, str] = {}
    report(0, len(tasks))
    for begin in range(0, len(tasks), _TOGETHER):
        some = tasks[begin : begin + _TOGETHER]
        answers = session.write([task for _, task in some], style, SearchSettings())
        for (example, task), answer in zip(some, answers, strict=True):
            texts[example] = joined(words_of(answer.written[0], answer.places, task, style, session))
        report(len(texts), len(tasks))
    return texts
