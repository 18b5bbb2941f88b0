"""An exported writer measured alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the writer's material needs tokenizers")

from train.writing.towns import towns_material
from wherefrom.systems.writer.measure import Shown, main


def test_gold_answers_are_told_at_their_characters(tmp_path: Path) -> None:
    shown = Shown.of(towns_material(tmp_path).path)
    asked = list(shown.told(3))
    assert len(asked) == 3  # of the twelve validation towns every fourth has a sentence
    for example, task in asked:
        assert task.short is not None
        told = task.passages[task.short.passage].text[task.short.start : task.short.end]
        assert told == shown.texts[example]["answers"][0]
        assert len(task.passages) == 3
    assert all(task.short is None for _, task in shown.short())


def test_what_there_is_is_measured(tmp_path: Path, tiny_writer_weights: Path) -> None:
    material = towns_material(tmp_path).path
    main([str(tiny_writer_weights), str(material), str(tmp_path / "out.json"), "--most", "2"])
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["told"]["examples"] == 2
    assert 0 <= found["short"]["f1"] <= 100
    assert "narrative" not in found  # there are no stories in the validation part
    assert found["run"]["weights"]
