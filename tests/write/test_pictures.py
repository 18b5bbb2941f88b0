"""Pictures of writing: well-formed, with every word as text, safe against hostile words, never too wide."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from wherefrom.types import Word
from wherefrom.write.explain import Explanation, NamedSource, Seen
from wherefrom.write.pictures import most_looked_at, picture

SOURCES = (
    NamedSource("vocabulary", "vocabulary"),
    NamedSource("question", "question"),
    NamedSource("passage", "passage 1: <Tide>"),
)
SVG = "{http://www.w3.org/2000/svg}"


def explanation(words: list[str], seen: list[str], looked: list[list[float]]) -> Explanation:
    """Of words that come half from the question, half from the passage."""
    return Explanation(
        "What & why?",
        tuple(Word(text, "passage", space=" " if place else "") for place, text in enumerate(words)),
        SOURCES,
        tuple((0.0, 0.5, 0.5) for _ in words),
        tuple(Seen(1 + (place >= 2), text) for place, text in enumerate(seen)),
        tuple(map(tuple, looked)),
    )


TIDE = explanation(
    ["Tides", "turn"], ["What", "why", "tides", "turn", "late"], [[0, 0, 0.9, 0, 0], [0, 0.2, 0, 0.7, 0]]
)


def texts(drawn: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


def test_words_and_columns_are_selectable_text() -> None:
    shown = texts(picture(TIDE))
    assert "What & why?" in shown
    assert "Tides turn" in shown
    assert shown.count("Tides") == 2  # below its bar, beside its row
    assert "why" in shown
    assert "tides" in shown
    assert "late" not in shown  # nothing looked at it
    assert any("100.0 % of it in these columns" in text for text in shown)


def test_bars_and_cells_say_what_they_are() -> None:
    root = ElementTree.fromstring(picture(TIDE))
    told = [title.text for title in root.iter(f"{SVG}title")]
    assert "Tides: question, 0.500" in told
    assert "Tides: passage 1: <Tide>, 0.500" in told
    assert "turn ← why: 0.200" in told
    high = [float(box.get("height", "0")) for box in root.iter(f"{SVG}rect") if box.find(f"{SVG}title") is not None]
    assert high.count(60.0) == 4  # half of a bar each
    shades = [float(box.get("fill-opacity", "1")) for box in root.iter(f"{SVG}rect")]
    assert 0.84 in shades  # the root of 0.7


def test_sources_without_a_part_are_left_out_of_the_legend() -> None:
    shown = texts(picture(TIDE))
    assert "vocabulary" not in shown
    assert "passage 1: <Tide>" in shown


def test_needs_nothing_else_and_has_colours_for_day_and_night() -> None:
    drawn = picture(TIDE)
    assert not re.search(r"<script|<link|href=|src=|url\(|@import", drawn)
    assert "prefers-color-scheme: dark" in drawn


def test_hostile_words_stay_words() -> None:
    words = ["</text><script>", "\x00\x1b[0m", "a" * 300, "👩‍🚀\ud800", '"&']
    drawn = picture(explanation(words, words, [[0.2] * 5] * 5))
    ElementTree.fromstring(drawn)
    drawn.encode()
    assert "<script" not in drawn
    assert max(map(len, texts(drawn))) < 200


def test_the_columns_with_most_weight_in_the_order_of_the_text() -> None:
    many = [f"w{place}" for place in range(100)]
    weights = [0.01 * (place % 50) for place in range(100)]
    given = explanation(["x"], many, [weights])
    assert most_looked_at(given, most=4) == [48, 49, 98, 99]
    assert len(most_looked_at(given)) == 40
    wide = ElementTree.fromstring(picture(given)).get("width")
    assert wide is not None
    assert float(wide) < 1200


def test_nothing_to_copy_from() -> None:
    ElementTree.fromstring(picture(explanation(["x"], [], [[]])))
    ElementTree.fromstring(picture(explanation(["x"], ["y"], [[0.0]])))
