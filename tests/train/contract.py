"""What every training task promises.

Subscribe by subclassing: `class TestMyTask(TaskContract)` with a fixture `task`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch

from wherefrom.train.loop import LoopSettings, Progress, fit
from wherefrom.train.seeds import seed_everything
from wherefrom.train.task import Task

AnyTask = Task[Any, Any]


class TaskContract:
    """Give a fixture `task`: on eight examples, with a network of a few thousand numbers and no dropout."""

    near_zero = 0.05  # the loss of eight examples learnt by heart
    steps = 150  # enough for that
    learning_rate = 0.02  # high: the networks are tiny

    @pytest.fixture(autouse=True)
    def _one_thread(self) -> None:
        torch.set_num_threads(1)

    def settings(self, steps: int) -> LoopSettings:
        return LoopSettings(
            steps=steps, learning_rate=self.learning_rate, weight_decay=0.0, report_every=1, evaluate_every=10**6
        )

    def fitted(self, task: AnyTask, folder: Path, steps: int) -> list[Progress]:
        return [progress for progress in fit(task, self.settings(steps), folder) if progress.losses]

    def test_fits_eight_examples_to_near_zero_loss(self, task: AnyTask, tmp_path: Path) -> None:
        reports = self.fitted(task, tmp_path, self.steps)
        last = [report.losses["loss"] for report in reports[-8:]]
        assert sum(last) / len(last) < self.near_zero

    def test_the_loss_decreases(self, task: AnyTask, tmp_path: Path) -> None:
        losses = [report.losses["loss"] for report in self.fitted(task, tmp_path, 40)]
        assert sum(losses[-8:]) < sum(losses[:8])

    def test_two_runs_with_one_seed_are_equal(self, task: AnyTask, tmp_path: Path) -> None:
        for name in "ab":
            self.fitted(task, tmp_path / name, 5)
        for file in ("model.safetensors", "log.jsonl"):
            assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()

    def test_the_order_of_the_data_repeats(self, task: AnyTask) -> None:
        seed_everything("contract")
        model = task.model().eval()

        def losses() -> list[float]:
            batches = task.batches(1, 3)
            found = []
            for position in range(len(batches)):
                seed_everything(position)
                found.append(task.loss(model, batches[position])[0].item())
            return found

        assert losses() == losses()

    def test_sizes_are_at_least_one(self, task: AnyTask) -> None:
        batches = task.batches(0, 0)
        assert all(task.size(batches[position]) >= 1 for position in range(len(batches)))

    def test_evaluate_gives_numbers(self, task: AnyTask) -> None:
        with torch.no_grad():
            metrics = task.evaluate(task.model().eval())
        assert metrics
        assert all(math.isfinite(float(value)) for value in metrics.values())

    def test_tells_what_it_is(self, task: AnyTask) -> None:
        facts = task.facts()
        assert facts.name
        assert facts == task.facts()
