"""`wherefrom move`: the documents into a database server, or from there into a folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from wherefrom.cli.options import json_option, library_options, opened
from wherefrom.cli.output import print_json, say


@click.command("move")
@click.option(
    "--to",
    "target",
    required=True,
    metavar="URL|DIR",
    help="Where to: postgres://USER@HOST:5432/DATABASE, a database with nothing in it; or a folder that is not there.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress, no summary.")
@json_option
@library_options
def command(
    target: str, quiet: bool, as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """Copy the library to a database that several machines can share, or from one back to a folder; verified.

    Nothing is taken away: the library that there is stays as it is, and nobody can write to it meanwhile. Interrupted,
    the same command goes on where it was. In the end every document's hash and every passage's key is compared; until
    then there is no library at the target. A password is best left out of the URL, where other users of the machine
    can see it: give it in WHEREFROM_STORE_PASSWORD, PGPASSWORD or ~/.pgpass. `docs/guides/scale.md` says what follows.
    """
    with opened(library, toml, overrides) as opened_library:
        moved = opened_library.move(target, _report(quiet or as_json))
    if as_json:
        print_json(moved)
    elif not quiet:
        say(
            f"{moved.documents:,} documents in {moved.passages:,} passages are at {moved.target}, verified; "
            f"{moved.seconds:.1f} s{f', {moved.already:,} of them from before' * bool(moved.already)}."
        )
        if "://" in moved.target:
            say("The library that was moved is as it was. To ask the one in the database, from any machine:")
            say(f"  wherefrom ask --library NEW --set store.kind=postgres --set store.url='{moved.target}' QUESTION")
            say("NEW is a folder for the indexes: it is made and filled, and remembers the database.")


_EVERY = 5.0  # seconds between lines


def _report(quiet: bool) -> Callable[[str, int, int], None]:
    begun: dict[str, tuple[float, int]] = {}
    last = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        since, before = begun.setdefault(what, (now, done))
        if now - last >= _EVERY and not quiet:
            last = now
            rate = (done - before) / max(now - since, 1e-3)
            left = f", {rate:,.0f}/s, {(total - done) / rate:.0f} s left" if rate else ""
            say(f"{what}: {done:,} of {total:,}{left}", err=True)

    return report
