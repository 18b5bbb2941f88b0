"""The pictures of the page in docs/images: each is small, and shown where it is spoken of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGES = sorted((ROOT / "docs" / "images").glob("page*.png"))
MOST_BYTES = 150_000


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.name)
def test_pictures_are_small_and_shown(path: Path) -> None:
    assert 0 < path.stat().st_size < MOST_BYTES
    assert f"images/{path.name}" in (ROOT / "docs" / "start" / "the-page.md").read_text()


def test_the_script_makes_every_one_of_them() -> None:
    script = (ROOT / "docs" / "screenshots.py").read_text()
    made = set(re.findall(r'keep\(page, "([\w-]+)"\)', script))
    assert made == {path.stem for path in IMAGES}
