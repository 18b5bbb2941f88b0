"""The questions of a dataset are answered by many workers, each with a pipeline of its own."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from wherefrom.build import build
from wherefrom.config import Settings
from wherefrom.data.examples import Example
from wherefrom.evaluate.predict import Over, PredictionRun, traced
from wherefrom.library import Library
from wherefrom.pipeline import Pipeline
from wherefrom.scale.workers import mapped
from wherefrom.types import Trace


class AnswerBatches:
    """Answers batches of examples, from a library or from the passages that they bring."""

    def __init__(self, settings: Settings, library: Path | None, run: PredictionRun) -> None:
        self._settings = settings
        self._library = library
        self._run = run
        self._pipeline: Pipeline | None = None

    def __call__(self, item: bytes) -> Iterator[bytes]:
        if self._pipeline is None:
            opened = Library(self._library, self._settings) if self._library is not None else None
            self._pipeline = opened.pipeline() if opened else build(self._settings, None)
        batch: list[Example] = pickle.loads(item)  # from our own process
        run = self._run
        yield pickle.dumps(traced(batch, self._pipeline, run.passages_from, run.style, run.min_chance))


def over_workers(settings: Settings, library: Path | None, run: PredictionRun, workers: int) -> Over:
    """What `predict` hands its batches to; be inside of `cluster`. Workers of one machine share its threads."""
    threads = max(settings.runtime.threads // workers, 1)
    shared = replace(settings, runtime=replace(settings.runtime, threads=threads))

    def over(batches: Iterator[list[Example]]) -> Iterator[list[Trace]]:
        items = [pickle.dumps(batch) for batch in batches]
        for _, result in mapped(AnswerBatches, (shared, library, run), items, workers):
            traces: list[Trace] = pickle.loads(result)
            yield traces

    return over
