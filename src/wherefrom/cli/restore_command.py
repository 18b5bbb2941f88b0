"""`wherefrom restore`: a library made of its backup."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.backup_command import KEYS
from wherefrom.cli.options import json_option, set_option, settings_option
from wherefrom.cli.output import print_json, say
from wherefrom.cli.progress import counted


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("new", type=click.Path(path_type=Path, file_okay=False))
@click.option("--keys", is_flag=True, help="Also the keys of its server, if they are in the backup.")
@click.option("--quiet", "-q", is_flag=True, help="No progress, no summary.")
@json_option
@settings_option
@set_option
def command(
    file: Path, new: Path, keys: bool, quiet: bool, as_json: bool, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """Make a library in the folder NEW of the backup FILE: verified, and with its indexes built.

    NEW must not be there, or be empty; until all is done it is not. Then: wherefrom --library NEW ask ...
    """
    from wherefrom.config import resolve
    from wherefrom.library import Library

    with counted("passages indexed", None, quiet or as_json) as report:
        restored, extras = Library.restore(file, new, lambda done, _: report(done), resolve(toml, overrides))
    taken = 0
    if keys and KEYS in extras:
        from wherefrom.server.folder import ServerFolder
        from wherefrom.server.keys import Keys

        taken = Keys(ServerFolder(new)).take_in(extras[KEYS])
    if as_json:
        print_json(restored)
    elif not quiet:
        say(
            f"{new} holds {restored.documents:,} documents in {restored.passages:,} passages, as they were on "
            f"{restored.made}; {restored.seconds:.1f} s."
        )
        if taken:
            say(f"Its server has the {taken:,} keys of then.")
        elif KEYS in extras:
            say("The backup also has the keys of its server, which were left out; --keys takes them.")
