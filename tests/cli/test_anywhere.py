"""What holds on any machine: where the library is, and that no command needs what only some systems have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from wherefrom.cli import COMMANDS

# Modules that Windows lacks, and those of macOS and Linux that are not everywhere either.
_POSIX_ONLY = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")

_WITHOUT = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {_POSIX_ONLY!r}:
            raise ImportError("there is no module " + name)
for name in {_POSIX_ONLY!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
"""


def test_every_command_can_be_loaded_where_posix_modules_are_missing() -> None:
    code = f"{_WITHOUT}\nfrom importlib import import_module\n" + "".join(
        f"import_module('wherefrom.cli.{command}_command')\n" for command in COMMANDS
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_ingest_and_ask_work_where_posix_modules_are_missing(tmp_path: Path) -> None:
    (tmp_path / "boiler.md").write_text("# The boiler\n\nThe boiler was serviced by Marta in May.\n")
    for arguments, expected in ((["ingest", "boiler.md"], "1 added"), (["ask", "Who serviced the boiler?"], "Marta")):
        code = f"{_WITHOUT}\nfrom wherefrom.cli import main\nmain(['--library', 'library', *{arguments!r}])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(expected)


def wherefrom(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wherefrom", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**{name: value for name, value in os.environ.items() if name != "WHEREFROM_LIBRARY"}, **environment},
    )


def test_where_the_library_is_and_why_there(tmp_path: Path) -> None:
    own = wherefrom("where", HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "data"))
    assert own.stdout == f"{tmp_path / 'data' / 'wherefrom' / 'library'}\n"
    assert own.stderr.startswith("yours by default; --library or WHEREFROM_LIBRARY names another; there is no library")
    named = wherefrom("where", WHEREFROM_LIBRARY=str(tmp_path / "named"))
    assert (named.stdout, named.stderr[:26]) == (f"{tmp_path / 'named'}\n", "WHEREFROM_LIBRARY names it")
    (tmp_path / "note.txt").write_text("A note.")
    library = str(tmp_path / "library")
    assert wherefrom("ingest", str(tmp_path / "note.txt"), "--library", library).returncode == 0
    there = json.loads(wherefrom("--library", library, "where", "--json").stdout)
    assert there.pop("bytes") > 1000
    assert there == {"path": library, "because": "--library names it", "documents": 1, "passages": 1}
