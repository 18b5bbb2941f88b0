"""Files in folders are passed over by name and by kind, and the report says how many and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import IngestSettings, Settings, resolve
from wherefrom.errors import SettingsError
from wherefrom.ingest.passing import PassedOver, Passing, passed_over_lines


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("node_modules/a/README.md", True),
        ("web/node_modules/a/README.md", True),
        ("node_modules.md", False),
        ("dist/app.min.js", True),
        ("poetry.lock", True),
        ("tests/data/a.html", True),
        ("lib/tests/fixtures/deep/a.txt", True),
        ("data/tests.txt", False),
        ("fixtures/2024.txt", False),
        ("README.md", False),
    ],
)
def test_what_others_made_and_tests_feed_on_is_passed_over(name: str, passed: bool) -> None:
    assert Passing(IngestSettings()).by_name(name) == passed


def test_a_glob_of_ones_own_takes_the_place_of_the_defaults() -> None:
    passing = Passing(IngestSettings(skip=("drafts/*.md", "old")))
    assert passing.by_name("notes/drafts/a.md")
    assert not passing.by_name("notes/drafts/deep/a.md")
    assert passing.by_name("old/deep/a.md")
    assert not passing.by_name("node_modules/a.md")
    assert not Passing(IngestSettings(skip=())).by_name("node_modules/a.md")


@pytest.mark.parametrize(
    ("settings", "kind", "passed"),
    [
        (IngestSettings(), "pdf", False),
        (IngestSettings(), "code", True),
        (IngestSettings(), "configuration", True),
        (IngestSettings(), None, True),
        (IngestSettings(), "link", True),
        (IngestSettings(code=True), "code", False),
        (IngestSettings(code=True), "generated", True),
        (IngestSettings(configuration=True), "configuration", False),
        (IngestSettings(formats=("pdf", "code")), "pdf", False),
        (IngestSettings(formats=("pdf", "code")), "code", False),
        (IngestSettings(formats=("pdf",)), "markdown", True),
    ],
)
def test_which_kinds_are_read_in_folders(settings: IngestSettings, kind: str | None, passed: bool) -> None:
    assert Passing(settings).by_kind("a.x", kind) == passed


def test_the_report_counts_each_sort_with_its_suffixes() -> None:
    passing = Passing(IngestSettings())
    for name, kind in [("a.py", "code"), ("b.js", "code"), ("c.js", "code"), ("d.png", None), ("e.qqq", None)]:
        passing.by_kind(name, kind)
    passing.by_name("node_modules/x.md")
    assert passing.report() == (
        PassedOver("source code", 3, (".js", ".py"), "ingest.code=true reads it"),
        PassedOver("files of other kinds", 1, (".qqq",)),
        PassedOver("files that ingest.skip names", 1, ("node_modules",)),
        PassedOver("pictures", 1, (".png",)),
    )
    assert next(iter(passed_over_lines(passing.report()))) == "3 source code (.js, .py): ingest.code=true reads it"


def test_a_folder_is_read_without_its_code_and_the_report_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    (folder / "node_modules").mkdir(parents=True)
    for name, text in {
        "guide.rst": "Guide\n=====\n\nTurn the key twice.\n",
        "run.py": "def run():\n    pass\n",
        "node_modules/README.md": "# Other\n",
        "settings.toml": "[a]\n",
    }.items():
        (folder / name).write_text(text)
    library = Library(tmp_path / "library")
    report = library.ingest([folder])
    assert report.added == 1
    assert [(each.sort, each.files) for each in report.passed_over] == [
        ("configuration", 1),
        ("files that ingest.skip names", 1),
        ("source code", 1),
    ]
    with_code = Library(tmp_path / "with-code", resolve(overrides=["ingest.code=true"], base=Settings()))
    assert with_code.ingest([folder]).added == 2
    assert library.ingest([folder / "run.py"]).added == 1  # what is named is read


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"ingest\.formats must be one of .*did you mean pdf"):
        resolve(overrides=["ingest.formats=['pfd']"])
