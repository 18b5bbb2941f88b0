"""`wherefrom check`: verify a library and repair what can be derived."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wherefrom.cli.options import json_option, library_options, opened
from wherefrom.cli.output import print_json, say, styled


@click.command("check")
@click.option("--no-repair", is_flag=True, help="Only look; change nothing.")
@json_option
@library_options
def command(no_repair: bool, as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]) -> None:
    """Verify that documents, passages and indexes agree, and make anew what can be derived.

    The documents are the truth: passages, indexes and library.toml are rebuilt from them. The exit code
    is 1 if something is still wrong afterwards.
    """
    with opened(library, toml, overrides) as opened_library:
        result = opened_library.check(repair=not no_repair)
    if as_json:
        print_json({"sound": result.sound, **{n: getattr(result, n) for n in ("documents", "passages", "problems")}})
    else:
        for problem in result.problems:
            state = styled("repaired", "green") if problem.repaired else styled("wrong", "red")
            say(f"{state}  {problem.what}")
        verdict = "sound" if result.sound else "not sound"
        say(f"The library is {verdict}: {result.documents:,} documents in {result.passages:,} passages.")
    if not result.sound:
        sys.exit(1)
