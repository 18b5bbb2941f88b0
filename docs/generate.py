"""Writes the reference pages that are made from the code: python docs/generate.py, or `make docs`."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import click

from wherefrom import cli, config
from wherefrom.types import STYLES

REFERENCE = Path(__file__).parent / "reference"


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {"cli.md": cli_page(), "settings.md": settings_page()}


def cli_page() -> str:
    """The command line, from its own help."""
    context = click.Context(cli.wherefrom, info_name="wherefrom")
    parts = [
        "# The command line\n",
        "*Generated from the commands by `make docs`.*\n",
        _prose(cli.wherefrom),
        _prose_of(cli.wherefrom.epilog or ""),
    ]
    for name in cli.COMMANDS:
        command = cli.wherefrom.get_command(context, name)
        assert command is not None
        parts += _command(command, click.Context(command, info_name=name, parent=context), level=2)
    return "\n".join(parts)


def _command(command: click.Command, context: click.Context, level: int) -> list[str]:
    """A command's section, and those of its own commands below it."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [
        f"{'#' * level} {context.command_path.removeprefix('wherefrom ')}\n",
        f"```text\n{usage}\n```\n",
        _prose(command),
    ]
    rows = [
        f"| `{', '.join(option.opts)}{_value(option)}` | {option.help or ''} |"
        for option in command.get_params(context)
        if isinstance(option, click.Option)
    ]
    parts.append("| option | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            parts += _command(inner, click.Context(inner, info_name=name, parent=context), level + 1)
    return parts


def _value(option: click.Option) -> str:
    if option.is_flag or option.name == "help":
        return ""
    if isinstance(option.type, click.Choice):
        return " " + "\\|".join(str(choice) for choice in option.type.choices)
    return f" {option.metavar or 'VALUE'}"


def _prose(command: click.Command) -> str:
    return _prose_of(inspect.cleandoc(command.help or ""))


def _prose_of(text: str) -> str:
    """Help text as Markdown: paragraphs that click must not wrap are blocks of text."""
    parts = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith("\b\n"):
            parts.append("```text\n" + inspect.cleandoc(paragraph.removeprefix("\b\n")) + "\n```")
        else:
            parts.append(" ".join(paragraph.split()))
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Every setting with its default and the reason that stands beside it in `config.py`."""
    parts = [
        "# Settings\n",
        "*Generated from `src/wherefrom/config.py` by `make docs`.*\n",
        "Defaults are overruled by a TOML file (`--settings FILE`), and that by `--set section.name=value`. "
        "`wherefrom config` prints what is in force. `split` and `index` are fixed when a library is made; "
        "all settings are saved with it.\n",
    ]
    defaults = config.Settings()
    for section in fields(defaults):
        values = getattr(defaults, section.name)
        source = inspect.getsource(type(values))
        parts.append(f"## {section.name}\n\n{inspect.getdoc(type(values))}\n")
        rows = []
        for setting in fields(values):
            found = re.search(rf"^    {setting.name}: ([^=]+?) = [^#\n]*(?:# (.*))?$", source, re.MULTILINE)
            kind, reason = (found[1], found[2] or "") if found else ("", "")
            default = getattr(values, setting.name)
            shown = str(default).lower() if isinstance(default, bool) else default
            kind = re.sub(r"Literal\[(.*)\]", lambda match: match[1].replace('"', ""), kind)
            kind = " or ".join(STYLES) if kind == "Style" else kind
            rows.append(f"| `{section.name}.{setting.name}` | {kind} | `{shown}` | {reason} |")
        parts.append("| setting | type | default | why |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}")
