"""A writer that is killed while it builds an index anew leaves a library that can be asked, and nothing to mend."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.store import library as store
from wherefrom.types import Document

# Python warns of forks of a process with threads, as a worker of pytest-xdist is; these forks run Python alone.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
KILLED = 9


def dies(*_: object, **__: object) -> None:
    os._exit(KILLED)


def then_dies(work: Callable[..., object]) -> Callable[..., None]:
    def done(*arguments: object, **named: object) -> None:
        work(*arguments, **named)
        os._exit(KILLED)

    return done


def breaking(library: Library, where: str) -> None:
    """Have this process end at a moment of a rebuild."""
    local = library._folder().local
    match where:
        case "before anything is put":
            library._folder()._fill = dies  # type: ignore[method-assign,assignment]
        case "before it is in its place":
            Path.rename = dies  # type: ignore[method-assign,assignment]
        case "in its place, before it is known":
            local.seal = dies  # type: ignore[method-assign]
        case "known, before the old one is gone":
            local.seal = then_dies(local.seal)  # type: ignore[method-assign]
        case "half of the old one gone":
            store._erased = dies


@pytest.mark.parametrize("kind", ["bm25", "tfidf"])
@pytest.mark.parametrize(
    "where",
    [
        "before anything is put",
        "before it is in its place",
        "in its place, before it is known",
        "known, before the old one is gone",
        "half of the old one gone",
    ],
)
def test_the_library_can_be_asked_at_once(tmp_path: Path, kind: str, where: str) -> None:
    settings = resolve(overrides=[f"retrieve.kind={kind}"])
    with Library(tmp_path / "library", settings) as library:
        library.put([Document("note", "The boiler was serviced by Marta."), Document("shed", "The shed is green.")])
    process = os.fork()
    if process == 0:
        try:
            library = Library(tmp_path / "library", settings)
            breaking(library, where)
            library.build_index(kind)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == KILLED
    for _ in range(2):  # as it was left, and once a writer has been there
        with Library(tmp_path / "library", settings) as library:
            assert [hit.passage.document_id for hit in library.search("Who serviced the boiler?").hits] == ["note"]
            assert library.check(repair=False).sound
            library.put([Document("roof", "The roof is new.")])
            assert library.search("What about the roof?").hits[0].passage.document_id == "roof"
            library.build_index(kind)
