"""`wherefrom serve` and `wherefrom keys` as people type them, and what they need."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server.conftest import serving
from test_import_map import loaded_by
from wherefrom.errors import WherefromError
from wherefrom.server.needs import need


def run(library: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wherefrom", *arguments],
        env={**os.environ, "WHEREFROM_LIBRARY": str(library)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_keys_are_added_listed_and_removed(library_path: Path) -> None:
    added = run(library_path, "keys", "add", "reader")
    assert re.fullmatch(r"wf_[\w-]{43}\n", added.stdout)
    second = json.loads(
        run(library_path, "keys", "add", "writer", "--scope", "write", "--per-minute", "5", "--json").stdout
    )
    assert (second["name"], second["scope"]) == ("writer", "write")
    assert second["key"] != added.stdout.strip()
    listed = run(library_path, "keys", "list").stdout
    assert [line.split("\t")[:3] for line in listed.splitlines()] == [["reader", "read", ""], ["writer", "write", "5"]]
    assert "wf_" not in listed
    assert run(library_path, "keys", "remove", "reader").stdout == "removed reader\n"
    again = run(library_path, "keys", "remove", "reader")
    assert (again.returncode, again.stdout) == (5, "")
    assert "no key 'reader'" in again.stderr


def test_keys_of_no_library(tmp_path: Path) -> None:
    done = run(tmp_path / "none", "keys", "add", "reader")
    assert done.returncode == 3
    assert "there is no library" in done.stderr
    assert not (tmp_path / "none").exists()


def test_serving_nothing_is_refused_unless_it_is_to_be_made(tmp_path: Path) -> None:
    done = run(tmp_path / "none", "serve", "--port", "0")
    assert done.returncode == 3
    assert "there is no library" in done.stderr
    with serving(tmp_path / "made", "--create") as (address, _):
        assert address.startswith("http://127.0.0.1:")


def test_a_port_that_is_taken_is_told(library_path: Path) -> None:
    with serving(library_path) as (address, _):
        done = run(library_path, "serve", "--port", address.rpartition(":")[2])
        assert done.returncode == 1
        assert "name another with --port" in done.stderr


def test_what_is_not_installed_is_named() -> None:
    with pytest.raises(WherefromError, match=r"needs no_such_package.*install 'wherefrom\[server\]'"):
        need("json", "no_such_package")


def test_keys_and_help_need_none_of_the_extra(library_path: Path) -> None:
    code = (
        "import sys\nfrom wherefrom.cli import wherefrom\n"
        "for arguments in (['keys', 'list'], ['serve', '--help'], ['mcp', '--help'], ['feedback', '--help']):\n"
        "    try:\n        wherefrom.main(arguments, standalone_mode=False)\n"
        "    except SystemExit:\n        pass\n"
    )
    os.environ["WHEREFROM_LIBRARY"] = str(library_path)
    try:
        loaded = loaded_by(code)
    finally:
        del os.environ["WHEREFROM_LIBRARY"]
    assert not loaded & {"fastapi", "starlette", "uvicorn", "mcp", "pydantic", "prometheus_client", "multipart"}
