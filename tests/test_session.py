"""The terminal session of the README is what the commands say today."""

from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
_VARIES = re.compile(r"\d+\.\d+ s\.|(?<=chance )\d\.\d\d")  # from machine to machine


def session() -> ModuleType:
    spec = importlib.util.spec_from_file_location("session", ROOT / "docs" / "session.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_commands_say_what_the_readme_shows() -> None:
    module = session()
    today = _VARIES.sub("N", module.plain(module.recorded()))
    assert today == _VARIES.sub("N", module.TRANSCRIPT.read_text(encoding="utf-8")), "run `python docs/session.py`"


def test_the_picture_shows_the_transcript_and_loads_nothing() -> None:
    module = session()
    picture = module.PICTURE.read_text(encoding="utf-8")
    shown = "".join(
        "".join(each.itertext()) for each in ElementTree.fromstring(picture).iter() if each.tag.endswith("}text")
    )
    letters = re.sub(r"\s+", "", html.unescape(shown))
    for line in module.TRANSCRIPT.read_text(encoding="utf-8").splitlines():
        assert re.sub(r"\s+", "", line) in letters, line
    assert "url(http" not in picture
    assert "@import" not in picture
    assert f"images/{module.PICTURE.name}" in (ROOT / "README.md").read_text(encoding="utf-8")
