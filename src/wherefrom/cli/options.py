"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wherefrom.config import Settings, resolve

if TYPE_CHECKING:
    from wherefrom.library import Library

_Function = TypeVar("_Function", bound=Callable[..., Any])


def library_options(function: _Function) -> _Function:
    """--library, --settings and --set."""
    for option in (
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="NAME=VALUE",
            help="Change one setting, such as judge.min_chance=0.7; may be given again.",
        ),
        click.option(
            "--settings",
            "toml",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            envvar="WHEREFROM_SETTINGS",
            show_envvar=True,
            help="A TOML file with settings.",
        ),
        click.option(
            "--library",
            metavar="DIR",
            help="The library's folder [default: WHEREFROM_LIBRARY, else a folder of yours].",
        ),
    ):
        function = option(function)
    return function


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")

k_option = click.option("-k", type=click.IntRange(min=1), metavar="N", help="How many passages to find.")


def opened(library: str | None, toml: Path | None, overrides: tuple[str, ...]) -> Library:
    """The library that the options name, with the settings that they make."""
    from wherefrom.library import Library

    return Library(named(library), settings(toml, overrides))


def named(library: str | None) -> str | None:
    """The library's folder: the command's own option, else the one given before the command."""
    context = click.get_current_context().find_root()
    return library or (context.obj if isinstance(context.obj, str) else None)


def settings(toml: Path | None, overrides: tuple[str, ...]) -> Settings:
    return resolve(toml, overrides)


def complete_document(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Document ids for the shell to complete."""
    from wherefrom.errors import WherefromError
    from wherefrom.library import Library

    try:
        library = context.params.get("library") or (context.parent.params.get("library") if context.parent else None)
        return [facts.id for facts in Library(library).documents() if facts.id.startswith(incomplete)]
    except WherefromError:
        return []  # a shell that completes must not print errors
