"""Several processes train as one would."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file

from effort import ALL
from train.tiny import PRELOAD, Tiny, TinyBatch, TinyNetwork, train, train_as
from wherefrom.errors import SettingsError
from wherefrom.train.log import read_log
from wherefrom.train.loop import LoopSettings, _Training, fit
from wherefrom.train.processes import Processes

# 48 examples in microbatches of 5: ten a epoch, the last of 3. Four a step: the third step has only two.
TASK = Tiny()
SETTINGS = LoopSettings(
    epochs=3, accumulate=4, learning_rate=0.01, ema=0.9, metric="loss", goal="min", report_every=2, checkpoint_every=2
)
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(PRELOAD)


def train_together(count: int, task: Tiny, settings: LoopSettings, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    children = [
        FORKS.Process(target=train_as, args=(rank, count, port, task, settings, folder)) for rank in range(count)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        child.kill()
    assert [child.exitcode for child in children] == [0] * count


def assert_alike(left: Path, right: Path) -> None:
    torch.testing.assert_close(
        load_file(left / "model.safetensors"), load_file(right / "model.safetensors"), rtol=1e-3, atol=1e-5
    )
    for one, other in zip(read_log(left / "log.jsonl"), read_log(right / "log.jsonl"), strict=True):
        assert one["step"] == other["step"]
        assert one["losses"] == pytest.approx(other["losses"], rel=1e-4)
        assert one["metrics"] == pytest.approx(other["metrics"], rel=1e-4)


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    """With dropout, random losses, a head that gets no gradient in places, and uneven last steps."""
    train(TASK, SETTINGS, tmp_path / "one")
    train_together(2, TASK, SETTINGS, tmp_path / "two")
    assert_alike(tmp_path / "one", tmp_path / "two")
    reports = [int((tmp_path / "two" / f"reports-{rank}").read_text()) for rank in range(2)]
    assert reports[0] > 5
    assert reports[1] == 0


def test_a_process_without_a_microbatch_keeps_step(tmp_path: Path) -> None:
    """Three microbatches for four processes' hands: the fourth gets none."""
    task = dataclasses.replace(TASK, examples=15)
    train(task, SETTINGS, tmp_path / "one")
    train_together(4, task, SETTINGS, tmp_path / "four")
    assert_alike(tmp_path / "one", tmp_path / "four")


@dataclasses.dataclass(frozen=True)
class Watching(Tiny):
    """Notes the running mean of its batch norm before each microbatch."""

    folder: Path = Path()

    def loss(self, model: TinyNetwork, batch: TinyBatch) -> tuple[torch.Tensor, Mapping[str, torch.Tensor | float]]:
        with (self.folder / f"seen-{os.environ['RANK']}").open("a") as file:
            file.write(f"{model.norm.running_mean.tolist()}\n")
        return super().loss(model, batch)


def test_buffers_are_those_of_the_first_process(tmp_path: Path) -> None:
    train_together(2, Watching(batch_norm=True, folder=tmp_path), dataclasses.replace(SETTINGS, accumulate=2), tmp_path)
    seen = [(tmp_path / f"seen-{rank}").read_text().splitlines() for rank in range(2)]
    assert len(set(seen[0])) > 10
    assert seen[0] == seen[1]


def test_goes_on_with_another_number_of_processes(tmp_path: Path) -> None:
    train(TASK, SETTINGS, tmp_path / "one")
    training = fit(TASK, SETTINGS, tmp_path / "moved")
    for report in training:
        if report.step == 4:
            break
    training.close()  # type: ignore[attr-defined]
    train_together(2, TASK, SETTINGS, tmp_path / "moved")
    assert_alike(tmp_path / "one", tmp_path / "moved")


def test_torchrun_starts_it(tmp_path: Path) -> None:
    train(TASK, SETTINGS, tmp_path / "one")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        "from train.test_processes import SETTINGS, TASK\nfrom train.tiny import train\n"
        "for report in train(TASK, SETTINGS, Path(sys.argv[1])):\n    print('report', report)\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, str(script), str(tmp_path / "two")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    assert_alike(tmp_path / "one", tmp_path / "two")
    last = [line for line in done.stdout.splitlines() if "finished" in line]
    assert len(last) == 1


@pytest.mark.skipif(not ALL, reason="two launchers take a minute: WHEREFROM_TEST_ALL=1")
def test_two_machines_train_as_one_process_does(tmp_path: Path) -> None:
    """Two launchers as on two machines, each with its own address; they meet at the first one's."""
    train(TASK, SETTINGS, tmp_path / "one")
    nodes = _two_nodes(tmp_path / "two", _script(tmp_path))
    for node in nodes:
        out, errors = node.communicate(timeout=250)
        assert node.returncode == 0, f"{out}\n{errors}"
    assert_alike(tmp_path / "one", tmp_path / "two")


@pytest.mark.skipif(not ALL, reason="four launchers take two minutes: WHEREFROM_TEST_ALL=1")
def test_a_machine_that_dies_ends_the_training_which_then_goes_on_to_the_same_end(tmp_path: Path) -> None:
    train(TASK, SETTINGS, tmp_path / "one")
    first, second = _two_nodes(tmp_path / "two", _script(tmp_path, dies_at=3))
    codes = []
    for node in (first, second):
        node.communicate(timeout=250)
        codes.append(node.returncode)
    assert all(codes)  # the one that is left does not wait for ever
    assert not (tmp_path / "two" / "model.safetensors").exists()
    for node in _two_nodes(tmp_path / "two", _script(tmp_path)):
        out, errors = node.communicate(timeout=250)
        assert node.returncode == 0, f"{out}\n{errors}"
    assert_alike(tmp_path / "one", tmp_path / "two")


def _script(folder: Path, dies_at: int | None = None) -> Path:
    """A program that trains; with `dies_at`, the second machine's process kills itself at that update."""
    script = folder / f"script-{dies_at}.py"
    script.write_text(
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from train.test_processes import SETTINGS, TASK\nfrom train.tiny import train\n"
        "from wherefrom.train import loop\n"
        f"dies_at = {dies_at!r}\n"
        "update, made = loop._Training._update, []\n"
        "def counted(training):\n"
        "    made.append(1)\n"
        "    if len(made) == dies_at and os.environ['RANK'] == '1':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return update(training)\n"
        "loop._Training._update = counted\n"
        "for report in train(TASK, SETTINGS, Path(sys.argv[1])):\n    print('report', report)\n"
    )
    return script


def _two_nodes(folder: Path, script: Path) -> list[subprocess.Popen[str]]:
    folder.mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    nodes = []
    for rank, address in enumerate(("127.0.0.1", "127.0.0.2")):
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
        meeting = ["--node-rank", str(rank), "--local-addr", address, "--master-addr", "127.0.0.1"]
        command = [*launcher, *meeting, "--master-port", str(port), str(script), str(folder)]
        nodes.append(
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder.parent
            )
        )
    return nodes


def test_a_step_must_have_something_for_everyone(tmp_path: Path) -> None:
    training = _Training(TASK, SETTINGS, tmp_path, Processes(0, 3, torch.device("cpu")), ExitStack())
    with pytest.raises(SettingsError, match=r"with 3 processes it must be a multiple of 3, not 4"):
        next(training.run())
