"""`wherefrom keys`: who may use the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import json_option, named
from wherefrom.cli.output import print_json, say, table

if TYPE_CHECKING:
    from wherefrom.server.keys import Keys, Scope

_library_option = click.option(
    "--library", metavar="DIR", help="The library's folder [default: WHEREFROM_LIBRARY, else a folder of yours]."
)


@click.group("keys")
def command() -> None:
    """Make, list and remove the keys of a library's server; with none, only this machine can use it."""


@command.command("add")
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(("read", "write")),
    default="read",
    show_default=True,
    help="read: ask, search, see documents. write: send and remove them too, give feedback.",
)
@click.option("--per-minute", type=click.IntRange(min=1), metavar="N", help="Requests [default: server.per_minute].")
@json_option
@_library_option
def add(name: str, scope: Scope, per_minute: int | None, as_json: bool, library: str | None) -> None:
    """Make a key and print it; it is shown this once and kept nowhere."""
    secret = _keys(library).add(name, scope, per_minute)
    if as_json:
        print_json({"name": name, "scope": scope, "key": secret})
    else:
        say(secret)


@command.command("list")
@json_option
@_library_option
def list_keys(as_json: bool, library: str | None) -> None:
    """List the keys, without their secrets."""
    keys = _keys(library).all()
    if as_json:
        print_json(keys)
        return
    rows = [(key.name, key.scope, str(key.per_minute or ""), key.made) for key in keys]
    table(("name", "scope", "per minute", "made"), rows, right=("per minute",))


@command.command("remove")
@click.argument("name")
@_library_option
def remove(name: str, library: str | None) -> None:
    """Remove a key; a server that runs refuses it from the next request on."""
    _keys(library).remove(name)
    say(f"removed {name}")


def _keys(library: str | None) -> Keys:
    from pathlib import Path

    from wherefrom.library import default_path
    from wherefrom.server.folder import ServerFolder
    from wherefrom.server.keys import Keys

    path = named(library)
    return Keys(ServerFolder(Path(path).expanduser() if path else default_path()))
