"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import Field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import click

from wherefrom.config import Settings, resolve
from wherefrom.systems.contract import input_fields, is_needed
from wherefrom.types import Filter

if TYPE_CHECKING:
    from wherefrom.library import Library
    from wherefrom.several import Libraries

_Function = TypeVar("_Function", bound=Callable[..., Any])


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change one setting, such as judge.min_chance=0.7; may be given again.",
)


def workers_options(command: _Function) -> _Function:
    """By how many workers, and where; needs the extra `scale`."""
    command = click.option(
        "--cluster", metavar="ADDRESS", default="", help="With --workers: of this Ray cluster, such as auto."
    )(command)
    return click.option(
        "--workers", type=click.IntRange(min=1), metavar="N", help="Share the work over N workers (extra: scale)."
    )(command)


settings_option = click.option(
    "--settings",
    "toml",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    envvar="WHEREFROM_SETTINGS",
    show_envvar=True,
    help="A TOML file with settings.",
)
_LIBRARY = "The library's folder [default: WHEREFROM_LIBRARY, else a folder of yours]"


def library_options(function: _Function) -> _Function:
    """--library, --settings and --set."""
    for option in (set_option, settings_option, click.option("--library", metavar="DIR", help=f"{_LIBRARY}.")):
        function = option(function)
    return function


def libraries_options(function: _Function) -> _Function:
    """The same, where --library may be given again: the command takes a tuple."""
    again = click.option("--library", multiple=True, metavar="DIR", help=f"{_LIBRARY}; again: of that one too.")
    for option in (set_option, settings_option, again):
        function = option(function)
    return function


def input_options(kind: type, of: str = "", needed: bool = True) -> list[Callable[[_Function], _Function]]:
    """An option for every input of a system; `of` says whose it is where several systems' stand together."""
    return [_input_option(each, get_type_hints(kind)[each.name], of, needed) for each in input_fields(kind)]


def _input_option(each: Field[Any], hint: Any, of: str, needed: bool) -> Callable[[_Function], _Function]:
    about = each.metadata
    help_text = f"{of}: {about['help']}" if of else about["help"]
    if about["inside"]:
        help_text = f"{help_text} [default: OUT/{about['inside']}]"
    common: dict[str, Any] = {"help": help_text, "envvar": about["env"] or None, "show_envvar": bool(about["env"])}
    flag = f"--{each.name.replace('_', '-')}"
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
    if kinds[0] is bool:
        return click.option(flag, is_flag=True, default=None, **common)
    if get_origin(hint) is tuple:
        return click.option(flag, multiple=True, metavar=about["metavar"] or "NAME", **common)
    if kinds[0] is int:
        return click.option(flag, type=click.IntRange(min=1), metavar=about["metavar"] or "N", **common)
    kind = click.Path(path_type=Path) if kinds[0] is Path else click.STRING
    metavar = about["metavar"] or ("PATH" if kinds[0] is Path else "NAME")
    return click.option(flag, type=kind, required=needed and is_needed(each), metavar=metavar, **common)


def values_of(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, without those that were not."""
    return {each.name: value for each in input_fields(kind) if (value := options.get(each.name)) not in (None, ())}


def filter_options(function: _Function) -> _Function:
    """--in, --since, --until, --type and --tag, which the command takes as one `within`; None where none was given."""

    @functools.wraps(function)
    def narrowed(
        *positional: Any,
        folders: tuple[str, ...],
        since: str,
        until: str,
        types: tuple[str, ...],
        tags: tuple[str, ...],
        **named: Any,
    ) -> Any:
        part = Filter(_as_paths_too(folders), since, until, types, tags)
        return function(*positional, within=part if part else None, **named)

    command: Any = narrowed
    for option in reversed(_FILTERS):
        command = option(command)
    return cast(_Function, command)


def _as_paths_too(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Folders as they begin ids, and as the paths that they are from here."""
    paths = (Path(folder).expanduser().absolute().resolve().as_posix() for folder in folders)
    return tuple(dict.fromkeys(each for pair in zip(folders, paths, strict=True) for each in pair))


_FILTERS = (
    click.option(
        "--in",
        "folders",
        multiple=True,
        metavar="FOLDER",
        help="Only documents of this folder, as its path or as ids begin; given again, of that one too.",
    ),
    click.option("--since", default="", metavar="DATE", help="Only documents of this day, month or year, or later."),
    click.option("--until", default="", metavar="DATE", help="Only documents of this day, month or year, or earlier."),
    click.option(
        "--type",
        "types",
        multiple=True,
        metavar="SUFFIX",
        help="Only files of this type, such as pdf or html; given again, of that one too.",
    ),
    click.option("--tag", "tags", multiple=True, metavar="NAME", help="Only documents with this tag; again: and that."),
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")

k_option = click.option("-k", type=click.IntRange(min=1), metavar="N", help="How many passages to find.")


def opened(library: str | None, toml: Path | None, overrides: tuple[str, ...]) -> Library:
    """The library that the options name, with the settings that they make."""
    from wherefrom.cli.progress import seldom
    from wherefrom.library import Library

    return Library(named(library), settings(toml, overrides), seldom("passages taken into the indexes"))


def opened_all(libraries: tuple[str, ...], toml: Path | None, overrides: tuple[str, ...]) -> Libraries:
    """Several libraries, by the names of their folders."""
    from wherefrom.several import Libraries

    return Libraries.at(libraries, settings(toml, overrides))


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
        ids = [facts.id for facts in Library(library).documents() if facts.id.startswith(incomplete)]
        return [id for id in ids if id.isprintable()]  # a shell would take a line's end or an escape for its own
    except WherefromError:
        return []  # a shell that completes must not print errors
