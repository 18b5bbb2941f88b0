"""A browser is found wherever it is installed, and its absence is said with a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.browser import NAMED, NoBrowser, installed, launched


@pytest.fixture(autouse=True)
def unnamed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(NAMED, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def own(tmp_path: Path) -> Path:
    """Where Playwright would have its own."""
    return tmp_path / "fetched" / "chromium-1254" / "chrome-linux64" / "chrome"


def test_those_that_playwright_fetched_come_first_then_the_path_then_usual_places(tmp_path: Path) -> None:
    shell = program(tmp_path / "fetched" / "chromium_headless_shell-1254" / "chrome-linux64" / "headless_shell")
    older = program(tmp_path / "fetched" / "chromium-1100" / "chrome-linux" / "chrome")
    on_path = program(tmp_path / "bin" / "chromium-browser")
    usual = program(tmp_path / "opt" / "chrome")
    mine = program(own(tmp_path))
    assert installed(mine, usual=[str(usual)]) == [shell, mine, older, on_path, usual]


def test_what_is_not_there_or_cannot_be_run_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "chromium").write_text("no program")
    assert installed(own(tmp_path), usual=[str(tmp_path / "nowhere")]) == []


def test_one_that_is_named_is_the_only_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin" / "chromium")
    monkeypatch.setenv(NAMED, "/my/chrome")
    assert installed(own(tmp_path), usual=[]) == [Path("/my/chrome")]


def test_the_next_is_tried_where_one_does_not_start(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="`pip install 'wherefrom[dev]'` brings playwright")
    program(tmp_path / "bin" / "chromium")
    program(tmp_path / "bin" / "google-chrome")

    class Kind:
        executable_path = str(own(tmp_path))
        starts = "google-chrome"

        def launch(self, executable_path: Path) -> Any:
            if executable_path.name != self.starts:
                raise playwright.Error("it is only a note\nthat says how to install it")
            return executable_path

    kind: Any = Kind()
    assert launched(kind) == tmp_path / "bin" / "google-chrome"
    kind.starts = "none"
    with pytest.raises(NoBrowser, match=r"playwright install.*chromium: it is only a note"):
        launched(kind)
