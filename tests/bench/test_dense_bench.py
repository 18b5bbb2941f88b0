"""The dense index's bench: what is found is beside an exact search, and bytes are what the disk gives."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from nq_data import make_searches

pytest.importorskip("faiss", reason="the dense index needs faiss: pip install 'wherefrom[dense]'")

from bench import dense as bench_dense
from bench import runs
from retrieve.tiny_embedder import write_embedder


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEREFROM_DATA", str(make_searches(tmp_path / "data")))


def test_a_run_is_beside_an_exact_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_dense, "RUNS", tmp_path / "runs")
    weights = write_embedder(tmp_path / "weights")
    sizes = ["--library-passages", "200", "--questions", "6", "--passages", "150"]
    where = ["--work", str(tmp_path / "work"), "--weights", str(weights), "--record"]
    assert bench_dense.main([*sizes, *where]) == 0
    lines = runs.read("dense-speed", tmp_path / "runs")
    assert {line.dataset for line in lines} == {"nqopen", "squad"}
    for line in lines:
        assert line.over == "the dense index on disk, 150 passages"
        assert line.metrics["recall_10"] == 100  # all vectors are looked at
        assert 48 < line.metrics["bytes_per_passage"] < 1000


def test_what_lists_leave_out_is_counted(tmp_path: Path) -> None:
    chance = numpy.random.default_rng(1)
    vectors = chance.integers(-60, 60, (1000, 24)).astype(numpy.int8)
    keys = numpy.arange(0, 3000, 3)
    asked = {str(number): chance.integers(-60, 60, 24).astype(numpy.int8) for number in range(20)}
    made = bench_dense.Prepared(asked, 24, "made")
    bench_dense.build(tmp_path, keys, vectors, "made", ivf_from=500)
    tenth = bench_dense.tenth_scores(made, vectors)
    few = bench_dense.search(tmp_path, made, keys, vectors, tenth, probed=1)
    every = bench_dense.search(tmp_path, made, keys, vectors, tenth, probed=1000)
    assert numpy.mean(few.recall) < 0.5
    assert set(every.recall) == {1.0}
    assert len(every.wall_ms) == len(every.cpu_ms) == 20
