"""The pictures of the page in docs/images: made anew with WHEREFROM_SCREENSHOTS=1, by the default pipeline."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="`pip install 'wherefrom[dev]'` brings playwright")

from playwright.sync_api import expect

from server.browsing import ROOT, Open, ask, browser, opened, sample, serving_page
from wherefrom import Library
from wherefrom.config import resolve

__all__ = ["browser", "opened", "sample"]  # fixtures

IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 150_000


@pytest.mark.skipif("WHEREFROM_SCREENSHOTS" not in os.environ, reason="set WHEREFROM_SCREENSHOTS=1 to make them anew")
def test_pictures_are_made(sample: Path, tmp_path: Path, opened: Open) -> None:
    shutil.copytree(sample, tmp_path / "library")
    chosen = os.environ.get("WHEREFROM_SETTINGS")
    library = Library(tmp_path / "library", resolve(Path(chosen) if chosen else None))
    IMAGES.mkdir(exist_ok=True)
    with serving_page(library) as address:
        page = opened(address, 1280, 800, color_scheme="light")
        page.get_by_label("a sentence").check()
        ask(page, "When did Iceland become a republic?")
        page.locator(".answer .word", has_text="1944").hover()
        page.get_by_role("link", name="Open the document at this word").click()
        expect(page.locator("#viewer mark")).to_be_in_viewport()
        page.locator("#asked").scroll_into_view_if_needed()
        keep(page.screenshot(), "page.png")
        phone = opened(address, 360, 740, color_scheme="dark", is_mobile=True, has_touch=True)
        ask(phone, "Who invented the zipper?")
        keep(phone.screenshot(), "page-phone.png")


def keep(picture: bytes, name: str) -> None:
    """In few colours: a page needs no more, and the repository keeps every version."""
    from PIL import Image  # comes with fpdf2

    Image.open(io.BytesIO(picture)).convert("RGB").quantize(160).save(IMAGES / name, optimize=True)


@pytest.mark.parametrize("name", ["page.png", "page-phone.png"])
def test_pictures_are_small(name: str) -> None:
    assert 0 < (IMAGES / name).stat().st_size < MOST_BYTES
