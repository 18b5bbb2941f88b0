"""A real browser before a real server: what the tests of the page stand on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bench.browser import NoBrowser, chromium

from server.test_engine import running
from wherefrom import Library
from wherefrom.config import ServerSettings, resolve
from wherefrom.pipeline import Pipeline
from wherefrom.server.app import create_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

ROOT = Path(__file__).parents[2]
SECONDS = 20_000  # milliseconds until something is given up: the machine may have much else to do

Open = Callable[..., "Page"]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample library; copy it before writing to it."""
    path = tmp_path_factory.mktemp("sample") / "library"
    with Library(path) as library:
        library.ingest([ROOT / "sample" / "library"])
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # One a module and no longer: while it is open, nothing else in this thread can run an event loop.
    try:
        with chromium() as browser:
            yield browser
    except NoBrowser as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def site(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over a copy of the sample library."""
    path = tmp_path_factory.mktemp("site") / "library"
    shutil.copytree(sample, path)
    with serving_page(library_at(path)) as address:
        yield address


def library_at(path: Path, *more: str) -> Library:
    """A library whose answers are the same whatever the default pipeline is, and need no weights."""
    plain = (
        "rank.kind=none",
        "read.kind=sentence",
        "judge.kind=lexical",
        "judge.min_chance=0.5",
        "write.kind=verbatim",
    )
    return Library(path, resolve(overrides=[*plain, *more]))


@contextmanager
def serving_page(
    library: Library, change: Callable[[Pipeline], Pipeline] | None = None, settings: ServerSettings | None = None
) -> Iterator[str]:
    """The library served from this process, perhaps by another pipeline than its own."""
    pipeline = change(library.pipeline()) if change else None
    with running(create_app(library, settings or ServerSettings(), pipeline)) as address:
        yield address


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens addresses in browsers of their own; at the end, none of them may have told of an error."""
    from playwright.sync_api import expect

    expect.set_options(timeout=SECONDS)
    errors: list[str] = []
    with ExitStack() as stack:

        def open_page(address: str, width: int = 1280, height: int = 900, **context: Any) -> Page:
            context_of_page = browser.new_context(viewport={"width": width, "height": height}, **context)
            stack.callback(context_of_page.close)
            context_of_page.set_default_timeout(SECONDS)
            page = context_of_page.new_page()
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda message: errors.append(message.text) if _is_ours(message) else None)
            page.goto(address)
            return page

        yield open_page
    assert errors == []


def _is_ours(message: Any) -> bool:
    """Not the browser's own note that a request was refused: the page tells of that in words."""
    return message.type in ("error", "warning") and "Failed to load resource" not in message.text


def ask(page: Page, question: str) -> None:
    """Ask, and wait until it is answered or declined."""
    from playwright.sync_api import expect

    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#progress")).to_have_text(re.compile("Answered|Declined"))


def answer_of(page: Page) -> str:
    """Of the newest question."""
    return newest(page).locator(".answer").text_content() or ""


def newest(page: Page) -> Locator:
    """The turn of the thread that was asked last."""
    return page.locator(".turn").first


WCAG = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}


def violations(page: Page) -> list[str]:
    """What axe finds wrong, as (rule: where)."""
    from axe_playwright_python.sync_playwright import Axe

    violated = Axe().run(page, options=WCAG).response["violations"]
    return [f"{each['id']}: {node['target']} {node['failureSummary']}" for each in violated for node in each["nodes"]]
