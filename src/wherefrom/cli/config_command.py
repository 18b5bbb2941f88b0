"""`wherefrom config`: the settings in force."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import json_option, library_options, opened, settings
from wherefrom.cli.output import print_json, say
from wherefrom.config import names, to_mapping
from wherefrom.errors import LibraryMissing, SettingsError


@click.command("config")
@click.argument("name", required=False)
@json_option
@library_options
def command(
    name: str | None, as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """Print the settings in force as TOML, or the value of one, such as split.words.

    Defaults are overruled by --settings FILE, and that by --set. Where a library exists, split and index
    are those it was made with.
    """
    with opened(library, toml, overrides) as opened_library:
        try:
            in_force = opened_library.settings()
        except LibraryMissing:
            in_force = settings(toml, overrides)
    values = to_mapping(in_force)
    if name is None:
        if as_json:
            print_json(values)
        else:
            import tomli_w

            say(tomli_w.dumps(values), nl=False)
        return
    if name not in names():
        import difflib

        close = difflib.get_close_matches(name, list(names()), n=1)
        raise SettingsError(f"{name} is not a setting" + (f"; did you mean {close[0]}?" if close else ""))
    section, setting = name.split(".")
    value = values[section][setting]
    if as_json:
        print_json(value)
    else:
        say(str(value).lower() if isinstance(value, bool) else value)
