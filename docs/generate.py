"""Writes what is made from the code and from runs/: reference pages, papers' pages and their plots. `make docs`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import click

from wherefrom import cli, config
from wherefrom.types import STYLES

DOCS = Path(__file__).parent
PAGES: dict[str, Callable[[], str]] = {}  # every generated file by its place in docs/, made when asked for


def page(name: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Makes a function known as the one that writes a page."""

    def note(make: Callable[[], str]) -> Callable[[], str]:
        PAGES[name] = make
        return make

    return note


@page("reference/cli.md")
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
        if isinstance(option, click.Option) and "--help" not in option.opts  # every command has it
    ]
    parts.append("| option | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
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


@page("reference/settings.md")
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
            line = re.search(rf"^    {setting.name}: ([^=]+?) = [^#\n]*(?:# (.*))?$", source, re.MULTILINE)
            kind, reason = (line[1], line[2] or "") if line else ("", "")
            default = getattr(values, setting.name)
            shown = str(default).lower() if isinstance(default, bool) else default
            shown = list(shown) if isinstance(shown, tuple) else shown
            kind = re.sub(r"Literal\[(.*)\]", lambda match: match[1].replace('"', ""), kind)
            kind = " or ".join(STYLES) if kind == "Style" else kind
            rows.append(f"| `{section.name}.{setting.name}` | {kind} | `{shown}` | {reason} |")
        parts.append("| setting | type | default | why |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


@page("reference/results.md")
def results_page() -> str:
    """The measured figures, from runs/."""
    _bench()
    from bench import page as results

    return results.results_page()


def _bench() -> None:
    """bench is no part of the package: it is found in the checkout."""
    if str(DOCS.parent) not in sys.path:
        sys.path.insert(0, str(DOCS.parent))


@page("reference/licences.md")
def licences_page() -> str:
    """Of the code, of the weights, and of what is installed with them."""
    sys.path.insert(0, str(Path(__file__).parent))
    import licences

    weights = Path(cli.__file__).parents[1] / "weights" / "LICENSE.md"
    return licences.page(weights.read_text(encoding="utf-8"))


@page("reference/api.md")
def api_page() -> str:
    """The HTTP API, from its own schema."""
    from wherefrom.server.app import PROBLEMS, openapi

    schema = openapi()
    shapes: dict[str, Any] = schema["components"]["schemas"]
    parts = [
        "# The HTTP API\n",
        "*Generated from the server's schema by `make docs`.*\n",
        "`wherefrom serve` answers at these addresses; `/openapi.json` describes them for programs, with examples. How "
        "to use them is told in [serving](../guides/serve.md). Refusals are [problem documents](#problem) (RFC 9457), "
        "`application/problem+json`:\n",
        "| status | meaning |\n|---|---|\n"
        + "\n".join(f"| {code} | {meaning} |" for code, meaning in PROBLEMS.items())
        + "\n",
    ]
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            parts += _operation(method.upper(), path, operation)
    parts.append("# Shapes\n")
    for name, shape in sorted(shapes.items()):
        parts.append(f"## {name}\n")
        if shape.get("description"):
            parts.append(_prose_of(inspect.cleandoc(shape["description"])))
        if shape.get("properties"):
            rows = [
                f"| `{field}` | {_kind(about)} | {about.get('description', '')} |"
                for field, about in shape["properties"].items()
            ]
            parts.append("| field | type | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    parts = [f"## {method} {path}\n", f"{operation['summary']}.\n"]
    if operation.get("description"):
        parts.append(_prose_of(inspect.cleandoc(operation["description"])))
    body = operation.get("requestBody", {}).get("content", {})
    rows = [
        f"| `{each['name']}` | {each['in']} | {_kind(each['schema'])} | {each['schema'].get('description', '')} |"
        for each in operation.get("parameters", [])
    ]
    rows += [f"| | body, {media} | {_kind(about['schema'])} | |" for media, about in body.items()]
    if rows:
        parts.append("| takes | in | type | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    given_back, refused = [], []
    for status, response in operation["responses"].items():
        if "application/problem+json" in response.get("content", {}):
            refused.append(status)
            continue
        for media, about in sorted(response.get("content", {"": {}}).items()):
            kind = _kind(about.get("schema") or {}) if media != "text/event-stream" else "events"
            given_back.append(f"| {status} | {media} | {kind} |")
        if response["description"] != "Successful Response":
            parts.append(f"{status}: {response['description']}\n")
    if given_back:
        parts.append("| gives | as | type |\n|---|---|---|\n" + "\n".join(given_back) + "\n")
    parts.append(f"Refusals: {', '.join(sorted(refused))}.\n")
    return parts


def _kind(schema: dict[str, Any]) -> str:
    """A type of the schema in a word or two."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_kind(option) for option in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        items = schema.get("items") or {}
        return f"list of {_kind(items)}"
    low, high = schema.get("minimum"), schema.get("maximum")
    bounds = f", {low:g} to {high:g}" if low is not None and high is not None else ""
    return str(schema.get("type", "")) + bounds


def _papers() -> None:
    """The papers' pages and their plots: what lies in runs/papers says which."""
    _bench()
    from bench import claims

    for name in [*claims.names(), claims.LIST]:
        PAGES[f"papers/{name}.md"] = partial(claims.made_page, name)
    for name in claims.names():
        for plot in claims.given(name).plot:
            PAGES[f"images/papers/{name}-{plot.name}.svg"] = partial(claims.picture, name, plot)


@page("images/papers/bertsum-mask-bidirectional.svg")
def bidirectional_mask() -> str:
    """What sees what in QR-BERTSUM, as its network is given it."""
    from wherefrom.systems.bertsum.pictures import mask_figure

    return mask_figure("bidirectional")


@page("images/papers/bertsum-mask-qd.svg")
def query_document_mask() -> str:
    from wherefrom.systems.bertsum.pictures import mask_figure

    return mask_figure("qd")


_papers()


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote docs/{name}")
