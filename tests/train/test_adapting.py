"""Tasks whose microbatches depend on what was learnt: which weights they are shown, and that it survives a kill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch
from torch import Tensor, nn

from train.tiny import Tiny, TinyBatch, TinyNetwork
from wherefrom.train.batching import LazyBatches
from wherefrom.train.loop import LoopSettings, fit
from wherefrom.train.task import Adapting

SETTINGS = LoopSettings(
    epochs=6, learning_rate=0.02, metric="score", evaluate_every=0, report_every=3, checkpoint_every=1
)
SCORES = {0: 0.1, 10: 0.5, 20: 0.4, 30: 0.3, 40: 0.6, 50: 0.2, 60: 0.1}  # by step: an epoch has ten


class Choosing(Tiny):
    """After an epoch without a gain the next one has the examples that the best network is least sure of, twice."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "step", 0)
        object.__setattr__(self, "state", {})
        object.__setattr__(self, "seen", [])

    step: int
    state: Mapping[str, Tensor]
    seen: list[tuple[int, float]]  # how stale it was, and a number of the weights that were shown

    def batches(self, epoch: int, seed: int) -> LazyBatches[TinyBatch]:
        usual = super().batches(epoch, seed)
        if not self.state.get("hard", torch.zeros(0)).numel():
            return usual
        hard = self.state["hard"].tolist()
        return LazyBatches([[*hard, *part][: len(part)] for part in usual.plan], usual.make)

    def evaluate(self, model: TinyNetwork) -> Mapping[str, float]:
        score = SCORES[self.step]
        object.__setattr__(self, "step", self.step + 10)
        return {"score": score}

    def adapt(self, model: nn.Module, stale: int) -> Mapping[str, Tensor]:
        assert not model.training
        assert isinstance(model, TinyNetwork)
        self.seen.append((stale, model.head.weight.sum().item()))
        sure = torch.stack([model.head(model.encode(torch.tensor([words])))[0].abs().sum() for words, _ in self.data()])
        return {"hard": sure.argsort()[:2]} if stale else {}

    def adapted(self, state: Mapping[str, Tensor]) -> None:
        object.__setattr__(self, "state", dict(state))


def whole(folder: Path) -> Choosing:
    torch.set_num_threads(1)
    task = Choosing()
    list(fit(task, SETTINGS, folder))
    return task


def test_it_is_asked_after_every_epoch_with_the_best_weights_so_far(tmp_path: Path) -> None:
    task = whole(tmp_path)
    assert isinstance(task, Adapting)
    assert [stale for stale, _ in task.seen] == [0, 0, 1, 2, 0, 1, 2]
    weights = [weight for _, weight in task.seen]
    assert weights[1] == weights[2] == weights[3]  # the best of step 10, while training has gone on
    assert weights[4] == weights[5] == weights[6]
    assert len({weights[0], weights[1], weights[4]}) == 3


def test_training_goes_on_from_its_own_weights_afterwards(tmp_path: Path) -> None:
    """The best weights are shown, not taken up."""

    class Looking(Choosing):
        def adapt(self, model: nn.Module, stale: int) -> Mapping[str, Tensor]:
            super().adapt(model, stale)
            return {}

    class Plain(Choosing):
        adapt = None  # type: ignore[assignment]

    logs = []
    for name, task in (("looking", Looking()), ("plain", Plain())):
        list(fit(task, SETTINGS, tmp_path / name))
        logs.append((tmp_path / name / "log.jsonl").read_bytes())
    whole(tmp_path / "choosing")
    assert logs[0] == logs[1] != (tmp_path / "choosing" / "log.jsonl").read_bytes()


@pytest.mark.parametrize("stop", [4, 8, 11, 14])
def test_killed_and_resumed_it_ends_alike(tmp_path: Path, stop: int) -> None:
    whole(tmp_path / "whole")
    reports: Iterator[object] = fit(Choosing(), SETTINGS, tmp_path / "killed")
    for _ in range(stop):
        next(reports)
    del reports
    again = Choosing()
    last = 10 * (1 + sum(1 for line in _evaluated(tmp_path / "killed")[1:]))
    object.__setattr__(again, "step", last)  # what the killed one would have been asked next
    list(fit(again, SETTINGS, tmp_path / "killed"))
    for file in ("model.safetensors", "log.jsonl"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def _evaluated(folder: Path) -> list[str]:
    return [line for line in (folder / "log.jsonl").read_text().splitlines() if '"score"' in line]
