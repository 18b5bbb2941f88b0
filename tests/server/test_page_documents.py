"""Documents in a real browser: the pages of a PDF file as they are, text laid out as it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="`pip install 'wherefrom[dev]'` brings playwright")

from playwright.sync_api import expect

from server.browsing import Open, answer_of, ask, browser, library_at, newest, opened, serving_page
from server.test_originals import book, pdf

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "opened"]  # fixtures

MANUAL = """# Tarn 7

The console shows a code.

## Codes

| Code | Meaning | Remedy |
|---|---|---|
| E3 | wind cups blocked | clear webs, ice or leaves |
| E4 | rain cup tilted | level the bracket |

## What you need

- a ladder of three metres
- a spanner
  - of size 13

1. Loosen the bracket.
2. Level it.

Then type:

    tarn --level 7
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server over a book of seven pages and a manual, and the folder where they lie."""
    folder = tmp_path_factory.mktemp("shelf")
    (folder / "book.pdf").write_bytes(pdf(*(book(number) for number in range(1, 8))))
    (folder / "gone.pdf").write_bytes(pdf("The lantern of the jetty is lit by Odile."))
    (folder / "manual.md").write_text(MANUAL)
    library = library_at(folder.parent / "shelf-library")
    library.ingest([folder])
    (folder / "gone.pdf").unlink()
    with serving_page(library) as address:
        yield address, folder


def yellow(page: Page) -> int:
    """How many rows of the picture have the colour of the mark."""
    return int(
        page.locator("#leaf canvas").evaluate(
            """canvas => {
                const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                const rows = new Set();
                for (let at = 0; at < data.length; at += 4)
                    if (data[at] === 255 && data[at + 1] === 228 && data[at + 2] === 120)
                        rows.add(Math.floor(at / 4 / canvas.width));
                return rows.size;
            }"""
        )
    )


def test_a_pdf_file_is_opened_at_the_page_of_the_answer_with_the_place_marked(
    shelf: tuple[str, Path], opened: Open
) -> None:
    page = opened(shelf[0])
    ask(page, "Where hangs the key of hall 5?")
    assert "hall 5" in answer_of(page)
    newest(page).get_by_role("link", name="Open the document here").first.click()
    expect(page.locator("#leaf-number")).to_have_text("Page 5 of 7")
    expect(page.get_by_role("img", name="Page 5 of 7 of")).to_be_visible()
    assert 0 < yellow(page) < 120
    expect(page.locator("#viewer-text")).to_be_hidden()
    page.get_by_role("button", name="After").click()
    expect(page.locator("#leaf-number")).to_have_text("Page 6 of 7")
    assert yellow(page) == 0
    page.locator("#leaf").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#leaf-number")).to_have_text("Page 5 of 7")
    narrow = page.locator("#leaf canvas").bounding_box()
    page.get_by_role("button", name="Larger").click()
    expect(page.locator("#leaf[aria-busy]")).to_have_count(0)
    wide = page.locator("#leaf canvas").bounding_box()
    assert narrow is not None
    assert wide is not None
    assert wide["width"] > 1.5 * narrow["width"]
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator("#viewer mark")).to_have_text(answer_of(page))
    page.keyboard.press("Escape")
    expect(page.locator("#viewer")).to_be_hidden()


def test_on_a_phone_the_page_fits_the_width(shelf: tuple[str, Path], opened: Open) -> None:
    page = opened(f"{shelf[0]}/#/document/book.pdf", 390, 844, is_mobile=True, has_touch=True)
    expect(page.locator("#leaf-number")).to_have_text("Page 1 of 7")
    box = page.locator("#leaf canvas").bounding_box()
    assert box is not None
    assert 300 < box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_where_the_file_has_changed_its_text_is_shown_and_why(shelf: tuple[str, Path], opened: Open) -> None:
    page = opened(f"{shelf[0]}/#/document/gone.pdf?at=4-11")
    expect(page.locator("#viewer mark")).to_have_text("lantern")
    expect(page.locator("#viewer-kinds")).to_be_hidden()
    address, folder = shelf
    (folder / "gone.pdf").write_bytes(pdf("Another one."))
    page = opened(f"{address}/#/document/gone.pdf?at=4-11")
    expect(page.locator("#viewer-facts")).to_contain_text("it has changed since; ingest it again")
    expect(page.locator("#viewer mark")).to_have_text("lantern")
    (folder / "gone.pdf").unlink()


def test_text_is_laid_out_as_it_is_read(shelf: tuple[str, Path], opened: Open) -> None:
    page = opened(f"{shelf[0]}/#/document/manual.md")
    text = page.locator("#viewer-text")
    expect(text.get_by_role("heading")).to_have_text(["Tarn 7", "Codes", "What you need"])
    expect(text.get_by_role("columnheader")).to_have_text(["Code", "Meaning", "Remedy"], use_inner_text=True)
    expect(text.get_by_role("row").last).to_have_text("E4\train cup tilted\tlevel the bracket", use_inner_text=True)
    items = text.get_by_role("listitem")
    expect(items).to_have_count(5)
    assert items.nth(2).evaluate("item => parseFloat(getComputedStyle(item).marginInlineStart)") > 0
    spelled = page.evaluate("fetch('documents/manual.md').then(answer => answer.json()).then(({ text }) => text)")
    assert text.text_content() == spelled, "no character is lost or added"
    start = spelled.index("rain cup tilted")
    page.evaluate(f"location.hash = '#/document/manual.md?at={start}-{start + 15}'")
    expect(text.locator("td mark")).to_have_text("rain cup tilted")


def test_no_character_is_lost_or_added_whatever_the_text(shelf: tuple[str, Path], opened: Open) -> None:
    page = opened(shelf[0])
    pieces = [
        "a",
        "B c",
        " | ",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "  ",
        "\t",
        "Code: ",
        "x | y",
        "🦊",
        "a) ",
        "$ ",
        ".",
        " \n",
    ]
    texts = [
        "".join(pieces[(seed * 7 + at * at * (seed + 3)) % len(pieces)] for at in range(40)) for seed in range(300)
    ]
    wrong = page.evaluate(
        """async texts => {
            const { laid } = await import("./js/reading.js");
            const wrong = [];
            const letters = text => text.replace(/[\\s|]/g, ""); // between blocks and cells nothing is painted
            for (const text of texts)
                for (const marks of [[], [{ start: 3, end: 9 }, { start: 12, end: 30 }]]) {
                    const box = document.createElement("div");
                    box.append(...laid(text, { marks }));
                    const painted = [...box.querySelectorAll("mark")].map(mark => mark.textContent).join("");
                    const expected = marks.map(({ start, end }) => text.slice(start, end)).join("");
                    if (box.textContent !== text || letters(painted) !== letters(expected))
                        wrong.push([text, box.textContent, painted]);
                }
            return wrong;
        }""",
        texts,
    )
    assert json.dumps(wrong[:3]) == "[]"


def test_a_quote_begins_with_a_whole_line_and_has_its_mark_in_sight(tmp_path: Path, opened: Open) -> None:
    from wherefrom.types import Document

    filler = "The mast is painted grey and stands behind the shed, where nobody minds it much. " * 5
    library = library_at(tmp_path / "library")
    library.put([Document("mast.txt", f"{filler}\n\nShort line\n\nThe owner of the mast is Ottoline Vane.", "Mast")])
    with serving_page(library) as address:
        for width in (1280, 390):
            page = opened(address, width, 860)
            ask(page, "Who is the owner of the mast?")
            assert "Ottoline" in answer_of(page)
            cut = page.locator(".source .quote").evaluate(
                """quote => {
                    const top = quote.getBoundingClientRect().top;
                    const lines = [...quote.querySelectorAll("p")].flatMap(p => {
                        const range = document.createRange();
                        range.selectNodeContents(p);
                        return [...range.getClientRects()];
                    });
                    return lines.filter(line => line.top < top - 2 && line.bottom > top + 4).length;
                }"""
            )
            assert cut == 0
            inside = page.locator(".source .quote mark").first.evaluate(
                "mark => { const box = mark.closest('.quote').getBoundingClientRect();"
                " const at = mark.getBoundingClientRect();"
                " return at.top >= box.top - 1 && at.bottom <= box.bottom + 1; }"
            )
            assert inside
