"""Opens the library of a folder: with its documents in the folder, or in the database server that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from wherefrom.config import Settings
from wherefrom.errors import SettingsError
from wherefrom.store.library import SHARED, LibraryFolder, MakeIndex, SplitText


def open_library(
    path: Path,
    settings: Settings,
    split: SplitText,
    indexes: Mapping[str, MakeIndex],
    create: bool = False,
    catching_up: Callable[[int, int], None] = lambda *_: None,
) -> LibraryFolder:
    """Open the library at `path`; with `create`, make it if there is none.

    Where its documents are is what the settings say the first time; the folder remembers it. `catching_up` is called
    with how many passages of how many its indexes have taken in, where others have changed the documents.
    """
    if settings.store.kind == "sqlite" and not (path / SHARED).exists():
        if settings.store.url:
            raise SettingsError("store.url is for documents in a database server; add store.kind=postgres to it")
        return LibraryFolder.open(path, settings, split, indexes, create)
    from wherefrom.store.shared import SharedFolder

    return SharedFolder.open(path, settings, split, indexes, create, catching_up)
