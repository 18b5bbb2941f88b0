"""What an embedder's vectors find: every way is asked the same, and weights are chosen by other questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from nq_data import make_searches

from bench import embedders, runs
from retrieve.tiny_embedder import write_embedder


def test_a_line_names_what_the_weights_were_made_of(tmp_path: Path) -> None:
    weights = write_embedder(tmp_path / "weights")
    assert embedders.weights_hash(weights) == {}
    (weights / "provenance.json").write_bytes(b"abc")
    ((name, digest),) = embedders.weights_hash(weights).items()
    assert (name, digest[:8]) == ("weights/provenance.json", "ba7816bf")  # the SHA-256 of abc, as published


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("WHEREFROM_DATA", str(make_searches(tmp_path / "data")))
    monkeypatch.setattr(embedders, "RUNS", tmp_path / "runs")
    weights = write_embedder(tmp_path / "weights")
    sizes = ["--passages", "60", "--questions", "5"]
    return [*sizes, "--work", str(tmp_path / "work"), "--weights", f"tiny={weights}"]


def test_every_way_is_asked_the_same(tmp_path: Path, where: list[str]) -> None:
    assert embedders.main([*where, "--record"]) == 0
    lines = runs.read("dense", tmp_path / "runs")
    ways = {line.system for line in lines if line.dataset == "squad"}
    assert {"BM25", "tiny", "BM25 and tiny, by score"} <= ways
    assert len(lines) == 2 * len(ways)
    assert {line.metrics["top_20"] for line in lines if line.system == "BM25"} == {100}
    assert (tmp_path / "work" / "tiny.npz").exists()


def test_weights_are_chosen_by_other_questions(
    where: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedders, "_COSINES", (0.0, 3.0))
    monkeypatch.setattr(embedders, "_NEARNESS", (0.0,))
    assert embedders.main([*where, "--tune"]) == 0
    shown = capsys.readouterr().out
    assert "squad, valid, between those that are measured, 5 questions" in shown
    assert "nearness 0: 0: 100.00, 3: 100.00" in shown
