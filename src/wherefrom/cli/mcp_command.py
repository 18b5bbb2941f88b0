"""`wherefrom mcp`: the library as tools for a model."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import library_options, opened


@click.command("mcp")
@click.argument("directory", required=False, metavar="[DIR]")
@library_options
def command(directory: str | None, library: str | None, toml: Path | None, overrides: tuple[str, ...]) -> None:
    """Offer the library in DIR over the Model Context Protocol, on standard input and output.

    Tools: ask, search, read_document; none of them changes anything. Started by the program that uses them, not by
    hand. Needs the extra `server`: install 'wherefrom[server]'.
    """
    from wherefrom.server.needs import need

    need("mcp")
    from wherefrom.server.mcp_tools import run

    run(opened(directory or library, toml, overrides))
