"""A headless Chromium for tests of the page and for its bench: the one at hand, else one that Playwright fetches."""

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
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    if _fetched() and _has_own(own):
        return None
    raise NoBrowser(REMEDY)


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
