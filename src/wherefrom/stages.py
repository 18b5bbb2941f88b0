"""The verbs: one Protocol a stage, one method each, many questions at a time.

Promises that every implementation keeps, checked by the contract tests in `tests/contracts`: output
follows the order of the questions; best first; ties broken by id, so that runs repeat; empty in, empty out;
a batch equals one by one; nothing passed in is changed; constructors are cheap, weights load on first use.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from wherefrom.types import (
    Answer,
    Candidate,
    Disagreement,
    Document,
    Filter,
    Hit,
    Passage,
    Question,
    Style,
    Summary,
    Word,
)


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """Which keys an index may answer with: those from a `first` up to its `stop`; ranges ascend and do not touch.

    Ranges, because documents that were read together have keys in a row: a folder of thousands is often a single one.
    """

    firsts: tuple[int, ...]
    stops: tuple[int, ...]

    def __contains__(self, key: int) -> bool:
        at = bisect_right(self.firsts, key) - 1
        return at >= 0 and key < self.stops[at]

    def __len__(self) -> int:
        return sum(self.stops) - sum(self.firsts)


class Store(Protocol):
    """Keeps documents and cuts them into passages; a document put again replaces its old version."""

    def put(self, documents: Sequence[Document]) -> None: ...

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Take documents out; the ids of those that were there."""
        ...

    def document(self, id: str) -> Document | None: ...

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages of these ids, in their order; unknown ids are left out."""
        ...

    def passages_at(self, keys: Sequence[int]) -> dict[int, Passage]:
        """The passages of these index keys; keys that are no longer, or not yet, in use are left out."""
        ...

    def keys_within(self, part: Filter) -> KeyRanges:
        """The keys of all passages of the documents that fit; an error where no document does."""
        ...


class Index(Protocol):
    """Finds the keys of passages by their text; holds numbers only, the text lives in the store.

    Keys are whole numbers, what every index engine takes natively. What was put or removed is seen by
    `search`, and survives a crash, from `commit` on: all of it or nothing.
    """

    def create(self) -> None:
        """Lay an empty index, unless there is one; a missing index is an error everywhere else."""
        ...

    def put(self, keys: Sequence[int], texts: Sequence[str]) -> None: ...

    def remove(self, keys: Sequence[int]) -> None: ...

    def commit(self) -> None: ...

    def search(self, texts: Sequence[str], k: int, within: KeyRanges | None = None) -> list[list[tuple[int, float]]]:
        """For each text its `k` best keys with their scores, best first, equal scores by key.

        With `within`, the best of those keys alone, with the scores that they have without it.
        """
        ...

    def keys(self) -> set[int]: ...

    def refresh(self) -> None:
        """See what other processes have committed since."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class ServedIndex(Index, Protocol):
    """An index that a server keeps, which can lose what it had, and which outlives the library's folder."""

    def behind(self) -> bool:
        """Whether the server holds other passages than were committed; an error where it has nothing of them."""
        ...

    def catch_up(self, live: set[int], texts: Callable[[set[int]], Iterable[tuple[int, str]]]) -> int:
        """Make the server hold these keys; `texts` gives the passages of those that it lacks. How many those were."""
        ...

    def erase(self) -> None:
        """Take the index from the server."""
        ...


@runtime_checkable
class SlowIndex(Index, Protocol):
    """An index that takes long to make what it keeps of a text, and may lack passages that are yet to be made so.

    What is made is put later, and by others than those who write documents: see `LibraryFolder.fill_slow`.
    """

    def prepare(self, texts: Sequence[str]) -> Sequence[Any]:
        """What `put_prepared` takes, one a text; may be called while others write."""
        ...

    def put_prepared(self, keys: Sequence[int], prepared: Any) -> None: ...

    def fits(self) -> bool:
        """Whether what it holds can be compared with what is prepared now."""
        ...


class Retriever(Protocol):
    """Finds passages for questions."""

    def retrieve(self, questions: Sequence[Question]) -> list[list[Hit]]: ...


class Ranker(Protocol):
    """Puts found passages into a better order."""

    def rank(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Hit]]: ...


class Reader(Protocol):
    """Reads candidate answers out of passages."""

    def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]: ...


class Reranker(Protocol):
    """Puts candidate answers into a better order."""

    def rerank(
        self, questions: Sequence[Question], candidates: Sequence[Sequence[Candidate]]
    ) -> list[list[Candidate]]: ...


class Sources(Protocol):
    """Weighs documents against each other, where the candidates of one question are from several."""

    def newest_first(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The same candidates; of versions of one text the newest's first."""
        ...

    def disagreements(self, hits: Sequence[Hit], candidates: Sequence[Candidate]) -> tuple[Disagreement, ...]:
        """What other documents say instead of the first candidate."""
        ...


class Judge(Protocol):
    """Says the chance that the first candidate is a right answer, from 0 to 1."""

    def judge(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[float]: ...


OnWords = Callable[[int, tuple[Word, ...]], None]
"""Called with the next words of an answer, and with the place of its question in the list of questions."""


class Writer(Protocol):
    """Writes the answer in a style; it never declines, so without anything to write from `text` is None.

    Whether to decline is decided by the pipeline, from the judge's chance. A writer that writes word by word calls
    `on_words` with the words as they come; only the answer counts, which may be another after all.
    """

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        on_words: OnWords | None = None,
    ) -> list[Answer]: ...


class Summarizer(Protocol):
    """Summarizes many passages around a question, in at most `words` words."""

    def summarize(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], words: int) -> list[Summary]: ...
