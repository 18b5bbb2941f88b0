"""The writer's benchmark measures the same network two ways and says honestly what it found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="peers run in torch: pip install 'wherefrom[train]'")
pytest.importorskip("onnxscript", reason="torch exports through onnxscript: pip install 'wherefrom[train]'")

from bench.writer import Plan, Run
from bench_data import make_data
from in_process import run_children_here
from safetensors.torch import save_file

from bench import record, writer
from runtime import tiny_writer

PLAN = Plan(passages=200, questions=3, threads=1, written_from=(4, 2), passage_tokens=12, written=6)


@pytest.fixture(scope="module")
def run(
    tiny_network: Any, tiny_writer_weights: Path, tiny_reader_weights: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Run]:
    """One tiny run of everything; its work folder is empty afterwards."""
    work = tmp_path_factory.mktemp("work")
    trained = tmp_path_factory.mktemp("trained")
    save_file(
        {name: part.contiguous() for name, part in tiny_network.state_dict().items()}, trained / "model.safetensors"
    )
    (trained / "settings.json").write_text(json.dumps(asdict(tiny_network.settings)))
    (trained / "common.json").write_text(json.dumps(tiny_writer.COMMON.tolist()))
    with pytest.MonkeyPatch.context() as patch:
        run_children_here(patch)
        patch.setenv("WHEREFROM_DATA", str(make_data(tmp_path_factory.mktemp("data"))))
        yield writer.bench(PLAN, work, str(tiny_writer_weights), str(tiny_reader_weights), trained, library=None)
    assert list(work.iterdir()) == []


def test_measures_every_system_and_stage(run: Run) -> None:
    assert [(one.passages, one.system) for one in run.written] == [(4, "int8"), (4, "torch"), (2, "int8"), (2, "torch")]
    assert all(len(one.wall_seconds) == len(one.cpu_seconds) == 3 for one in run.written)
    assert all(one.memory.total > 1_000_000 for one in run.written)
    assert [one.kind for one in run.asked] == ["masque", "verbatim"]
    assert all(set(one.seconds) == set(writer.STAGES) for one in run.asked)
    written, quoted = run.asked
    assert sum(written.counts.values()) == 5  # those that warm up too
    assert quoted.counts == {}


def test_the_page_tells_all_of_it(run: Run) -> None:
    page = writer.markdown(run)
    for words in ("torch, 32 bits", "written p50", "quoted p50", "peak memory", "step.onnx (sha256", "commit"):
        assert words in page
    assert "The targets are for 300,000 passages" in page
    assert json.loads(json.dumps(writer.as_json(run)))["written"][0]["passages"] == 4


def test_a_target_that_is_missed_is_said_to_be(run: Run) -> None:
    slow = replace(run.written[0], passages=10, wall_seconds=(0.4, 0.4, 0.4))
    verdicts = writer.verdicts(replace(run, written=(slow,), weights_bytes=46_000_000))
    assert not verdicts[0].met
    assert not verdicts[-1].met
    fast = replace(slow, wall_seconds=(0.1, 0.1, 0.1))
    assert writer.verdicts(replace(run, written=(fast,)))[0].met


def test_missing_weights_end_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEREFROM_DATA", str(make_data(tmp_path / "data")))
    assert writer.main(["--weights", str(tmp_path / "none"), "--out", str(tmp_path / "o.md")]) == 2
    assert not (tmp_path / "o.md").exists()


def test_a_run_becomes_lines_of_figures(run: Run) -> None:
    raw = json.loads(json.dumps(writer.as_json(run)))
    assert record.kind_of(raw) == "writer"
    lines = record.writer_lines(raw)
    assert {line.topic for line in lines} == {"speed", "size"}
    assert {line.system for line in lines if "whole answer" in line.over} == {
        "wherefrom, written",
        "quoted instead of written",
    }
