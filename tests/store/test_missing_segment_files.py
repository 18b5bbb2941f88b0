"""A file of an index that is gone is missed where no checksums are noted, too: in a library of an earlier version."""

from __future__ import annotations

from pathlib import Path

import pytest
from attack.kills import aged

from wherefrom import Library
from wherefrom.types import Document


@pytest.mark.parametrize("kind", ["fast", "fieldnorm", "idx", "pos", "store", "term"])
def test_check_makes_an_index_anew_that_lacks_a_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "library"
    with Library(path) as library:
        library.put([Document("note", "The boiler was serviced by Marta.", "")])
    aged(path)
    next((path / "index").rglob(f"*.{kind}")).unlink()
    with Library(path) as library:
        problems = [problem for problem in library.check().problems if problem.what.startswith("index 'bm25'")]
        assert [problem.repaired for problem in problems] == [True]
        assert [hit.passage.document_id for hit in library.search("Who serviced the boiler?").hits] == ["note"]
        assert not library.check().problems
