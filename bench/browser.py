"""A headless Chromium for the page's tests and for its bench: any that is installed, wherever it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType

NAMED = "WHEREFROM_CHROMIUM"  # a browser of one's own choice
_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
_USUAL = (  # where systems put it without a name on the path
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/snap/bin/chromium",
    "/opt/google/chrome/chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
# Playwright keeps a folder a version, and a smaller browser without windows beside the whole one; any version serves.
_SMALLER = ("chromium_headless_shell-*/*/*headless*shell*",)
_WHOLE = ("chromium-*/*/chrome", "chromium-*/*/chrome.exe", "chromium-*/*/*.app/Contents/MacOS/*")
REMEDY = (
    "no Chromium that starts was found: run `playwright install --with-deps chromium`, or install the system's (such "
    f"as `apt-get install chromium`), or name one in {NAMED}"
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
        browser = launched(playwright.chromium)
        try:
            yield browser
        finally:
            browser.close()


def launched(kind: BrowserType) -> Browser:
    """The first installed browser that starts: a name may be there that only says how to install one."""
    from playwright.sync_api import Error

    faults = []
    for executable in installed(Path(kind.executable_path)):
        try:
            return kind.launch(executable_path=executable)
        except Error as error:
            faults.append(f"{executable}: {error.message.strip().splitlines()[0]}")
    raise NoBrowser("; ".join([REMEDY, *faults]))


def installed(own: Path, names: Sequence[str] = _NAMES, usual: Sequence[str] = _USUAL) -> list[Path]:
    """Where browsers are: one that is named, else those that Playwright fetched, those on the path, those elsewhere.

    `own` is where Playwright would look for its own.
    """
    if named := os.environ.get(NAMED):
        return [Path(named)]
    folder = own.parents[2]  # FOLDER/chromium-1254/chrome-linux64/chrome
    smaller, whole = _newest(folder, _SMALLER), _newest(folder, _WHOLE)
    on_path = [Path(path) for name in names if (path := shutil.which(name))]
    every = dict.fromkeys([*smaller, own, *whole, *on_path, *map(Path, usual)])
    return [path for path in every if path.is_file() and os.access(path, os.X_OK)]


def _newest(folder: Path, patterns: Sequence[str]) -> list[Path]:
    return sorted((path for pattern in patterns for path in folder.glob(pattern)), reverse=True)
