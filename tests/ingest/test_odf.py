"""OpenDocument files: texts with their headings, sheets with their rows, presentations with their slides."""

from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest import formats
from wherefrom.ingest.odf import read_sheets, read_slides, read_text
from wherefrom.ingest.outcome import Record

SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "presentation": "presentation",
    }.items()
)


def document(kind: str, body: str, head: str = "") -> bytes:
    """A file of this kind, with this XML as its content."""
    out = io.BytesIO()
    content = f'{head}<office:document-content {SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:body>'
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}", zipfile.ZIP_STORED)
        made.writestr("content.xml", f"{content}{body}</office:body></office:document-content>")
        made.writestr("meta.xml", '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>My Title</dc:title></m>')
    return out.getvalue()


def cell(text: str, attributes: str = "", more: str = "") -> str:
    return f"<table:table-cell {attributes}>{more}<text:p>{text}</text:p></table:table-cell>"


def labels(record: Record) -> dict[str, str]:
    return {place.label: record.text[place.start :].split("\n")[0] for place in record.places}


TEXT = f"""<office:text>
<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
<text:h text:outline-level="1">Pump</text:h>
<text:table-of-content><text:p>Install 7</text:p></text:table-of-content>
<text:p>A<text:s text:c="2"/>pump<text:span>s</text:span>
<text:note><text:note-citation>1</text:note-citation>
<text:note-body><text:p>Made in Bern.</text:p></text:note-body></text:note>
hums<text:line-break/>softly.
<office:annotation><dc:creator>Otto</dc:creator><text:p>Really?</text:p></office:annotation></text:p>
<text:h text:outline-level="2">Install</text:h>
<text:list>
<text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list></text:list-item>
<text:list-item><text:p>two</text:p></text:list-item>
</text:list>
<table:table>
<table:table-header-rows><table:table-row>{cell("Year")}{cell("Event")}</table:table-row></table:table-header-rows>
<table:table-row>{cell("1932")}{cell("opened")}</table:table-row>
</table:table>
<text:p><draw:frame><draw:text-box><text:p>Boxed.</text:p></draw:text-box></draw:frame></text:p>
</office:text>""".replace("\n", " ").replace("> <", "><")


def test_a_text_has_headings_lists_tables_and_notes() -> None:
    record = read_text(document("text", TEXT), "x.odt")
    assert record.title == "My Title"
    assert record.text == (
        "Pump\n\nA pumps hums\nsoftly.\n\nNote: Made in Bern.\n\nComment by Otto: Really?\n\n"
        "Install\n\n- one\n  - deep\n- two\n\n"
        "Year | Event\n1932 | Event: opened\n\nBoxed."
    )
    assert labels(record) == {"Pump": "Pump", "Pump › Install": "Install"}


def test_sheets_have_rows_with_headings_as_their_cells_show_them() -> None:
    comment = "<office:annotation><text:p>Rises.</text:p></office:annotation>"
    amount = cell("500,00 €", 'office:value-type="currency"', comment)
    empty = '<table:table-cell table:number-columns-repeated="16384"/>'
    rows = (
        f"<table:table-row>{cell('Item')}{cell('Amount')}</table:table-row>"
        f"<table:table-row>{cell('Rent')}{amount}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="1048573">{empty}</table:table-row>'
    )
    last = f'<table:table table:name="B"><table:table-row>{cell("last")}</table:table-row></table:table>'
    sheets = f'<office:spreadsheet><table:table table:name="Costs">{rows}</table:table>{last}</office:spreadsheet>'
    record = read_sheets(document("spreadsheet", sheets), "x.ods")
    assert record.text == "Costs\n\nItem | Amount\nRent | Amount: 500,00 €\n\nComment on B2: Rises.\n\nB\n\nlast"
    assert labels(record) == {
        "Costs, row 1": "Item | Amount",
        "Costs, row 2": "Rent | Amount: 500,00 €",
        "Costs!B2": "Comment on B2: Rises.",
        "B, row 1": "last",
    }


def test_cells_that_are_said_to_come_a_million_times_cost_nothing() -> None:
    again = cell("again", 'table:number-columns-repeated="1000000"')
    row = f'<table:table-row table:number-rows-repeated="1000000">{again}</table:table-row>'
    table = f'<office:spreadsheet><table:table table:name="A">{row * 3}</table:table></office:spreadsheet>'
    record = read_sheets(document("spreadsheet", table), "x.ods")
    assert len(record.text) < 3_000
    assert [place.label for place in record.places] == ["row 1", "row 1000001", "row 2000001"]


def test_slides_have_titles_and_notes() -> None:
    def frame(kind: str, words: str) -> str:
        return f'<draw:frame presentation:class="{kind}"><draw:text-box>{words}</draw:text-box></draw:frame>'

    outline = "<text:list><text:list-item><text:p>old</text:p></text:list-item></text:list>"
    frames = frame("title", "<text:p>The Bridge</text:p>") + frame("footer", "<text:p>Club</text:p>")
    notes = f"<presentation:notes>{frame('notes', '<text:p>Smile.</text:p>')}</presentation:notes>"
    page = f"<draw:page>{frames}{frame('outline', outline)}{notes}</draw:page>"
    record = read_slides(document("presentation", f"<office:presentation>{page * 2}</office:presentation>"), "x.odp")
    assert record.text == "\n\n".join(["The Bridge\n\n- old\n\nNotes: Smile."] * 2)
    assert [(place.label, place.number) for place in record.places] == [("slide 1", 1), ("slide 2", 2)]


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(IngestError, match="it defines entities of its own"):
        read_text(
            document("text", "<office:text><text:p>&a;</text:p></office:text>", '<!DOCTYPE a [<!ENTITY a "b">]>'), "x"
        )
    with pytest.raises(IngestError, match="unpacked it is longer than"):
        read_text(document("text", TEXT), "x.odt", 1_000)
    with pytest.raises(IngestError, match="it is damaged"):
        read_text(document("text", "<text:p>" * 1000), "x.odt")
    whole, chance = document("text", TEXT), random.Random(3)
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(chance.randrange(1, 20)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        with suppress(IngestError):
            read_text(bytes(broken), "x.odt")


@pytest.mark.parametrize(("suffix", "kind"), [("odt", "text"), ("ods", "spreadsheet"), ("odp", "presentation")])
def test_they_are_known_by_their_first_bytes(tmp_path: Path, suffix: str, kind: str) -> None:
    box = "<draw:page><draw:frame><draw:text-box><text:p>Words.</text:p></draw:text-box></draw:frame></draw:page>"
    row = f"<table:table-row>{cell('Words.')}</table:table-row>"
    bodies = {
        "text": "<office:text><text:p>Words.</text:p></office:text>",
        "spreadsheet": f'<office:spreadsheet><table:table table:name="A">{row}</table:table></office:spreadsheet>',
        "presentation": f"<office:presentation>{box}</office:presentation>",
    }
    for name in (f"a.{suffix}", "a.txt"):
        (tmp_path / name).write_bytes(document(kind, bodies[kind]))
        assert formats.borne_out(tmp_path / name) == suffix
        (record,) = formats.read(tmp_path / name, IngestSettings())
        assert isinstance(record, Record)
        assert record.text == "Words."
