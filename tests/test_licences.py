"""Every package that is installed with wherefrom has a licence that is named, and so have the weights."""

from __future__ import annotations

import importlib.util
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("packaging", reason="it reads what packages require")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_that_is_needed_is_found_through_what_is_needed_for_it(licences: ModuleType) -> None:
    plain, server = set(licences.needed("wherefrom")), set(licences.needed("wherefrom", "server"))
    assert {"onnxruntime", "protobuf", "lxml", "mdurl"} <= plain  # protobuf for onnxruntime, mdurl for markdown-it-py
    assert {"mcp", "anyio", "pydantic-core", "h11"} <= server
    assert not {"torch", "pytest", "tokenizers", "huggingface-hub"} & (plain | server)


def test_every_one_says_its_licence(licences: ModuleType) -> None:
    for extra in ("", "server"):
        for name, package in licences.needed("wherefrom", extra).items():
            assert "not said" not in licences.licence(package), name


def test_a_licence_is_read_wherever_a_package_says_it(licences: ModuleType) -> None:
    class Facts:
        def __init__(self, **facts: object) -> None:
            self.metadata = self
            self._facts = facts

        def get_all(self, name: str) -> object:
            value = self._facts.get(name.replace("-", "_"))
            return [value] if isinstance(value, str) else value

    assert licences.licence(Facts(License_Expression="MIT", License="a text")) == "MIT"
    assert licences.licence(Facts(License="BSD\n 3-Clause")) == "BSD 3-Clause"
    classified = ["Topic :: Text", "License :: OSI Approved :: MIT License", "License :: OSI Approved :: BSD License"]
    assert licences.licence(Facts(License="A" * 500, Classifier=classified)) == "MIT License and BSD License"
    assert licences.licence(Facts(License="UNKNOWN")) == "not said; see the package"


def test_the_weights_say_what_they_are_given_under_and_what_each_came_from() -> None:
    folder = ROOT / "src" / "wherefrom" / "weights"
    text = (folder / "LICENSE.md").read_text(encoding="utf-8")
    assert "Apache License 2.0" in text
    for weights in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        assert weights.removesuffix("-drqa") in text, f"{weights} is not spoken of in {folder.name}/LICENSE.md"
    assert distribution("wherefrom").metadata["License-Expression"] == "Apache-2.0"
