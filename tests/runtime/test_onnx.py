"""onnxruntime keeps quiet: one place imports it, and its telemetry is off wherever wherefrom comes first."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import wherefrom

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

SOURCE = Path(wherefrom.__file__).parent
SESSION = "from wherefrom.runtime.weights import Weights; Weights.named('writer').session(1, 'judge.onnx')"


def imports_onnxruntime(file: Path) -> bool:
    """Whether a module loads it; names for the type checker alone do not count."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if any(name.split(".")[0] == "onnxruntime" for name in names):
            return True
    return False


def test_one_module_imports_it() -> None:
    files = [file for file in SOURCE.rglob("*.py") if imports_onnxruntime(file)]
    assert files == [SOURCE / "runtime" / "onnx.py"]


def run(code: str, home: Path, **environment: str) -> str:
    """What the code prints; its home and its cache are an empty folder, and the telemetry is not turned off for it."""
    fresh = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    fresh |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=fresh)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("before", ["", "0", "1"])
def test_a_session_leaves_the_home_folder_empty(tmp_path: Path, before: str) -> None:
    run(SESSION, tmp_path, ORT_DISABLE_TELEMETRY=before)
    assert list(tmp_path.rglob("*")) == []


def test_a_program_that_imports_wherefrom_first_is_quiet_too(tmp_path: Path) -> None:
    run("import wherefrom, onnxruntime; " + SESSION, tmp_path)
    assert list(tmp_path.rglob("*")) == []


def test_a_program_that_imported_onnxruntime_first_is_told(tmp_path: Path) -> None:
    said = run("import onnxruntime; " + SESSION, tmp_path)
    assert "TelemetryWarning: onnxruntime was imported before wherefrom" in said
    assert "ORT_DISABLE_TELEMETRY=1" in said


def test_it_is_not_told_where_it_had_turned_telemetry_off(tmp_path: Path) -> None:
    said = run("import onnxruntime; " + SESSION, tmp_path, ORT_DISABLE_TELEMETRY="true")
    assert "TelemetryWarning" not in said
    assert list(tmp_path.rglob("*")) == []


GROWING = """
import numpy
from wherefrom.runtime.weights import Weights

def own():
    _, all, shared, *_ = map(int, open("/proc/self/statm").read().split())
    return (all - shared) * 4096

def run(session, length):
    given = {
        name: numpy.ones((256 // length, length), kind)
        for name, kind in (("tokens", "int64"), ("types", "int64"), ("mask", "bool"), ("passage", "bool"))
    }
    session.run(None, {each.name: given[each.name] for each in session.get_inputs()})

first, second = (Weights.named("reader").session(1, "first.onnx") for _ in range(2))
run(first, 256)
before = own()
for session in (first, second):
    for length in range(16, 257, 12):
        run(session, length)
print(own() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux says what memory is a process's own")
def test_what_one_input_needed_serves_all_inputs_and_sessions_after_it(tmp_path: Path) -> None:
    """A plan for every shape and an arena for every session took 26 MB more here, and ever more in a server."""
    assert int(run(GROWING, tmp_path, ORT_DISABLE_TELEMETRY="1")) < 8_000_000


def test_a_program_with_an_arena_of_its_own_keeps_it(tmp_path: Path) -> None:
    own = (
        "import wherefrom, onnxruntime as o; "
        "about = o.OrtMemoryInfo('Cpu', o.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, o.OrtMemType.DEFAULT); "
        "o.create_and_register_allocator(about, o.OrtArenaCfg({'max_mem': 0})); "
    )
    assert run(own + SESSION, tmp_path, ORT_DISABLE_TELEMETRY="1") == ""
