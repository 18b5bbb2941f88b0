"""wherefrom, asked for short answers; and what its search alone would say."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.child import Line, System
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.text import sentences
from wherefrom.types import Document, Hit, Passage, Question, Trace, Word

_BATCH = 2000  # documents that are acknowledged together


def system(options: dict[str, Any]) -> System:
    return Ours(Path(options["work"]), options["kind"], options["threads"])


class Ours:
    """Every passage becomes a document, since peers are given passages too; nothing is declined before it is asked."""

    def __init__(self, work: Path, kind: str, threads: int) -> None:
        self._work, self._kind = work, kind
        self._settings = resolve(None, [f"runtime.threads={threads}"])
        self._library: Library | None = None

    def ingest(self, passages: Sequence[Line]) -> None:
        if self._library is not None:
            self._library.close()
        shutil.rmtree(self._work / "library", ignore_errors=True)
        last, self._library = self._library, Library(self._work / "library", self._settings)
        documents = [Document(each["key"], each["text"], each["title"]) for each in passages]
        for begin in range(0, len(documents), _BATCH):
            self._library.put(documents[begin : begin + _BATCH])
        if last is not None:
            self._library.pipeline(like=last)  # the networks are loaded once

    def ask(self, question: str) -> Line:
        assert self._library is not None
        if self._kind == "first-sentence":
            return _first_sentence(self._library.pipeline().retriever.retrieve([Question("", question)])[0])
        trace = self._library.ask(question, "short", min_chance=0.0)
        answer = trace.answer
        shown = [hit.passage.document_id for hit in trace.hits[:5]]
        if answer is None or answer.text is None:
            return {"text": None, "score": answer.chance if answer else 0.0, "shown": shown}
        withheld = answer.chance < self._library.settings().judge.min_chance
        words = answer.rests_on or answer.words
        told = {"score": answer.chance, "shown": [each.document_id for each in answer.evidence], **_place(words, trace)}
        return {"text": None if withheld else answer.text, "withheld": answer.text if withheld else None, **told}


def _place(words: Sequence[Word], trace: Trace) -> Line:
    """Where the words stand, from the first to the last; nothing where they are of several passages."""
    ids = {word.passage_id for word in words}
    if len(ids) != 1 or None in ids:
        return {}
    first, last = words[0], words[-1]
    (id,) = ids
    passage = next((hit.passage for hit in trace.hits if hit.passage.id == id), None)
    if passage is None or first.start is None or last.end is None:
        return {}
    quote = "".join((word.space if place else "") + word.text for place, word in enumerate(words))
    return {"key": passage.document_id, "quote": quote, **_offsets(passage, first.start, last.end)}


def _offsets(passage: Passage, start: int, end: int) -> Line:
    before = passage.start + (len(passage.title) + 1 if passage.title else 0)
    return {"start": before + start, "end": before + end}


def _first_sentence(hits: Sequence[Hit]) -> Line:
    """The first sentence of the passage that BM25 puts first."""
    if not hits:
        return {"text": None, "score": 0.0, "shown": []}
    best = max(hits, key=lambda hit: hit.features.get("retrieve", hit.score))
    passage = best.passage
    start, end = next(iter(sentences(passage.text)), (0, len(passage.text)))
    text = passage.text[start:end]
    place = {"key": passage.document_id, "quote": text, **_offsets(passage, start, end)}
    return {"text": text, "score": best.features.get("retrieve", best.score), "shown": [passage.document_id], **place}
