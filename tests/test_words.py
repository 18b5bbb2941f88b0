"""Names say what they hold: no catch-all names, and a public class name has one meaning in the whole package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "wherefrom"
CATCH_ALLS = frozenset(("found", "asked", "told", "said"))  # they say what happened to a thing, not what it is
ALLOWED = {("systems/reader/about.py", "asked")}  # an input of `train reader`: the file `train asker` calls so
SHARED = frozenset(("Inputs",))  # the contract of systems wants one of that name from each


def modules() -> list[Path]:
    """The modules of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def bound_names(source: str) -> Iterator[tuple[str, int]]:
    """Every name that a module gives to a variable, field, parameter, function or class, and its line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield name, node.lineno


def catch_alls(source: str) -> list[tuple[str, int]]:
    return [(name, line) for name, line in bound_names(source) if name.strip("_").lower() in CATCH_ALLS]


def public_classes(source: str) -> list[str]:
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]


def test_nothing_is_named_for_what_happened_to_it() -> None:
    bad = [
        f"{file.relative_to(PACKAGE)}:{line}: {name}"
        for file in modules()
        for name, line in catch_alls(file.read_text(encoding="utf-8"))
        if (str(file.relative_to(PACKAGE)), name) not in ALLOWED
    ]
    assert not bad, "name these for what they hold: " + ", ".join(bad)


def test_a_public_class_name_has_one_meaning() -> None:
    defined: dict[str, list[str]] = {}
    for file in modules():
        for name in public_classes(file.read_text(encoding="utf-8")):
            defined.setdefault(name, []).append(str(file.relative_to(PACKAGE)))
    twice = {name: files for name, files in defined.items() if len(files) > 1 and name not in SHARED}
    assert not twice, f"one of each of these needs another name: {twice}"


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "def f(asked): ...",
        "def told(): ...",
        "class Asked: ...",
        "for said in range(3): ...",
        "self._found = 1",
        "import json as told",
        "class A:\n    found: int = 0",
        "[1 for found in ()]",
        "if (found := 1): ...",
        "lambda said: 1",
    ],
)
def test_every_way_of_naming_is_seen(source: str) -> None:
    assert catch_alls(source)


def test_using_a_name_is_not_giving_it() -> None:
    assert not catch_alls("hits = answer['found'] or answer.told\nask(found=hits)  # asked")
