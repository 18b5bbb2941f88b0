"""The metrics need nothing but Python, and their benchmark says what it measured and where that comes from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench import metrics as metrics_bench
from wherefrom import metrics

MODULES = sorted(path.stem for path in Path(str(metrics.__file__)).parent.glob("[!_]*.py"))


def test_the_metrics_load_nothing_outside_the_standard_library() -> None:
    code = f"""
import sys
before = set(sys.modules)
for name in {MODULES!r}:
    __import__(f"wherefrom.metrics.{{name}}")
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}} - {{"wherefrom"}}
print(*sorted(loaded - sys.stdlib_module_names))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_benchmark_writes_markdown_and_json_that_agree(tmp_path: Path) -> None:
    out = tmp_path / "results" / "metrics.md"
    assert metrics_bench.main(["--answers", "60", "--beside", "20", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    results = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    assert "Scoring 60 answers" in text
    assert results["commit"] in text
    assert str(metrics_bench.ROOT) not in text
    assert all(row["apart"] < 1e-9 for row in results["beside"])  # every package scored the same
    assert {row["peer"] for row in results["beside"]} == set(metrics_bench.PEERS)


def test_the_same_seed_draws_the_same_texts() -> None:
    assert metrics_bench.make_material(5, seed=1) == metrics_bench.make_material(5, seed=1)
    assert metrics_bench.make_material(5, seed=1) != metrics_bench.make_material(5, seed=2)
