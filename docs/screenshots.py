"""Makes the pictures of the page in docs/images anew: `python docs/screenshots.py`, over the sample library.

They show what a new user sees, in that order, and docs/start/the-page.md says what it is. It needs a Chromium, as the
page's tests do, and about a minute; with the typeface Inter installed the pictures look as those that are there.
"""

from __future__ import annotations

import io
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench.browser import chromium  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = ROOT / "docs" / "images"
SECONDS = 180  # on a busy machine too
DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "color_scheme": "dark",
    "is_mobile": True,
    "has_touch": True,
}
HARBOUR = b"# The harbour of Velmouth\n\nThe harbour master of Velmouth is called Odile Brandt.\n"
CANAL = "When did the Panama Canal open?"
OLIVES = "What makes raw olives bitter?"


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "library") as address, chromium() as browser:
        at_a_desk(browser, address)
        on_a_phone(browser, address)
    for path in sorted(IMAGES.glob("page*.png")):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def at_a_desk(browser: Browser, address: str) -> None:
    from playwright.sync_api import FilePayload, expect

    page = opened(browser, address, DESK)
    expect(page.locator("#examples button")).to_have_count(6)
    keep(page, "page-start")
    ask(page, "When did Iceland become a republic?")
    ask(page, CANAL)
    keep(page, "page-answer")
    page.get_by_role("link", name="Open the document here").first.click()
    expect(page.locator("#leaf canvas")).to_be_visible()
    keep(page, "page")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="New thread").click()
    ask(page, OLIVES)
    keep(page, "page-doubt")
    page.get_by_role("link", name="Documents").click()
    files = {"harbour.md": HARBOUR, "program.exe": b"MZ\0\1"}
    page.get_by_label("Add files").set_input_files(
        [FilePayload(name=name, mimeType="text/plain", buffer=data) for name, data in files.items()]
    )
    expect(page.get_by_role("link", name="Open it")).to_be_visible()
    expect(page.locator("#uploads-summary")).to_contain_text("2 of 2 files done")
    keep(page, "page-documents")


def on_a_phone(browser: Browser, address: str) -> None:
    from playwright.sync_api import expect

    page = opened(browser, address, PHONE)
    ask(page, CANAL)
    page.locator(".answer .word").last.tap()
    expect(page.locator(".sheet")).to_be_visible()
    keep(page, "page-phone")


def opened(browser: Browser, address: str, screen: dict[str, Any]) -> Page:
    from playwright.sync_api import expect

    expect.set_options(timeout=1000 * SECONDS)
    page = browser.new_context(**screen, reduced_motion="reduce").new_page()
    page.set_default_timeout(1000 * SECONDS)
    page.goto(address)
    return page


def ask(page: Page, question: str) -> None:
    from playwright.sync_api import expect

    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#progress")).to_have_text(re.compile("Answered|Declined"))


def keep(page: Page, name: str) -> None:
    """In few colours: a page needs no more, and the repository keeps every version."""
    from PIL import Image  # comes with fpdf2

    page.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(96).save(IMAGES / f"{name}.png", optimize=True)


@contextmanager
def served(library: Path) -> Iterator[str]:
    """The sample library, served by a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    wherefrom = [sys.executable, "-m", "wherefrom"]
    subprocess.run([*wherefrom, "ingest", ROOT / "sample" / "library", "--library", library, "-q"], check=True)
    server = subprocess.Popen([*wherefrom, "serve", library, "--port", str(port)], stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(10 * SECONDS):
            try:
                urllib.request.urlopen(f"{address}/ready", timeout=5).close()
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
