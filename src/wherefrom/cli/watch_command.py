"""`wherefrom watch`: keep the library as folders are."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import json_option, library_options, opened
from wherefrom.cli.output import faint, one_line, safe_json, say, styled
from wherefrom.errors import LibraryBusy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wherefrom.ingest.watch import WatchEvent

_COLOURS = {"not read": "red", "warning": "yellow", "waiting": "yellow", "missing": "yellow", "kept": "yellow"}


@click.command("watch")
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER...",
)
@click.option("--once", is_flag=True, help="Catch up with the folders and end, instead of staying.")
@click.option("--keep", is_flag=True, help="Keep documents whose file has gone.")
@click.option(
    "--poll", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Look every so often; for network drives."
)
@click.option(
    "--settle",
    type=click.FloatRange(min=0.0),
    metavar="SECONDS",
    help="How long a file has to stay as it is before it is read [default: 1].",
)
@json_option
@library_options
def command(
    folders: tuple[Path, ...],
    once: bool,
    keep: bool,
    poll: float | None,
    settle: float | None,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Keep the library as the folders are: files that appear, change, are renamed or go do so in it too.

    First it catches up, then it stays until Ctrl-C, and says what it does, a line each; with --json, a JSON object a
    line. Where most of a folder has gone at once nothing is removed: its disk may not be mounted. What cannot be read
    is named and tried again when it changes; while another process writes, it waits. Needs nothing else; with the extra
    `watch` (install 'wherefrom[watch]') it hears of changes at once and looks at nothing meanwhile.
    """
    from wherefrom.ingest.watch import SETTLE, WatchRules

    rules = WatchRules(keep, SETTLE if settle is None else settle)
    teller = _Teller(as_json)
    with opened(library, toml, overrides) as opened_library:
        if once:
            if not opened_library.catch_up(folders, teller, rules):
                raise LibraryBusy("nothing was done; try again when the other process is done")
            sys.exit(1 if teller.failures else 0)
        stop = threading.Event()
        with _stopping(stop):
            opened_library.watch(folders, teller, stop, rules, poll)
    if not as_json:
        say(faint("stopped; what was told is in the library"))


class _Teller:
    """Writes each event as it happens."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self.failures = 0

    def __call__(self, event: WatchEvent) -> None:
        self.failures += event.what == "not read"
        if self._as_json:
            import msgspec

            say(safe_json(msgspec.json.encode(event)).decode())
            return
        what = styled(f"{event.what:<8}", _COLOURS.get(event.what, "green"))
        detail = faint(f"  {one_line(event.detail)}") if event.detail else ""
        say(f"{time.strftime('%H:%M:%S')}  {what}  {one_line(event.name)}{detail}")


@contextmanager
def _stopping(stop: threading.Event) -> Iterator[None]:
    """While it lasts, Ctrl-C and SIGTERM set `stop`, so that what is under way is finished; once more ends it."""

    def end(_number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
