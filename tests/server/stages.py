"""Stages that wait, count or fail, to be put into a real pipeline."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from wherefrom.stages import OnWords, Reader
from wherefrom.types import Answer, Candidate, Hit, Question, Style, Word, joined


class GatedReader:
    """Reads as another does, once its gate is open; remembers which questions it was given together."""

    def __init__(self, reader: Reader, is_open: bool = True, seconds: float = 0.0) -> None:
        self._reader = reader
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.batches: list[list[str]] = []
        self._seconds = seconds
        if is_open:
            self.gate.set()

    def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
        self.batches.append([question.text for question in questions])
        self.entered.set()
        assert self.gate.wait(30)
        time.sleep(self._seconds)
        return self._reader.read(questions, hits)


class FailingReader:
    """Fails whenever a question says so."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
        if any("explode" in question.text for question in questions):
            raise ZeroDivisionError(hits[0][0].passage.text)
        return self._reader.read(questions, hits)


class TypingWriter:
    """Writes these words, or the question's; the first few of them, or others, are heard one by one."""

    def __init__(self, words: Sequence[str] | None, heard: int, typed: Sequence[str] | None = None) -> None:
        self._words, self._heard, self._typed = words, heard, typed
        self.asked: list[str] = []

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        answers = []
        for place, (question, chance) in enumerate(zip(questions, chances, strict=True)):
            self.asked.append(question.text)
            words = self._words or question.text.split()
            if on_words is not None:
                for word in _spaced(self._typed or words)[: self._heard]:
                    on_words(place, (word,))
            told = _spaced(words)
            answers.append(Answer(joined(told), style, chance, told))
        return answers


def _spaced(words: Sequence[str]) -> tuple[Word, ...]:
    return tuple(Word(word, "vocabulary", space=" " if number else "") for number, word in enumerate(words))
