"""Documentation that runs: generated pages are fresh, shown commands and code work, links lead somewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", ["api.md", "cli.md", "settings.md"])
def test_generated_pages_are_fresh(name: str) -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert written == generate.pages()[name], "run `make docs`"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=named)
def test_commands_shown_work(page: Path, tmp_path: Path) -> None:
    """Every line of an `sh` block is run, in order, on a library of the page's own, in a folder that has the sample."""
    (tmp_path / "sample").symlink_to(ROOT / "sample")
    for line in "".join(blocks(page, "sh")).splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "wherefrom", line
        done = subprocess.run(
            [sys.executable, "-m", "wherefrom", *arguments],
            cwd=tmp_path,
            env={**os.environ, "WHEREFROM_LIBRARY": str(tmp_path / "library")},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=named)
def test_code_shown_works(page: Path, tmp_path: Path) -> None:
    """Every `python` block is run where `my-library` holds a memo."""
    (tmp_path / "sample").symlink_to(ROOT / "sample")
    memo = (
        "from wherefrom import Library\nfrom wherefrom.types import Document\n"
        "with Library('my-library') as library:\n"
        "    library.put([Document('memo', 'The key is under the mat.', 'Memo')])\n"
    )
    for code in [memo, *blocks(page, "python")]:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, f"{code}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{named(page)} links to {target}"
