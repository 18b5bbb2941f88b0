"""The bench of the server runs and writes what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.server import Load, main

from bench import server

PLAIN = '[rank]\nkind = "none"\n[read]\nkind = "sentence"\n[judge]\nkind = "lexical"\n[write]\nkind = "verbatim"\n'


def test_a_short_run_measures_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PAGE_LOADS", 1)
    settings, out = tmp_path / "plain.toml", tmp_path / "server.md"
    settings.write_text(PLAIN)  # no network: three servers start sooner
    options = ["--seconds", "1", "--clients", "2", "--settings", str(settings)]
    assert main([*options, "--out", str(out)]) == 0
    results = json.loads(out.with_suffix(".json").read_text())
    for name in ("load", "alone", "together", "one_by_one"):
        assert results[name]["whole"]["count"] > 0, name
        assert 0 < results[name]["first_event"]["p50"] <= results[name]["whole"]["p50"], name
    assert set(results["load"]["statuses"]) <= {"200", "202", "503"}
    assert results["load"]["acknowledged"] > 0
    assert results["load"]["lost"] == 0
    assert [verdict["what"] for verdict in results["verdicts"]] == [
        line.split(" | ")[0].removeprefix("| ")
        for line in out.read_text().partition("|---|---|--:|---|\n")[2].partition("\n\n")[0].splitlines()
    ]


def test_growth_leaves_the_first_quarter_out() -> None:
    load = Load(1, 1.0, memory=[10, 50, 100, 100, 100, 100, 110, 110])
    assert abs(load.growth - 0.1) < 1e-9
    assert Load(1, 1.0, statuses={200: 5, 503: 2, 500: 1, 504: 1}).server_errors == 2
