"""`wherefrom serve`: answer over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from wherefrom.cli.options import library_options, named, settings
from wherefrom.cli.output import say


@click.command("serve")
@click.argument("directory", required=False, metavar="[DIR]")
@click.option(
    "--host", metavar="ADDRESS", help="Where to listen [default: server.host]; not on loopback, it needs keys."
)
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="[default: server.port]; 0 takes a free one.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes [default: server.workers].")
@click.option("--create", is_flag=True, help="Make an empty library if there is none.")
@library_options
def command(
    directory: str | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    create: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Serve the library in DIR over HTTP: questions, documents, feedback, and a page for people.

    Listens on this machine alone unless told otherwise, and then only if the library has keys (`wherefrom keys`).
    Limits are the settings server.*. Needs the extra `server`: install 'wherefrom[server]'.
    """
    from wherefrom.library import default_path
    from wherefrom.server.serve import serve

    chosen = settings(toml, overrides)
    options = {"host": host, "port": port, "workers": workers}
    server = replace(chosen.server, **{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]
    path = directory or named(library)
    serve(
        Path(path).expanduser() if path else default_path(),
        replace(chosen, server=server),
        create,
        lambda text: say(text, err=True),
    )
