"""A library that may be searched from any thread: frameworks call from those they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from wherefrom.errors import WherefromError
from wherefrom.library import Library
from wherefrom.types import Filter, Hit, Passage

_Result = TypeVar("_Result")


class FrameworkMissing(WherefromError):
    """The framework that a retriever is for is not installed."""


class SearchedLibrary:
    """Searches in one thread, to which the index belongs."""

    def __init__(self, library: str | Path | Library | None) -> None:
        self._library = library if isinstance(library, Library) else Library(library)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="wherefrom-search")

    def hits(self, question: str, k: int, within: Filter | None) -> tuple[Hit, ...]:
        return self._in_thread(lambda: self._library.search(question, k, within).hits)[:k]

    def close(self) -> None:
        """Close the library too."""
        self._in_thread(self._library.close)
        self._thread.shutdown()

    def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        return self._thread.submit(work).result()


def metadata(hit: Hit) -> Mapping[str, Any]:
    """What a framework keeps beside a passage's text: `document.text[start:end]` is that text."""
    passage: Passage = hit.passage
    return {
        "source": passage.document_id,
        "title": passage.title,
        "section": passage.section,
        "place": passage.place_of(0, len(passage.text)),
        "passage_id": passage.id,
        "start": passage.start,
        "end": passage.end,
        "score": hit.score,
    }
