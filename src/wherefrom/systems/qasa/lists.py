"""Candidate lists as columns of numbers: OUT/lists.safetensors.

vectors, letters            of every word: frozen numbers (words, width), and its letters (words, 16), 0 behind them
text_words, text_until      every distinct text as words, one behind the other, and where each ends
question_text, question_valid   of every question: its text, and whether it is of the part to measure on
list_until                  where each question's list ends
list_text, list_positive, list_gold   of every passage of a list, in the index's order: whether it holds an answer,
                            and whether that is the gold one, at its own place
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from wherefrom.data.examples import Example
from wherefrom.runtime.plain_words import LETTERS, plain_words, stands_in
from wherefrom.runtime.qasa import MOST_LETTERS
from wherefrom.systems.qasa.settings import ListSettings
from wherefrom.types import Passage

Numbers = NDArray[Any]
Retrieve = Callable[[Sequence[Example]], Iterable[Sequence[Passage]]]


@dataclass(slots=True)
class ListsBuilder:
    """Collects questions with their lists; each distinct text is kept once."""

    settings: ListSettings
    texts: dict[tuple[str, ...], int] = field(default_factory=dict)
    question_text: list[int] = field(default_factory=list)
    question_valid: list[bool] = field(default_factory=list)
    list_until: list[int] = field(default_factory=list)
    list_text: list[int] = field(default_factory=list)
    list_positive: list[bool] = field(default_factory=list)
    list_gold: list[bool] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    dropped: int = 0  # passages that the pre-filter took out

    def add(self, example: Example, passages: Sequence[Passage], valid: bool) -> None:
        """A question and what was counts for it, best first."""
        question_words = plain_words(example.question.text)
        answers = [words for answer in dict.fromkeys(example.answers) if (words := plain_words(answer))]
        context = gold_context(example, self.settings.context)
        self.question_text.append(self._number(question_words))
        for passage in passages[: self.settings.length]:
            words = plain_words(passage.text)
            if self.settings.prefilter == "overlap" and not set(question_words) & set(words):
                self.dropped += 1
                continue
            self.list_text.append(self._number(words[: self.settings.longest]))
            self.list_positive.append(any(stands_in(answer, words) for answer in answers))
            self.list_gold.append(stands_in(context, words))
        self.list_until.append(len(self.list_text))
        self.question_valid.append(valid)
        self.ids.append(example.question.id)

    def _number(self, words: Sequence[str]) -> int:
        return self.texts.setdefault(tuple(words), len(self.texts))

    def columns(self, known: Sequence[str], vectors: Numbers) -> dict[str, Numbers]:
        """All columns; `known` are the words that have `vectors`."""
        counts = Counter(word for text in self.texts for word in text)
        kept = sorted(counts, key=lambda word: (-counts[word], word))[: self.settings.words]
        numbers = {word: number for number, word in enumerate(kept)}
        places = {word: place for place, word in enumerate(known)}
        table = numpy.zeros((len(kept) + 1, vectors.shape[1]), numpy.float16)  # the last row: of all words without one
        letters = numpy.zeros((len(kept) + 1, MOST_LETTERS), numpy.uint8)
        for word, number in numbers.items():
            letters[number] = spelt(word)
            if word in places:
                table[number] = vectors[places[word]]
        rows = [[numbers.get(word, len(kept)) for word in text] for text in self.texts]
        flat = numpy.fromiter((word for row in rows for word in row), numpy.uint16, sum(map(len, rows)))
        return {
            "words": numpy.frombuffer("\n".join(kept).encode(), numpy.uint8).copy(),
            "vectors": table,
            "letters": letters,
            "text_words": flat,
            "text_until": numpy.cumsum([len(row) for row in rows], dtype=numpy.int64),
            "question_text": numpy.array(self.question_text, numpy.int32),
            "question_valid": numpy.array(self.question_valid, numpy.uint8),
            "list_until": numpy.array(self.list_until, numpy.int64),
            "list_text": numpy.array(self.list_text, numpy.int32),
            "list_positive": numpy.array(self.list_positive, numpy.uint8),
            "list_gold": numpy.array(self.list_gold, numpy.uint8),
        }

    def write(self, path: Path, known: Sequence[str], vectors: Numbers) -> dict[str, Any]:
        """The file, and what it counts."""
        save_file(self.columns(known, vectors), path, metadata={"about": json.dumps({"ids": self.ids})})
        return {"texts": len(self.texts), "dropped": self.dropped, **self.counted()}

    def counted(self) -> dict[str, Any]:
        """How far lists and pseudo-labels can be relied on, of each part and of the first 50 and all passages."""
        counts: dict[str, Any] = {}
        begins = [0, *self.list_until[:-1]]
        for name, wanted in (("train", False), ("dev", True)):
            lists = [
                range(begin, end)
                for begin, end, valid in zip(begins, self.list_until, self.question_valid, strict=True)
                if valid == wanted
            ]
            for most in (50, self.settings.length):
                cut = [list(each[:most]) for each in lists]
                right = sum(self.list_positive[place] for each in cut for place in each)
                gold = sum(self.list_positive[place] and self.list_gold[place] for each in cut for place in each)
                counts[f"{name}, first {most}"] = {
                    "questions": len(lists),
                    "with a positive": sum(any(self.list_positive[place] for place in each) for each in cut),
                    "with the gold place": sum(any(self.list_gold[place] for place in each) for each in cut),
                    "positives": right,
                    "positives that are not the gold place": right - gold,
                }
        return counts


def gold_context(example: Example, around: int) -> list[str]:
    """The gold answer with some words on each side, as in its paragraph: by them its place is known again."""
    if not example.spans:
        return []
    gold = example.spans[0]
    passage = next(each for each in example.passages if each.id == gold.passage_id)
    before, after = plain_words(passage.text[: gold.start]), plain_words(passage.text[gold.end :])
    return [*before[max(len(before) - around, 0) :], *plain_words(gold.text), *after[:around]]


def spelt(word: str) -> list[int]:
    """The numbers of a word's letters, from 1 on, filled up with 0."""
    numbers = [LETTERS.index(letter) + 1 for letter in word[:MOST_LETTERS]]
    return numbers + [0] * (MOST_LETTERS - len(numbers))


class PassageLists:
    """OUT/lists.safetensors, read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with safe_open(path, framework="numpy") as file:
            self._columns: dict[str, Numbers] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            self.ids: list[str] = json.loads(file.metadata()["about"])["ids"]

    def column(self, name: str) -> Numbers:
        return self._columns[name]

    def text(self, number: int) -> Numbers:
        """The words of a text; one that has none is the word without a vector."""
        until = self._columns["text_until"]
        begin, end = int(until[number - 1]) if number else 0, int(until[number])
        words: Numbers = self._columns["text_words"][begin:end]
        if begin == end:
            words = numpy.array([len(self._columns["vectors"]) - 1], numpy.uint16)
        return words

    def of(self, question: int, most: int) -> range:
        """The places of a question's list."""
        until = self._columns["list_until"]
        begin = int(until[question - 1]) if question else 0
        return range(begin, min(int(until[question]), begin + most))

    def questions(self, valid: bool) -> list[int]:
        numbers: list[int] = numpy.flatnonzero(self._columns["question_valid"] == valid).tolist()
        return numbers
