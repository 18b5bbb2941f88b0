"""The reader's benchmark measures the same network three ways and says honestly what it found."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="peers run in torch: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

from bench.reader_report import Level, Plan, Run
from bench_data import make_data
from in_process import run_children_here
from safetensors.torch import save_file

from bench import measure, reader, reader_report, record
from runtime.tiny_reader import ENCODER, JUDGE, SETTINGS, tokenizer
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.systems.reader.export import to_onnx
from wherefrom.train.quantize import quantized
from wherefrom.train.seeds import seed_everything

PLAN = Plan(
    passages=200,
    questions=4,
    threads=1,
    passages_read=3,
    passage_tokens=20,
    question_tokens=30,
    rounds=1,
    levels=(1, 2),
)


def make_weights(folder: Path) -> tuple[Path, Path]:
    """A tiny network as it is shipped, and the same in 32 bits."""
    seed_everything("reader bench")
    network = ReaderNetwork(ENCODER)
    folder.mkdir()
    to_onnx(network, folder / "whole.onnx")
    quantized(folder / "whole.onnx", folder / "model.onnx")
    tokenizer().save(str(folder / "tokenizer.json"))
    shape = '[encoder]\nfamily = "bert"\nwords = 300\nwidth = 16\nlayers = 2\nheads = 2\ninner = 32\npositions = 128\n'
    (folder / "settings.toml").write_text(f"{SETTINGS}{shape}types = 2\n")
    (folder / "judge.json").write_text(json.dumps(JUDGE))
    save_file(network.state_dict(), folder / "network.safetensors")
    return folder, folder / "network.safetensors"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_weights(tmp_path_factory.mktemp("made") / "tiny")


@pytest.fixture(scope="module")
def run(made: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One tiny run of everything; its work folder is empty afterwards."""
    work = tmp_path_factory.mktemp("work")
    weights, whole = made
    with pytest.MonkeyPatch.context() as patch:
        run_children_here(patch)
        patch.setenv("WHEREFROM_DATA", str(make_data(tmp_path_factory.mktemp("data"))))
        yield reader.bench(PLAN, work, str(weights), whole, library=None)
    assert list(work.iterdir()) == []


def test_a_run_measures_every_system_stage_and_level(run: Run) -> None:
    assert set(run.ten.wall_seconds) == set(run.ten.cpu_seconds) == set(run.networks) == {"int8", "onnx", "torch"}
    assert {len(times) for times in run.ten.wall_seconds.values()} == {4}
    assert set(run.asked) == set(run.first) == {"int8", "torch"}
    for answers in run.asked.values():
        assert set(answers.seconds) == set(reader_report.STAGES)
        assert {len(times) for times in answers.seconds.values()} == {4}
        assert answers.memory.total > 1_000_000
    assert [level.threads for level in run.levels] == [1, 2]
    assert run.passages > 200
    page = reader_report.markdown(run)
    for words in ("## 3 passages of 20 tokens", "whole, CPU", "first answer of a process", "answers/s", "peak memory"):
        assert words in page
    assert "with the same weights" in page


def test_eight_bits_are_compared_with_the_same_network(run: Run) -> None:
    assert run.ten.differences is not None
    assert run.ten.same_best_span is not None
    for apart in run.ten.differences.values():
        assert 0 < apart["mean"] <= apart["max"] < 0.1  # nearly the same, and not the very same network
    assert "mean difference" in reader_report.markdown(run)


def test_without_the_weights_in_32_bits_the_report_says_so(run: Run) -> None:
    bare = replace(run, torch_weights_sha256=None, ten=replace(run.ten, differences=None, same_best_span=None))
    page = reader_report.markdown(bare)
    assert "random weights of the same shape, because none were given" in page
    assert "not measured, because no 32-bit weights were given" in page


def test_results_tell_no_paths(run: Run) -> None:
    page = reader_report.markdown(run) + json.dumps(reader_report.as_json(run))
    assert str(measure.ROOT) not in page
    assert str(Path(sys.executable).parent) not in page


def test_a_stall_is_called_one(run: Run) -> None:
    # One thread: 10 answers in 5 s. Four: 10 answers in 10 s.
    changed = replace(run, levels=(Level(1, 5.0, 9.0, (0.5,) * 10), Level(4, 10.0, 9.0, (4.0,) * 10)))
    assert "It stalls: 4 threads get less done than one." in reader_report.markdown(changed)
    assert (reader_report.verdicts(changed)[-1].measured, reader_report.verdicts(changed)[-1].met) == ("0.50×", False)


def test_a_missed_target_is_called_failed(run: Run) -> None:
    slow = replace(run.ten, wall_seconds={**run.ten.wall_seconds, "int8": (0.2004, 0.2004, 0.3)})
    verdict = reader_report.verdicts(replace(run, ten=slow))[0]
    assert (verdict.measured, verdict.met) == ("200.4 ms", False)


def test_missing_weights_are_said_with_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WHEREFROM_DATA", str(make_data(tmp_path / "data")))
    out = tmp_path / "out.md"
    assert reader.main(["--weights", str(tmp_path / "nowhere"), "--out", str(out), "--work", str(tmp_path / "w")]) == 2
    assert "model.onnx is missing" in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_that_is_no_library_is_said(
    made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WHEREFROM_DATA", str(make_data(tmp_path / "data")))
    weights, _ = made
    options = ["--weights", str(weights), "--library", str(tmp_path), "--work", str(tmp_path / "w")]
    assert reader.main([*options, "--out", str(tmp_path / "out.md")]) == 2
    assert "is not a library" in capsys.readouterr().err


def test_a_run_becomes_lines_of_figures(run: Run) -> None:
    raw = json.loads(json.dumps(reader_report.as_json(run)))
    assert record.kind_of(raw) == "reader"
    lines = [(line.topic, line.system, line.baseline) for line in record.reader_lines(raw)]
    assert lines[:3] == [
        ("speed", "wherefrom, 8 bits", False),
        ("speed", "onnxruntime, 32 bits", True),
        ("speed", "torch, 32 bits", True),
    ]
    assert ("size", "reader: torch, 32 bits", True) in lines
    assert len(lines) == 3 + 2 + 3
