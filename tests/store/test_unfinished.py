"""What a writer left that was killed while it made a library is no part of the next one's."""

from __future__ import annotations

from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.types import Document


@pytest.mark.parametrize("kind", ["bm25", "tfidf"])
def test_indexes_of_a_library_that_was_never_finished_are_laid_anew_whatever_they_lack(
    tmp_path: Path, kind: str
) -> None:
    settings = resolve(overrides=[f"retrieve.kind={kind}"])
    with Library(tmp_path / "laid", settings) as library:
        library.make()
    files = [file.relative_to(tmp_path / "laid") for file in (tmp_path / "laid" / "index" / kind).rglob("*.*")]
    assert files
    for number, lacking in enumerate(files):
        path = tmp_path / str(number)
        with Library(path, settings) as library:
            library.make()
        for file in (*path.glob("documents.sqlite*"), path / "library.toml", path / lacking):
            file.unlink(missing_ok=True)
        with Library(path, settings) as library:
            library.put([Document("note", "The boiler was serviced by Marta.", "")])
            assert [hit.passage.document_id for hit in library.search("Who serviced the boiler?").hits] == ["note"]
            assert not library.check().problems
