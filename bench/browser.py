"""A headless Chromium for tests of the page and for its bench: one at hand, else one that Playwright fetches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_USUAL = (  # where it is installed without being on the path
    "/snap/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
# Below the folder of Playwright's browsers, those that another version of it has fetched.
_FETCHED = ("chromium_headless_shell-*/*/*headless*shell*", "chromium-*/chrome-*/chrome*", "chromium-*/*/*/MacOS/*")
_FETCH_SECONDS = 180
REMEDY = (
    "no Chromium was found, and Playwright could not fetch one: run `playwright install --with-deps chromium`, or "
    "install the system's (such as `apt-get install chromium-headless-shell`), or name one in WHEREFROM_CHROMIUM"
)


class NoBrowser(Exception):
    """There is no browser to be had; the message says what to do."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window, closed at the end."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NoBrowser("playwright is not installed; `pip install 'wherefrom[dev]'` brings it") from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_executable(playwright.chromium.executable_path))
        try:
            yield browser
        finally:
            browser.close()


@cache
def _executable(own: str) -> str | None:
    """Where the browser is; None is Playwright's own."""
    if named := os.environ.get("WHEREFROM_CHROMIUM"):
        return named
    if _has_own(own):
        return None
    if found := next(_at_hand(Path(own).parents[2]), None):
        return found
    if _fetched() and _has_own(own):
        return None
    raise NoBrowser(REMEDY)


def _at_hand(fetched: Path) -> Iterator[str]:
    """Programs that are installed, the likeliest first."""
    yield from filter(None, map(shutil.which, _NAMES))
    for pattern in _FETCHED:
        files = sorted(fetched.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
        yield from (str(path) for path in files if path.is_file() and os.access(path, os.X_OK))
    yield from (place for place in _USUAL if Path(place).is_file())


def _has_own(own: str) -> bool:
    """Without a window Playwright runs a smaller browser, which lies in a folder beside that of the whole one."""
    whole = Path(own).parents[1]
    return any(whole.parent.glob(f"{whole.name.replace('chromium-', 'chromium_headless_shell-')}/*/*headless*shell*"))


@cache
def _fetched() -> bool:
    command = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
    try:
        return subprocess.run(command, capture_output=True, timeout=_FETCH_SECONDS, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
