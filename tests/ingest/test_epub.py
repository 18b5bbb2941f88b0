"""Electronic books give their chapters in reading order, and broken or hostile ones are refused."""

from __future__ import annotations

import contextlib
import io
import random
import zipfile

import pytest

from wherefrom.errors import IngestError
from wherefrom.ingest.epub import read

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>The Long Tide</dc:title><dc:creator>Ann Other</dc:creator><dc:creator>Bo Third</dc:creator>
<dc:date>2019-04-01T00:00:00Z</dc:date></metadata><manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="two" href="text/two.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/one%20more.xhtml" media-type="application/xhtml+xml"/>
<item id="pic" href="a.png" media-type="image/png"/></manifest>
<spine><itemref idref="nav"/><itemref idref="one"/><itemref idref="two"/><itemref idref="one"/><itemref idref="pic"/>
<itemref idref="gone"/></spine></package>"""
NAV = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol><li><a href="text/one%20more.xhtml#a">Ebb</a></li>'
    '<li><a href="text/two.xhtml">Flow</a></li></ol></nav></body></html>'
)


def page(words: str) -> str:
    return f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{words}</body></html>'


PARTS = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/nav.xhtml": NAV,
    "OEBPS/text/one more.xhtml": page("<h1>Ebb</h1><p>The water goes.</p>"),
    "OEBPS/text/two.xhtml": page("<p>The water comes.</p>"),
    "OEBPS/a.png": "picture",
}


def book(parts: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_a_book_reads_in_its_order_with_chapters_as_places() -> None:
    record = read(book(PARTS), "tide.epub")
    assert (record.title, record.date) == ("The Long Tide", "2019-04-01")
    assert record.text == (
        "The Long Tide, by Ann Other and Bo Third.\n\nEbb\n\nThe water goes.\n\nFlow\n\nThe water comes."
    )
    assert [(place.label, record.text[place.start :][:4]) for place in record.places] == [
        ("Ebb", "Ebb\n"),
        ("Flow", "Flow"),
    ]


def test_a_bomb_is_refused_by_the_sum_of_its_parts() -> None:
    many = {f"OEBPS/{n}.xhtml": page("<p>" + "a" * 300_000) for n in range(10)}
    items = "".join(f'<item id="i{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(10))
    spine = "".join(f'<itemref idref="i{n}"/>' for n in range(10))
    package = f"<package><metadata/><manifest>{items}</manifest><spine>{spine}</spine></package>"
    data = book({"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": package, **many})
    assert len(data) < 20_000
    assert "aaa" in read(data, "x.epub", 4_000_000).text
    with pytest.raises(IngestError, match=r"ingest\.max_megabytes"):
        read(data, "x.epub", 1_000_000)


def test_entities_are_not_expanded(tmp_path) -> None:
    (tmp_path / "secret").write_text("hidden treasure")
    entity = f'<!DOCTYPE x [<!ENTITY x SYSTEM "file://{tmp_path}/secret"><!ENTITY l "lol"><!ENTITY m "&l;&l;&l;&l;">]>'
    parts = PARTS | {
        "OEBPS/book.opf": entity + PACKAGE.replace("The Long", "&x;&m; Long"),
        "OEBPS/text/two.xhtml": entity + page("<p>&x; words &m;</p>"),
    }
    record = read(book(parts), "x.epub")
    assert "treasure" not in record.text + record.title
    assert "lollol" not in record.text + record.title


def test_protected_books_are_refused_but_not_for_their_fonts() -> None:
    def encrypted(uri: str) -> bytes:
        parts = PARTS | {"META-INF/encryption.xml": f'<encryption><CipherReference URI="{uri}"/></encryption>'}
        return book(parts)

    with pytest.raises(IngestError, match="encrypted"):
        read(encrypted("OEBPS/text/two.xhtml"), "x.epub")
    assert read(encrypted("OEBPS/fonts/a.otf"), "x.epub").title == "The Long Tide"


@pytest.mark.parametrize("data", [b"", b"words", book({"a": "b"}), book({"META-INF/container.xml": "<container/>"})])
def test_what_is_no_book_is_refused(data: bytes) -> None:
    with pytest.raises(IngestError, match="not an electronic book"):
        read(data, "x.epub")


def test_a_book_that_is_damaged_anywhere_is_read_or_refused() -> None:
    data, chance = book(PARTS), random.Random(1)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(12):
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        for broken in (bytes(damaged), data[: chance.randrange(len(data))]):
            with contextlib.suppress(IngestError):
                read(broken, "x.epub")
