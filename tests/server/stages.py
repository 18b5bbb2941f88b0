"""Stages that wait, count or fail, to be put into a real pipeline."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from wherefrom.stages import Reader
from wherefrom.types import Candidate, Hit, Question


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
