"""What an exported writer is measured on, alone."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the material needs tokenizers")

from train.writing.towns import towns_material
from wherefrom.systems.writer.measure import ValidationTasks, alone
from wherefrom.systems.writer.settings import WriterMeasure


def test_gold_answers_are_given_at_their_characters(tmp_path: Path) -> None:
    validation = ValidationTasks.of(towns_material(tmp_path).path)
    tasks = list(validation.given(3))
    assert len(tasks) == 3  # of the twelve validation towns every fourth has a sentence
    for example, task in tasks:
        assert task.short is not None
        given = task.passages[task.short.passage].text[task.short.start : task.short.end]
        assert given == validation.texts[example].answers[0]
        assert len(task.passages) == 3
    assert all(task.short is None for _, task in validation.short())


def test_what_there_is_is_measured(tmp_path: Path, tiny_writer_weights: Path) -> None:
    material = towns_material(tmp_path).path
    figures = alone(tiny_writer_weights, material, WriterMeasure(most=2, threads=1), lambda _: None)
    assert figures["given"]["examples"] == 2
    assert 0 <= figures["short"]["f1"] <= 100
    assert "narrative" not in figures  # there are no stories in the validation part
