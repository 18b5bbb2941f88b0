"""Records the terminal session of the README from real output: python docs/session.py, or `make docs`."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from wherefrom.cli import main

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "session.svg"
TRANSCRIPT = ROOT / "docs" / "images" / "session.txt"
COMMANDS = (
    "wherefrom ingest sample/library",
    'wherefrom ask "Who opened the gate at Bornholmer Straße?"',
    'wherefrom ask --style sentence --in places "When did Iceland become a republic?"',
    'wherefrom ask "What is the capital of Mongolia?"',
)
_WIDTH = 110  # columns of the picture
_FETCHED_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # the picture loads nothing from elsewhere
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class _Terminal(io.StringIO):
    """What a person's screen would show; commands then colour what they say."""

    def isatty(self) -> bool:
        return True


def recorded() -> str:
    """The commands and what they say, in the terminal's colours, in a folder that has the sample and a new library."""
    screen = _Terminal()
    with _workplace(), redirect_stdout(screen), redirect_stderr(io.StringIO()):
        for command in COMMANDS:
            screen.write(f"\x1b[2m$\x1b[0m {command}\n")
            try:
                main(shlex.split(command)[1:])
            except SystemExit as end:
                if end.code:
                    raise RuntimeError(f"{command} ended with {end.code}") from end
            screen.write("\n")
    return screen.getvalue().rstrip("\n") + "\n"


def plain(session: str) -> str:
    """The session without colours, each line without spaces at its end."""
    return "".join(f"{line.rstrip()}\n" for line in _STYLE.sub("", session).splitlines())


def picture(session: str) -> str:
    """The session as a terminal shows it, as SVG."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=_WIDTH, file=io.StringIO(), legacy_windows=False)
    for line in session.splitlines():
        console.print(Text.from_ansi(line), soft_wrap=False)
    svg = console.export_svg(title="wherefrom", unique_id="session")
    return _FETCHED_FONT.sub("", svg)


@contextmanager
def _workplace() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, WHEREFROM_LIBRARY=f"{folder}/library"):
        (Path(folder) / "sample").symlink_to(ROOT / "sample")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    session = recorded()
    TRANSCRIPT.write_text(plain(session), encoding="utf-8")
    PICTURE.write_text(picture(session), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE.relative_to(ROOT)} and {TRANSCRIPT.relative_to(ROOT)}\n")
