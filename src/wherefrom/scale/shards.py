"""Parts of a BM25 index, each held by a Ray actor: built by all at once, and searched by all at once as one index.

    with cluster(4):
        build_shards(library, 4)
        search = open_shards(library)
        search.search(["when does the garden open"], 10)

The parts are derived from the library's documents as they are when they are built; once those have changed, they have
to be built anew.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wherefrom.config import IndexSettings
from wherefrom.durable import write_text
from wherefrom.errors import LibraryError
from wherefrom.library import Library
from wherefrom.retrieve.shards import Shard, ShardedSearch
from wherefrom.scale.workers import need
from wherefrom.store.sqlite import SQLiteStore

_FOLDER = "shards"
_NOTE = "shards.json"
_BATCH = 20_000  # passages that are sent to a part together
_IN_HAND = 2  # batches that a part may be behind; then the reading of documents waits


class ShardActors:
    """Parts that actors hold; a call goes to all of them at the same time."""

    def __init__(self, folders: Sequence[Path], settings: IndexSettings) -> None:
        need()
        import ray

        actor = ray.remote(num_cpus=1, max_restarts=3, max_task_retries=3)(Shard)
        self._actors = [actor.remote(folder, settings) for folder in folders]

    @property
    def count(self) -> int:
        return len(self._actors)

    def each(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        import ray

        calls = [
            None if given is None else getattr(actor, method).remote(*given)
            for actor, given in zip(self._actors, arguments, strict=True)
        ]
        answers = iter(ray.get([reference for reference in calls if reference is not None]))
        return [None if reference is None else next(answers) for reference in calls]

    def fill(self, batches: Callable[[], Any], report: Callable[[int], None]) -> int:
        """Deal batches of (keys, texts) out to the parts in turn; how many passages that were."""
        import ray

        waiting: list[list[Any]] = [[] for _ in self._actors]
        done = 0
        for number, (keys, texts) in enumerate(batches()):
            mine = number % self.count
            if len(waiting[mine]) >= _IN_HAND:
                ray.get(waiting[mine].pop(0))
            waiting[mine].append(self._actors[mine].put.remote(keys, texts))
            done += len(keys)
            report(done)
        self.each("commit", [()] * self.count)  # after all that was put: an actor does one thing after the other
        ray.get([reference for each in waiting for reference in each])
        return done

    def close(self) -> None:
        import ray

        self.each("close", [()] * self.count)
        for actor in self._actors:
            ray.kill(actor)


def _changes(library: Library) -> int:
    """The number by which it shows that the parts are of other documents than those that are there."""
    store = library.folder().store
    if not isinstance(store, SQLiteStore):
        raise LibraryError(
            "shards are built of libraries whose documents are in their folder; for others use a vector server"
        )
    return store.changes()


def build_shards(library: Library, count: int, report: Callable[[int], None] = lambda _: None) -> int:
    """Build so many parts of the library's BM25 index, beside the one that it has; how many passages they hold."""
    folder = library.folder()
    with folder.writing():
        changes = _changes(library)
        unfinished = folder.path / f"{_FOLDER}.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        settings = library.settings().index
        actors = ShardActors([unfinished / str(number) for number in range(count)], settings)
        actors.each("create", [()] * count)

        def batches() -> Any:
            keys: list[int] = []
            texts: list[str] = []
            for key, title, text in folder.store.live_passages():
                keys.append(key)
                texts.append(f"{title}\n{text}" if settings.title and title else text)
                if len(keys) == _BATCH:
                    yield keys, texts
                    keys, texts = [], []
            if keys:
                yield keys, texts

        passages = actors.fill(batches, report)
        actors.close()
        write_text(unfinished / _NOTE, json.dumps({"shards": count, "changes": changes, "passages": passages}))
        shutil.rmtree(folder.path / _FOLDER, ignore_errors=True)
        unfinished.rename(folder.path / _FOLDER)
    return passages


def open_shards(library: Library) -> ShardedSearch:
    """The parts of a library, searched as one; an error where there are none, or the library has changed since."""
    folder = library.folder()
    note = folder.path / _FOLDER / _NOTE
    if not note.exists():
        raise LibraryError(f"the library at {folder.path} has no shards; build_shards makes them")
    made = json.loads(note.read_text(encoding="utf-8"))
    if made["changes"] != _changes(library):
        raise LibraryError(
            f"the library at {folder.path} has changed since its shards were built; build_shards makes them anew"
        )
    folders = [folder.path / _FOLDER / str(number) for number in range(made["shards"])]
    return ShardedSearch(ShardActors(folders, library.settings().index), library.settings().index)
