"""The one training loop: what it learns, what it keeps and what it says."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file
from torch import Tensor

from train.tiny import Tiny, TinyBatch, TinyNetwork, train
from wherefrom.errors import SettingsError
from wherefrom.train.checkpoint import read_identity
from wherefrom.train.errors import CheckpointUnusable, Diverged, TrainingError
from wherefrom.train.log import read_log
from wherefrom.train.loop import LoopSettings, fit, trained
from wherefrom.train.progress import Progress, duration
from wherefrom.train.schedule import rate_share
from wherefrom.train.seeds import seed_everything

PLAIN = Tiny(dropout=0.0, tricky=False)
QUICK = LoopSettings(epochs=2, learning_rate=0.01, report_every=4)


def weights(folder: Path, task: Tiny = PLAIN) -> dict[str, Tensor]:
    return dict(trained(task, folder).state_dict())


def same(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def assert_close(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> None:
    torch.testing.assert_close(dict(left), dict(right), rtol=1e-4, atol=1e-6)


class Scripted(Tiny):
    """Its evaluations give these values of `score`, in turn, and it remembers the weights it was shown."""

    def __init__(self, *scores: float) -> None:
        super().__init__()
        object.__setattr__(self, "scores", iter(scores))
        object.__setattr__(self, "shown", [])

    scores: Iterator[float]
    shown: list[dict[str, Tensor]]

    def evaluate(self, model: TinyNetwork) -> Mapping[str, float]:
        self.shown.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return {"score": next(self.scores)}


# What it learns.


def test_equals_a_plain_loop_written_by_hand(tmp_path: Path) -> None:
    settings = dataclasses.replace(QUICK, weight_decay=0.1, clip=0.5)
    train(PLAIN, settings, tmp_path)

    seed_everything(0, "model")
    model = PLAIN.model().train()
    matrices = [model.encoder.weight, model.head.weight]
    rest = [model.embedding.weight, model.encoder.bias, model.norm.weight, model.norm.bias, model.head.bias]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.01)
    step = 0
    for epoch in range(2):
        for batch in PLAIN.batches(epoch, 0):
            loss, _ = PLAIN.loss(model, batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*matrices, *rest], 0.5)
            for group in optimizer.param_groups:
                group["lr"] = 0.01 * rate_share(step, 20, 0.06, "linear", 0.0)
            optimizer.step()
            step += 1
    assert step == 20
    assert_close(weights(tmp_path), model.state_dict())


def test_uneven_microbatches_equal_one_big_batch(tmp_path: Path) -> None:
    pieces = train(dataclasses.replace(PLAIN, batch=5), dataclasses.replace(QUICK, accumulate=10), tmp_path / "pieces")
    whole = train(dataclasses.replace(PLAIN, batch=48), QUICK, tmp_path / "whole")
    assert_close(weights(tmp_path / "pieces"), weights(tmp_path / "whole"))
    assert [p.losses for p in pieces if p.losses] == [pytest.approx(p.losses) for p in whole if p.losses]
    assert pieces[-1].step == whole[-1].step == 2


def test_the_last_step_of_an_epoch_takes_what_is_left(tmp_path: Path) -> None:
    reports = train(PLAIN, dataclasses.replace(QUICK, accumulate=4, report_every=1), tmp_path)  # 10 microbatches
    assert [(report.step, report.epoch) for report in reports[:-1]] == [
        (0, 0.0),
        (1, 0.4),
        (2, 0.8),
        (3, 1.0),
        (4, 1.4),
        (5, 1.8),
        (6, 2.0),
    ]


def test_steps_may_end_inside_an_epoch_or_pass_many(tmp_path: Path) -> None:
    assert train(PLAIN, dataclasses.replace(QUICK, steps=7), tmp_path / "few")[-1].epoch == 0.7
    assert train(PLAIN, dataclasses.replace(QUICK, steps=33), tmp_path / "many")[-1].epoch == 3.3


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_learns_in_half_precision(tmp_path: Path, precision: Any) -> None:
    settings = LoopSettings(epochs=12, learning_rate=0.02, precision=precision, metric="accuracy")
    reports = train(PLAIN, settings, tmp_path)
    assert reports[-1].metrics["accuracy"] > 0.9
    assert all(tensor.dtype == torch.float32 for tensor in weights(tmp_path).values())


def test_clipping_bounds_the_first_update(tmp_path: Path) -> None:
    """AdamW's first step does not see the gradient's size, so clip to almost nothing and let epsilon show it."""
    settings = LoopSettings(steps=1, clip=1e-12, epsilon=1.0, weight_decay=0.0, warmup=0.0)
    train(PLAIN, settings, tmp_path / "clipped")
    train(PLAIN, dataclasses.replace(settings, clip=0.0), tmp_path / "free")
    seed_everything(0, "model")
    first = PLAIN.model().state_dict()
    assert_close(weights(tmp_path / "clipped"), first)
    assert not torch.allclose(weights(tmp_path / "free")["head.weight"], first["head.weight"], atol=1e-6)


def test_the_rate_zero_leaves_weights_alone(tmp_path: Path) -> None:
    train(PLAIN, dataclasses.replace(QUICK, group_rates={"encoder": 0.0}), tmp_path)
    seed_everything(0, "model")
    first, last = PLAIN.model().state_dict(), weights(tmp_path)
    assert torch.equal(first["encoder.weight"], last["encoder.weight"])
    assert not torch.equal(first["head.weight"], last["head.weight"])


def test_other_seeds_give_other_weights(tmp_path: Path) -> None:
    train(PLAIN, QUICK, tmp_path / "a")
    train(PLAIN, dataclasses.replace(QUICK, seed=1), tmp_path / "b")
    assert not same(weights(tmp_path / "a"), weights(tmp_path / "b"))


def test_random_numbers_drawn_between_reports_change_nothing(tmp_path: Path) -> None:
    task = Tiny()
    train(task, QUICK, tmp_path / "quiet")
    for _ in fit(task, QUICK, tmp_path / "noisy"):
        torch.rand(3)
    assert same(weights(tmp_path / "quiet"), weights(tmp_path / "noisy"))


# What it keeps.


def test_the_average_is_evaluated_and_kept(tmp_path: Path) -> None:
    class Constant(Scripted):
        """The loss is the sum of one bias, so that the weights of every step are known."""

        def loss(self, model: TinyNetwork, batch: TinyBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
            return model.head.bias.sum(), {}

    settings = LoopSettings(
        steps=3, learning_rate=0.1, ema=0.9, warmup=0.0, decay="none", evaluate_every=1, evaluate_first=False
    )
    task = Constant(1.0, 2.0, 3.0)
    train(task, settings, tmp_path)
    seed_everything(0, "model")
    first = task.model().head.bias.detach()
    average = live = first
    for step, shown in enumerate(task.shown, start=1):
        live = live - 0.1  # AdamW under a constant gradient moves by the learning rate
        share = min(0.9, (1 + step) / (10 + step))
        average = share * average + (1 - share) * live
        torch.testing.assert_close(shown["head.bias"], average)
    torch.testing.assert_close(weights(tmp_path)["head.bias"], average)


@pytest.mark.parametrize(("goal", "sign"), [("max", 1.0), ("min", -1.0)])
def test_stops_early_and_keeps_the_best(tmp_path: Path, goal: Any, sign: float) -> None:
    task = Scripted(*(sign * score for score in (0.1, 0.05, 0.7, 0.7, 0.2, 0.9)))
    settings = LoopSettings(epochs=9, learning_rate=0.01, metric="score", goal=goal, patience=2)
    reports = train(task, settings, tmp_path)
    assert [report.best for report in reports if report.metrics and not report.finished] == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert reports[-1].finished
    assert reports[-1].metrics == {"score": sign * 0.7}
    assert reports[-1].step == 40  # four epochs of ten
    assert same(weights(tmp_path), task.shown[2])
    provenance = json.loads((tmp_path / "provenance.json").read_text())
    assert provenance["kept_step"] == 20
    assert provenance["metrics"] == {"score": sign * 0.7}


def test_patience_does_not_count_before_the_network_has_seen_enough(tmp_path: Path) -> None:
    """Chance makes the first evaluation the best of a network that learns nothing for a while."""
    task = Scripted(0.11, 0.1, 0.1, 0.1, 0.6, 0.5, 0.4, 0.3)
    settings = LoopSettings(epochs=9, learning_rate=0.01, metric="score", patience=2)
    assert train(task, settings, tmp_path / "at-once")[-1].metrics == {"score": 0.11}
    task = Scripted(0.11, 0.1, 0.1, 0.1, 0.6, 0.5, 0.4, 0.3)
    last = train(task, dataclasses.replace(settings, least_steps=35), tmp_path / "later")[-1]
    assert last.metrics == {"score": 0.6}
    assert last.step == 60  # the fourth evaluation is at 30; from the fifth on two without a gain end it


def test_keeps_the_last_weights_without_a_metric(tmp_path: Path) -> None:
    task = Scripted(0.9, 0.1, 0.1)
    train(task, QUICK, tmp_path)
    assert same(weights(tmp_path), task.shown[-1])


def test_evaluates_every_so_many_steps_and_at_the_end(tmp_path: Path) -> None:
    reports = train(PLAIN, dataclasses.replace(QUICK, evaluate_every=6), tmp_path)
    assert [report.step for report in reports if report.metrics] == [0, 6, 12, 18, 20, 20]


def test_need_not_evaluate_first(tmp_path: Path) -> None:
    reports = train(PLAIN, dataclasses.replace(QUICK, evaluate_first=False), tmp_path)
    assert [report.step for report in reports if report.metrics] == [10, 20, 20]


def test_the_folder_holds_these_files_and_no_others(tmp_path: Path) -> None:
    train(PLAIN, dataclasses.replace(QUICK, metric="accuracy"), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "curves.svg",
        "last.safetensors",
        "log.jsonl",
        "model.safetensors",
        "provenance.json",
    ]


# What it says.


def test_nothing_happens_until_it_is_iterated(tmp_path: Path) -> None:
    fit(PLAIN, QUICK, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_logs_losses_parts_and_metrics(tmp_path: Path) -> None:
    reports = train(Tiny(), QUICK, tmp_path)
    rows = read_log(tmp_path / "log.jsonl")
    assert [row["step"] for row in rows] == [0, 4, 8, 10, 12, 16, 20]
    assert rows[0]["losses"] == {}
    assert rows[0]["metrics"].keys() == {"accuracy", "loss"}
    assert {name for row in rows for name in row["losses"]} == {"loss", "rare", "words"}
    assert [row["losses"] for row in rows] == [report.losses for report in reports[:-1]]
    assert rows[1]["learning_rate"] == pytest.approx(0.01 * rate_share(3, 20, 0.06, "linear", 0.0))
    assert all(row["gradient_norm"] > 0 for row in rows[1:])


def test_reports_rate_and_time_left(tmp_path: Path) -> None:
    reports = [report for report in train(PLAIN, QUICK, tmp_path) if report.losses]
    assert all(report.steps_per_second > 0 and report.examples_per_second > 0 for report in reports)
    assert reports[0].examples_per_second == pytest.approx(5 * reports[0].steps_per_second, rel=0.5)
    assert reports[0].seconds_left > 0.0
    assert reports[-1].seconds_left == 0.0


def test_a_report_is_a_line_for_people() -> None:
    progress = Progress(120, 900, 0.4, {"loss": 0.7312}, 1.0, 1e-4, {"f1": 0.6}, True, 12.34, 394.2, 125.0)
    assert str(progress) == (
        "step 120/900  epoch 0.40  loss 0.7312  f1 0.6  (best)  12.3 steps/s, 394 examples/s  2m05s left"
    )
    assert [duration(seconds) for seconds in (5, 65, 7801)] == ["5s", "1m05s", "2h10m"]


def test_draws_the_curves(tmp_path: Path) -> None:
    train(PLAIN, QUICK, tmp_path)
    picture = (tmp_path / "curves.svg").read_text()
    assert picture.startswith("<svg")
    assert ">accuracy<" in picture


def test_says_where_the_weights_came_from(tmp_path: Path) -> None:
    settings = dataclasses.replace(QUICK, seed=5, group_rates={"encoder": 0.0})
    last = train(PLAIN, settings, tmp_path)[-1]
    found = json.loads((tmp_path / "provenance.json").read_text())
    assert found["task"] == {"name": "tiny", "data": {"made up": "sha256 of 48 examples"}, "settings": {"dropout": 0.0}}
    assert found["settings"]["learning_rate"] == 0.01
    assert found["seed"] == 5
    assert found["parameters"] == 20 * 8 + (8 * 8 + 8) + 16 + 2 * (8 * 2 + 2)
    assert found["trained_parameters"] == found["parameters"] - (8 * 8 + 8)
    assert found["versions"]["torch"] == str(torch.__version__)
    assert found["versions"]["python"] == sys.version.split()[0]
    assert found["device"]
    assert found["processes"] == 1
    assert found["finished"] is True
    assert (found["steps"], found["epochs"], found["examples"]) == (20, 2.0, 96)
    assert found["duration_seconds"] > 0
    assert found["metrics"] == last.metrics
    assert found["commit"] is None or len(found["commit"]) == 40


# What can go wrong.


def test_a_loss_that_is_no_number_stops_and_leaves_the_last_good_checkpoint(tmp_path: Path) -> None:
    task = dataclasses.replace(PLAIN, poison=30)
    (bad,) = (p for p, batch in enumerate(task.batches(0, 0)) if int(batch.labels.min()) < 0)
    settings = dataclasses.replace(QUICK, checkpoint_every=1, report_every=100)
    with pytest.raises(Diverged, match=rf"step {bad + 1}: loss is nan.*loop\.learning_rate"):
        train(task, settings, tmp_path)
    train(PLAIN, dataclasses.replace(settings, steps=20), tmp_path / "healthy")
    assert read_identity(tmp_path / "last.safetensors").facts["name"] == "tiny"
    reports = train(PLAIN, settings, tmp_path)  # the data mended, it goes on
    assert same(weights(tmp_path), weights(tmp_path / "healthy"))
    assert reports[-1].finished


def test_a_gradient_that_is_no_number_is_noticed_before_it_is_saved(tmp_path: Path) -> None:
    class Root(Tiny):
        def loss(self, model: TinyNetwork, batch: TinyBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
            return torch.sqrt((model.head.bias * 0.0).sum()), {}  # 0, with the gradient nan

    with pytest.raises(Diverged, match=r"step 1: the gradient's norm is nan"):
        train(Root(), dataclasses.replace(QUICK, checkpoint_every=1), tmp_path)
    assert all(torch.isfinite(tensor).all() for tensor in weights_of_last(tmp_path).values())


def weights_of_last(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "last.safetensors")


def test_a_metric_that_the_evaluation_lacks_is_named_before_training(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"loop\.metric is 'f1', but the evaluation gives accuracy, loss"):
        train(PLAIN, dataclasses.replace(QUICK, metric="f1"), tmp_path)


def test_a_metric_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="step 10: the evaluation gives nan for score"):
        train(Scripted(0.1, float("nan")), QUICK, tmp_path)


def test_a_task_without_data_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no microbatches in epoch 0"):
        train(Tiny(examples=0), QUICK, tmp_path)


def test_a_microbatch_of_nothing_is_an_error(tmp_path: Path) -> None:
    class Empty(Tiny):
        def size(self, batch: TinyBatch) -> int:
            return 0

    with pytest.raises(TrainingError, match="microbatch 0 of epoch 0 the size 0"):
        train(Empty(), QUICK, tmp_path)


def test_a_gpu_that_is_not_there_is_named(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(SettingsError, match="torch sees no GPU"):
        next(iter(fit(PLAIN, QUICK, tmp_path, device="cuda")))


def test_there_are_no_weights_before_the_end(tmp_path: Path) -> None:
    training = fit(PLAIN, QUICK, tmp_path)
    next(iter(training))
    training.close()  # type: ignore[attr-defined]
    with pytest.raises(CheckpointUnusable, match="training has not finished"):
        trained(PLAIN, tmp_path)


def test_needs_no_more_than_torch_numpy_and_safetensors() -> None:
    """GPU machines have these three and nothing else."""
    code = "import sys, wherefrom.train.loop; print('|'.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    foreign = {"msgspec", "click", "tantivy", "rich", "filelock", "lxml", "pypdfium2", "tokenizers", "transformers"}
    assert not set(done.stdout.strip().split("|")) & foreign
