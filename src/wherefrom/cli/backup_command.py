"""`wherefrom backup`: the library in one file."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import json_option, library_options, opened
from wherefrom.cli.output import print_json, say

KEYS = "keys.json"  # in the archive


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--keys", is_flag=True, help="Also the keys of its server; without it nothing of the server is kept.")
@click.option("--force", is_flag=True, help="Replace FILE, if it is there.")
@json_option
@library_options
def command(
    file: Path,
    keys: bool,
    force: bool,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Write the library into one file: its documents and what was said of answers, verified, as of one instant.

    Nobody has to stop reading or writing meanwhile. FILE is there whole or not at all. `wherefrom restore` makes a
    library of it again, and builds the indexes, which are not in it. A damaged library is refused.
    """
    with opened(library, toml, overrides) as opened_library:
        extras = {}
        if keys:
            from wherefrom.server.folder import ServerFolder
            from wherefrom.server.keys import Keys

            exported = Keys(ServerFolder(opened_library.path)).exported()
            extras = {KEYS: exported} if exported else {}
        report = opened_library.backup(file, extras, force)
    if as_json:
        print_json(report)
        return
    say(
        f"{report.path} holds {report.documents:,} documents in {report.passages:,} passages"
        f"{' and the keys' * bool(report.extras)}; {report.bytes / 1e6:,.1f} MB, {report.seconds:.1f} s."
    )
