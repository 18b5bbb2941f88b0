"""How far an ingest has come: a bar for people, a line now and then for logs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wherefrom.cli.output import one_line, printable, say

if TYPE_CHECKING:
    from wherefrom.ingest.run import IngestProgress

_LINE_EVERY = 10.0  # seconds between lines in a log


@contextmanager
def shown(quiet: bool) -> Iterator[Callable[[IngestProgress], None]]:
    """A function to call with every progress made."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Callable[[IngestProgress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("{task.fields[documents]:>8,} documents"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:>7,.0f}/s"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),  # a name may hold [what looks like markup]
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None, documents=0, rate=0.0)
        begun = time.monotonic()

        def report(progress: IngestProgress) -> None:
            bar.update(
                task,
                total=progress.bytes_in_all,
                completed=progress.bytes,
                description=one_line(printable(progress.current))[-40:],
                documents=progress.documents,
                rate=progress.documents / max(time.monotonic() - begun, 1e-3),
            )

        yield report


@contextmanager
def counted(what: str, total: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A function to call with how many are done: a bar for people, a line now and then for logs."""
    if quiet:
        yield lambda _: None
        return
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    begun = last = time.monotonic()

    def report(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_EVERY:
            last = now
            rate = done / (now - begun)
            left = f", {(total - done) / rate:.0f} s left" if total and rate else ""
            say(f"{what}: {done:,}{f' of {total:,}' if total else ''}, {rate:,.0f}/s{left}", err=True)

    yield report


def seldom(what: str) -> Callable[[int, int], None]:
    """A function to call with how many of how many are done, of work that is rarely long: a line now and then."""
    begun = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_EVERY and done < total:
            last = now
            rate = done / (now - begun)
            say(
                f"{what}: {done:,} of {total:,}, {rate:,.0f}/s, {(total - done) / max(rate, 1e-3):.0f} s left", err=True
            )

    return report


def _lines() -> Callable[[IngestProgress], None]:
    begun = last = time.monotonic()

    def report(progress: IngestProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_EVERY:
            last = now
            say(line(progress, now - begun), err=True)

    return report


def line(progress: IngestProgress, seconds: float) -> str:
    """Progress in words: how much, how fast, how long still."""
    done = progress.bytes / progress.bytes_in_all if progress.bytes_in_all else 1.0
    left = f"{seconds * (1 - done) / done:.0f} s left" if done else "time left unknown"
    return (
        f"{progress.documents:,} documents, {progress.files:,} of {progress.files_in_all:,} files, {done:.0%}, "
        f"{progress.documents / max(seconds, 1e-3):,.0f}/s, {left}"
    )
