"""Documentation that runs: generated pages are fresh, shown commands and code work, links lead somewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKING = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md", "runs/README.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def of_docs(name: str) -> ModuleType:
    """A program that lies beside the pages."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def generator() -> ModuleType:
    return of_docs("generate")


REFERENCE = [f"reference/{name}.md" for name in ("api", "cli", "licences", "results", "settings")]
PAPERS = [
    path.relative_to(ROOT / "docs").as_posix()
    for folder, ending in (("papers", "md"), ("images/papers", "svg"))
    for path in sorted((ROOT / "docs" / folder).glob(f"*.{ending}"))
]


@pytest.mark.parametrize("name", [*REFERENCE, *PAPERS])
def test_generated_pages_are_fresh(name: str) -> None:
    """Plots and the tables of papers' pages too: they are what the rows of runs/ say."""
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == generator().PAGES[name](), "run `make docs`"


def test_every_generated_page_is_looked_at() -> None:
    assert sorted(generator().PAGES) == sorted([*REFERENCE, *PAPERS])


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


@pytest.mark.parametrize("page", LINKING, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file that is there and, where they name one, to a heading of it."""
    for target, anchor in links(page):
        if target.startswith(("http:", "https:")):
            continue
        aim = page.parent / target if target else page
        assert aim.exists(), f"{named(page)} links to {target}"
        if anchor and aim.suffix == ".md":
            assert anchor in headings(aim), f"{named(page)} links to {target}#{anchor}; there is no such heading"


def test_links_of_the_site_stay_in_it() -> None:
    """It has no file but those of docs/: mkdocs would call every other link an error."""
    on_site, away = of_docs("outward").on_page_markdown, []
    for page in PAGES[1:]:
        for target, _ in links(page, on_site(page.read_text(encoding="utf-8"))):
            inside = target.startswith(("http:", "https:")) or (page.parent / target).resolve().is_relative_to(
                ROOT / "docs"
            )
            away += [] if inside else [f"{named(page)}: {target}"]
    assert not away
    assert on_site("see [how](../../runs/README.md#x).") == "see how (`runs/README.md` in the repository)."


def links(page: Path, text: str | None = None) -> list[tuple[str, str]]:
    """Every link as the file and the heading it names, either of which may be empty."""
    text = page.read_text(encoding="utf-8") if text is None else text
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text)


@cache
def headings(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def test_every_page_is_on_the_site() -> None:
    """A page that the navigation of mkdocs.yml leaves out would be found by nobody."""
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert listed == {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}


def test_figures_of_the_readme_are_those_of_the_results() -> None:
    """Every number of its table, rounded as it is shown there, stands on the page that is made of runs/."""
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## How good it is")[2].partition("\n## ")[0]
    cells = [cell for row in re.findall(r"^\|.*\|$", table, re.MULTILINE)[2:] for cell in row.split("|")[3:]]
    shown = [number for cell in cells for number in re.findall(r"\d+(?:\.\d+)?", cell) if cell.strip()]
    page = (ROOT / "docs" / "reference" / "results.md").read_text(encoding="utf-8")
    known = [number.replace(",", "") for number in re.findall(r"\d[\d,]*(?:\.\d+)?", page)]
    assert len(shown) > 25
    for number in shown:
        digits = len(number.partition(".")[2])
        assert any(f"{float(each):.{digits}f}" == number for each in known), f"{number} is nowhere in results.md"
