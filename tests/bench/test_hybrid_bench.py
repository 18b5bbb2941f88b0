"""What vectors beside words do to answers: both ways are asked the same, and the library keeps the vectors."""

from __future__ import annotations

from pathlib import Path

import pytest
from nq_data import make_searches

pytest.importorskip("faiss", reason="the dense index needs faiss: pip install 'wherefrom[dense]'")

from bench import hybrid, runs
from retrieve.tiny_embedder import write_embedder


def test_both_ways_are_asked_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEREFROM_DATA", str(make_searches(tmp_path / "data")))
    monkeypatch.setattr(hybrid, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(hybrid, "is_held_out", lambda id: id in ("nq-1", "nq-4"))
    weights = write_embedder(tmp_path / "weights")
    where = ["--work", str(tmp_path / "work"), "--weights", str(weights), "--library-passages", "60", "--record"]
    for _ in range(2):  # the second time the vectors are there
        assert hybrid.main(where) == 0
    shipped, beside = runs.read("dense", tmp_path / "runs")
    assert (shipped.baseline, beside.baseline) == (True, False)
    assert shipped.n == beside.n == 2
    assert shipped.metrics["top_10"] == beside.metrics["top_10"] == 100
    assert "em change" in beside.intervals
