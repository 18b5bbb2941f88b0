"""The task contract itself: it can be kept, and breaking it is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

from train.contract import TaskContract
from train.tiny import Tiny


class TestTiny(TaskContract):
    @pytest.fixture
    def task(self) -> Tiny:
        return Tiny(examples=8, dropout=0.0, tricky=False)


def test_a_task_that_cannot_learn_is_noticed(tmp_path: Path) -> None:
    class Constant(Tiny):
        def loss(self, model, batch):  # type: ignore[no-untyped-def]
            loss, parts = super().loss(model, batch)
            return loss * 0.0 + 0.7, parts

    with pytest.raises(AssertionError):
        TaskContract().test_fits_eight_examples_to_near_zero_loss(Constant(examples=8), tmp_path)
