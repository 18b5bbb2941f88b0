"""Killed at any instant, training goes on to the same end, bit for bit."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from effort import times
from train.tiny import PRELOAD, Tiny, train
from wherefrom.errors import SettingsError
from wherefrom.train.errors import CheckpointUnusable
from wherefrom.train.loop import LoopSettings, fit

TASK = Tiny(batch_norm=True)
SETTINGS = LoopSettings(
    epochs=4,
    accumulate=2,
    learning_rate=0.02,
    decay="cosine",
    ema=0.95,
    metric="loss",
    goal="min",
    evaluate_every=3,
    report_every=4,
    checkpoint_every=1,
)

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(PRELOAD)


def outcome(folder: Path) -> tuple[bytes, bytes, bytes]:
    """What must not depend on interruptions."""
    return (
        (folder / "model.safetensors").read_bytes(),
        (folder / "log.jsonl").read_bytes(),
        (folder / "curves.svg").read_bytes(),
    )


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    train(TASK, SETTINGS, folder)
    return folder


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.usefixtures("uninterrupted")  # what torch loads with its first step is not counted as one
def test_killed_at_random_instants_ends_alike(tmp_path: Path, precision: Any) -> None:
    settings = dataclasses.replace(SETTINGS, precision=precision, epochs=times(5, 16))
    began = time.monotonic()
    train(TASK, settings, tmp_path / "whole")
    step_seconds = (time.monotonic() - began) / (5 * settings.epochs)

    generator = random.Random(precision)
    killed = tmp_path / "killed"
    kills = 0
    while True:
        child = FORKS.Process(target=train, args=(TASK, settings, killed))
        child.start()
        wait_for_checkpoint(killed, child)
        child.join(generator.uniform(0.0, 3 * step_seconds))
        if child.exitcode is not None:
            break
        child.kill()
        child.join()
        kills += 1
    assert child.exitcode == 0
    assert kills >= 3
    assert outcome(killed) == outcome(tmp_path / "whole")
    assert {path.name for path in killed.iterdir()} == {path.name for path in (tmp_path / "whole").iterdir()}


def wait_for_checkpoint(folder: Path, child: Any) -> None:
    """Until the child has replaced the checkpoint once, so that each child gets further; or until it has ended."""
    last = folder / "last.safetensors"

    def version() -> tuple[int, int] | None:
        try:
            found = last.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    before = version()
    while child.is_alive() and version() == before:
        time.sleep(0.001)


def test_left_at_any_report_ends_alike(tmp_path: Path, uninterrupted: Path) -> None:
    for _attempt in range(100):
        training = fit(TASK, SETTINGS, tmp_path)
        reports = [report for report, _ in zip(training, range(2), strict=False)]
        training.close()  # type: ignore[attr-defined]
        if reports[-1].finished:
            break
    assert outcome(tmp_path) == outcome(uninterrupted)


def test_rare_checkpoints_and_half_written_files_do_no_harm(tmp_path: Path, uninterrupted: Path) -> None:
    settings = dataclasses.replace(SETTINGS, evaluate_every=100, checkpoint_every=7)
    train(TASK, settings, tmp_path / "whole")
    training = fit(TASK, settings, tmp_path / "torn")
    for report in training:
        if report.step == 12:  # past the checkpoint of step 7, which lies between two reports
            break
    training.close()  # type: ignore[attr-defined]
    (tmp_path / "torn" / "unfinished-x").mkdir()
    (tmp_path / "torn" / "unfinished-x" / "last.safetensors").write_bytes(b"half a check")
    with (tmp_path / "torn" / "log.jsonl").open("ab") as log:
        log.write(b'{"step": 13, "los')
    reports = train(TASK, settings, tmp_path / "torn")
    assert reports[0].step == 8
    assert outcome(tmp_path / "torn") == outcome(tmp_path / "whole")


def test_a_finished_training_only_says_so(tmp_path: Path, uninterrupted: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(uninterrupted, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (report,) = train(TASK, SETTINGS, folder)
    assert report.finished
    assert report.metrics == json.loads(before["provenance.json"])["metrics"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_duration_and_examples_add_up(tmp_path: Path, uninterrupted: Path) -> None:
    training = fit(TASK, SETTINGS, tmp_path)
    next(iter(training))
    training.close()  # type: ignore[attr-defined]
    train(TASK, SETTINGS, tmp_path)
    found, expected = (json.loads((f / "provenance.json").read_text()) for f in (tmp_path, uninterrupted))
    assert found["examples"] == expected["examples"] == 4 * 48
    assert found["duration_seconds"] > 0


def test_the_checkpoint_holds_tensors_and_json_only(uninterrupted: Path) -> None:
    kinds = {name.split("/")[0] for name in load_file(uninterrupted / "last.safetensors")}
    assert kinds == {"weights", "average", "optimizer"}


def test_who_may_read_the_log_may_read_the_weights(uninterrupted: Path) -> None:
    assert len({path.stat().st_mode for path in uninterrupted.iterdir()}) == 1


def test_tied_weights_are_kept_once(uninterrupted: Path) -> None:
    names = load_file(uninterrupted / "model.safetensors").keys()
    assert "embedding.weight" in names
    assert "output.weight" not in names


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    training = fit(TASK, SETTINGS, tmp_path / "begun")
    next(iter(training))
    training.close()  # type: ignore[attr-defined]
    return tmp_path / "begun"


def test_another_setting_is_refused_by_name(begun: Path) -> None:
    with pytest.raises(SettingsError, match=r"loop\.learning_rate is 0\.5, but .* was begun with 0\.02"):
        train(TASK, dataclasses.replace(SETTINGS, learning_rate=0.5), begun)


def test_checkpoints_may_become_rarer(begun: Path) -> None:
    assert train(TASK, dataclasses.replace(SETTINGS, checkpoint_every=50), begun)[-1].finished


def test_other_data_is_refused(begun: Path) -> None:
    with pytest.raises(CheckpointUnusable, match=r"other data \(data differ\)"):
        train(dataclasses.replace(TASK, examples=40), SETTINGS, begun)


def test_another_network_is_refused(begun: Path) -> None:
    with pytest.raises(CheckpointUnusable, match=r"another network: norm\.num_batches_tracked"):
        train(dataclasses.replace(TASK, batch_norm=False), SETTINGS, begun)


def test_a_damaged_checkpoint_is_named(begun: Path) -> None:
    last = begun / "last.safetensors"
    last.write_bytes(last.read_bytes()[:-10])
    with pytest.raises(CheckpointUnusable, match=r"cannot read .*last\.safetensors"):
        train(TASK, SETTINGS, begun)


def test_a_log_with_lost_lines_is_named(begun: Path) -> None:
    (begun / "log.jsonl").write_bytes(b"")
    with pytest.raises(CheckpointUnusable, match="lost lines"):
        train(TASK, SETTINGS, begun)


def test_finished_weights_are_not_overwritten(tmp_path: Path, uninterrupted: Path) -> None:
    shutil.copy(uninterrupted / "model.safetensors", tmp_path)
    with pytest.raises(CheckpointUnusable, match=r"holds a model\.safetensors but no last\.safetensors"):
        train(TASK, SETTINGS, tmp_path)


def test_the_optimiser_remembers(begun: Path) -> None:
    train(TASK, SETTINGS, begun)
    memory = load_file(begun / "last.safetensors")["optimizer/head.weight/exp_avg_sq"]
    assert torch.all(memory > 0)


def test_a_training_older_than_a_setting_goes_on(tmp_path: Path, uninterrupted: Path) -> None:
    """A checkpoint that does not know a setting was made with what is now its default."""
    for progress in fit(TASK, SETTINGS, tmp_path):
        if progress.step == 4:
            break
    last = tmp_path / "last.safetensors"
    tensors = load_file(last)
    with safe_open(last, "pt") as file:
        about = json.loads(file.metadata()["about"])
    assert about["identity"]["settings"].pop("optimizer") == "adamw"
    save_file(tensors, last, {"about": json.dumps(about)})
    with pytest.raises(SettingsError, match=r"loop\.optimizer is 'adamax', but .* was begun with 'adamw'"):
        train(TASK, dataclasses.replace(SETTINGS, optimizer="adamax"), tmp_path)
    train(TASK, SETTINGS, tmp_path)
    assert outcome(tmp_path) == outcome(uninterrupted)
