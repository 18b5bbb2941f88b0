"""`wherefrom train` from the command line; the making itself is tested in tests/systems."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wherefrom.systems.table import SYSTEMS

NAMES = (
    "squad/train-v1.1.json",
    "squad/valid-v1.1.json",
    "qa2d/train.tsv",
    "qa2d/valid.tsv",
    "more_reading/quoref.jsonl",
    "nq_oracle/train.jsonl",
    "wikiqa/WikiQA-train.tsv",
    "wikipedia/AA.txt",
)


def needs_the_extra() -> None:
    for module in ("torch", "onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(module, reason="training needs the extra: pip install 'wherefrom[train]'")


def command(*arguments: object, before: str = "pass") -> list[str]:
    """`wherefrom ...` in a process of its own, after some code."""
    code = f"import sys\n{before}\nfrom wherefrom.cli import main\nmain(sys.argv[1:])"
    return [sys.executable, "-c", code, *map(str, arguments)]


def run(*arguments: object, before: str = "pass") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments, before=before), capture_output=True, text=True, timeout=60)


def test_help_lists_the_models() -> None:
    done = run("train", "--help")
    assert done.returncode == 0
    for name in SYSTEMS:
        assert f"  {name} " in done.stdout


def test_a_plain_install_is_told_what_to_install(tmp_path: Path) -> None:
    lacking = "sys.modules['torch'] = sys.modules['onnx'] = None"
    done = run("train", "reader", "--data", tmp_path, "--out", tmp_path / "out", before=lacking)
    assert done.returncode == 1
    assert "training needs torch, onnx" in done.stderr
    assert "pip install 'wherefrom[train]'" in done.stderr


def test_mistakes_are_named_before_anything_is_made(tmp_path: Path) -> None:
    needs_the_extra()
    (tmp_path / "mine.toml").write_text("[student.loop]\nepoch = 3\n")
    out = tmp_path / "out"
    done = run("train", "reader", "--data", tmp_path, "--out", out, "--settings", tmp_path / "mine.toml")
    assert done.returncode == 2
    assert "student.loop.epoch is not a setting; did you mean student.loop.epochs?" in done.stderr
    assert not out.exists()


def test_drqa_names_a_mistake_before_anything_is_made(tmp_path: Path) -> None:
    needs_the_extra()
    (tmp_path / "mine.toml").write_text("[network]\nalign = 3\n")
    out = tmp_path / "out"
    done = run(
        "train",
        "drqa",
        "--data",
        tmp_path,
        "--out",
        out,
        "--glove",
        tmp_path / "glove.txt",
        "--settings",
        tmp_path / "mine.toml",
    )
    assert done.returncode == 2
    assert "network.align must be true or false, not 3" in done.stderr
    assert not out.exists()


@pytest.mark.skipif(os.name != "posix", reason="a named pipe holds the command up")
def test_interrupted_it_says_that_the_same_command_goes_on(tmp_path: Path) -> None:
    needs_the_extra()
    for name in NAMES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / NAMES[0]).unlink()
    os.mkfifo(tmp_path / NAMES[0])  # the command waits for somebody to write
    child = subprocess.Popen(
        command("train", "reader", "--data", tmp_path, "--out", tmp_path / "out"), stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 50
    while time.monotonic() < until:
        try:
            written = os.open(tmp_path / NAMES[0], os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.05)
        else:
            break
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=20)
    os.close(written)
    assert child.returncode == 130
    assert "the same command goes on from there" in said


def test_a_re_ranker_is_made_from_a_library(tmp_path: Path) -> None:
    needs_the_extra()
    from train.tiny_articles import SENTENCES, library, write_squad

    library(tmp_path).close()
    data, out, recipe = write_squad(tmp_path / "data"), tmp_path / "out", tmp_path / "recipe.toml"
    recipe.write_text('[task]\ngroups = ["reading", "aggregation"]\nwidth = 8\nheld_out = 0.3\n[loop]\nepochs = 2\n')
    chosen = [part for setting in SENTENCES for part in ("--set", f"pipeline.{setting}")]
    asked = ("--data", data, "--library", tmp_path / "library", "--out", out, "--settings", recipe, *chosen)
    done = run("train", "rankqa", *asked)
    assert done.returncode == 0, done.stderr
    assert "measure: exact match" in done.stdout
    assert f"use it with --set rerank.kind=rankqa --set rerank.weights={out / 'weights'}" in done.stdout
    assert (out / "weights" / "model.npz").exists()
    assert not (out / "ablations").exists()
    using = ("--set", "rerank.kind=rankqa", "--set", f"rerank.weights={out / 'weights'}")
    plain = [part for setting in SENTENCES for part in ("--set", setting)]
    answer = run("ask", "--library", tmp_path / "library", "--min-chance", 0, *using, *plain, "Who built the mill?")
    assert answer.returncode == 0, answer.stderr
    other = run("train", "rankqa", *asked, "--set", "pipeline.retrieve.k=2")
    assert other.returncode == 1
    assert "was made with settings" in other.stderr
