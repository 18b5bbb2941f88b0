"""Progress in words."""

from __future__ import annotations

from wherefrom.cli.progress import line
from wherefrom.ingest.run import IngestProgress


def test_says_how_much_how_fast_and_how_long_still() -> None:
    progress = IngestProgress(files=3, files_in_all=10, bytes=25, bytes_in_all=100, documents=1200, current="a.txt")
    assert line(progress, seconds=10.0) == "1,200 documents, 3 of 10 files, 25%, 120/s, 30 s left"


def test_the_first_moment_and_an_empty_ingest_have_no_rate_to_go_by() -> None:
    assert line(IngestProgress(0, 10, 0, 100, 0, "a"), 0.0).endswith("time left unknown")
    assert "100%" in line(IngestProgress(0, 0, 0, 0, 0, ""), 1.0)
