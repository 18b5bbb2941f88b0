"""A browser is found wherever it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import browser


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHEREFROM_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(browser, "_USUAL", (str(tmp_path / "usual" / "chrome"),))
    monkeypatch.setattr(browser, "_fetched", lambda: False)


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return str(path)


def found(folder: Path) -> str | None:
    """Where the browser is, when Playwright would like the build 20 of its own folder."""
    return browser._executable.__wrapped__(str(folder / "own" / "chromium-20" / "chrome-linux" / "chrome"))


def test_the_nearest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(browser.NoBrowser, match="WHEREFROM_CHROMIUM"):
        found(tmp_path)
    usual = program(tmp_path / "usual" / "chrome")
    assert found(tmp_path) == usual
    older = program(tmp_path / "own" / "chromium-10" / "chrome-linux" / "chrome")
    assert found(tmp_path) == older
    shell = program(tmp_path / "own" / "chromium_headless_shell-10" / "chrome-linux" / "headless_shell")
    assert found(tmp_path) == shell
    on_the_path = program(tmp_path / "bin" / "google-chrome")
    assert found(tmp_path) == on_the_path
    program(tmp_path / "own" / "chromium_headless_shell-20" / "chrome-linux" / "headless_shell")
    assert found(tmp_path) is None  # Playwright's own
    monkeypatch.setenv("WHEREFROM_CHROMIUM", "mine")
    assert found(tmp_path) == "mine"
