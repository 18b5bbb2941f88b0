"""Word documents give their blocks in order, and broken ones are refused."""

from __future__ import annotations

import contextlib
import io
import random
import zipfile

import docx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml

from wherefrom.errors import IngestError
from wherefrom.ingest.docx import read

SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def saved(document) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def append(document, xml: str) -> None:
    document.element.body.insert(len(document.element.body) - 1, parse_xml(xml))


def test_blocks_come_in_their_order() -> None:
    document = docx.Document()
    document.add_heading("Bridges", 1)
    document.add_paragraph("First words.")
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Number")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["Year", "Event", "1932", "opened\nat last"], strict=True):
        cell.text = text
    document.add_paragraph("Last words.")
    record = read(saved(document), "x.docx")
    assert (record.title, record.text) == (
        "Bridges",
        "Bridges\n\nFirst words.\n\n- one\n- two\n\nYear | Event\n1932 | opened at last\n\nLast words.",
    )


def test_a_table_inside_a_cell_is_part_of_the_cell() -> None:
    document = docx.Document()
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).text = "outer"
    inner = table.cell(0, 1).add_table(rows=1, cols=2)
    inner.cell(0, 0).text = "in"
    inner.cell(0, 1).text = "side"
    assert read(saved(document), "x.docx").text == "outer | in | side"


def test_links_inserted_text_and_content_controls_are_kept_and_deleted_text_is_not() -> None:
    document = docx.Document()
    relation = document.part.relate_to("https://example.org", RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    append(
        document,
        f'<w:p {SPACE} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        f'<w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="{relation}"><w:r><w:t>the page</w:t></w:r>'
        '</w:hyperlink><w:ins w:id="1" w:author="a"><w:r><w:t xml:space="preserve"> and more</w:t></w:r></w:ins>'
        '<w:del w:id="2" w:author="a"><w:r><w:delText>gone</w:delText></w:r></w:del>'
        "<w:r><w:tab/><w:t>end</w:t><w:br/><w:t>line</w:t></w:r></w:p>",
    )
    append(document, f"<w:sdt {SPACE}><w:sdtContent><w:p><w:r><w:t>controlled</w:t></w:r></w:p></w:sdtContent></w:sdt>")
    assert read(saved(document), "x.docx").text == "See the page and more\tend\nline\n\ncontrolled"


@pytest.mark.parametrize(
    ("own", "title"),
    [
        ("Annual Report", "Annual Report"),
        ("Word Document", "The Heading"),
        ("", "The Heading"),
        ("a.docx", "The Heading"),
    ],
)
def test_the_documents_own_title_is_used_if_it_is_sensible(own: str, title: str) -> None:
    document = docx.Document()
    document.core_properties.title = own
    document.add_paragraph("words")
    document.add_heading("The Heading", 1)
    assert read(saved(document), "x.docx").title == title


def test_a_title_paragraph_comes_before_a_heading_and_the_file_name_last() -> None:
    document = docx.Document()
    document.add_heading("A Heading", 1)
    document.add_heading("The Title", 0)
    assert read(saved(document), "x.docx").title == "The Title"
    plain = docx.Document()
    plain.add_paragraph("words")
    assert read(saved(plain), "my_letter.docx").title == "my letter"


def test_a_locked_or_old_document_says_so() -> None:
    with pytest.raises(IngestError, match="encrypted, or an old"):
        read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000), "x.docx")


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    out = io.BytesIO(saved(docx.Document()))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("word/media/bomb.bin", bytes(30_000_000))
    with pytest.raises(IngestError, match=r"ingest\.max_megabytes"):
        read(out.getvalue(), "x.docx", 1_000_000)


def test_entities_are_not_expanded(tmp_path) -> None:
    (tmp_path / "secret").write_text("hidden treasure")
    original = io.BytesIO(saved(docx.Document()))
    changed = io.BytesIO()
    with zipfile.ZipFile(original) as source, zipfile.ZipFile(changed, "w") as target:
        for part in source.namelist():
            target.writestr(part, source.read(part))
        xml = (
            f'<!DOCTYPE x [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><w:document {SPACE}><w:body><w:p><w:r>'
            "<w:t>words &x;</w:t></w:r></w:p></w:body></w:document>"
        )
        with pytest.warns(UserWarning, match="Duplicate name"):
            target.writestr("word/document.xml", xml)
    with pytest.raises(IngestError, match="it defines entities of its own"):
        read(changed.getvalue(), "x.docx")


@pytest.mark.parametrize(
    "data", [b"", b"plain words", random.Random(1).randbytes(2000), b"PK\x03\x04" + random.Random(2).randbytes(2000)]
)
def test_what_is_no_word_document_is_refused(data: bytes) -> None:
    with pytest.raises(IngestError, match="damaged, or not a Word document"):
        read(data, "x.docx")


def test_another_kind_of_office_file_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as parts:
        parts.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(IngestError, match="not a Word document"):
        read(out.getvalue(), "x.docx")


def test_a_file_with_parts_cut_off_or_overwritten_is_read_or_refused() -> None:
    document = docx.Document()
    for number in range(50):
        document.add_paragraph(f"Paragraph {number}")
    data = saved(document)
    chance = random.Random(1)
    for _ in range(40):
        damaged = bytearray(data)
        for _ in range(20):
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        for broken in (bytes(damaged), data[: chance.randrange(len(data))]):
            with contextlib.suppress(IngestError):
                read(broken, "x.docx")


def test_tables_nested_beyond_all_measure_are_read_or_refused() -> None:
    document = docx.Document()
    depth = 60  # deeper trees are refused by the parser already
    xml = "<w:tbl><w:tr><w:tc>" * depth + "<w:p><w:r><w:t>deep</w:t></w:r></w:p>" + "</w:tc></w:tr></w:tbl>" * depth
    append(document, xml.replace("<w:tbl>", f"<w:tbl {SPACE}>", 1))
    assert read(saved(document), "x.docx").text == "deep"


def test_rows_of_a_table_have_the_headings_that_its_author_marked() -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=2)
    for place, text in enumerate(["Part", "Price", "Screw", "4 cents"]):
        table.cell(place // 2, place % 2).text = text
    table.rows[0]._tr.get_or_add_trPr().append(parse_xml(f"<w:tblHeader {SPACE}/>"))
    assert read(saved(document), "x.docx", 10_000_000).text.endswith("Part | Price\nScrew | Price: 4 cents")


def test_notes_and_comments_stand_behind_their_paragraph() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("The pump hums.")
    document.add_comment(paragraph.runs, "Really?", author="Otto")
    document.add_paragraph("It is green.")
    assert read(saved(document), "x.docx").text == "The pump hums.\n\nComment by Otto: Really?\n\nIt is green."
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    note = "<w:p><w:r><w:t>Made in Bern.</w:t></w:r></w:p>"
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(document))) as source, zipfile.ZipFile(changed, "w") as target:
        for part in source.infolist():
            data = source.read(part)
            data = data.replace(b"green.</w:t>", b'green</w:t><w:footnoteReference w:id="2"/><w:t>.</w:t>')
            relation = f'<Relationship Id="n" Type="{kind}" Target="footnotes.xml"/></Relationships>'.encode()
            target.writestr(
                part, data.replace(b"</Relationships>", relation) if "document.xml.rels" in part.filename else data
            )
        separator = f'<w:footnote w:type="separator" w:id="0">{note}</w:footnote>'
        notes = f'<w:footnotes {space}>{separator}<w:footnote w:id="2">{note}</w:footnote></w:footnotes>'
        target.writestr("word/footnotes.xml", notes)
    assert read(changed.getvalue(), "x.docx").text.endswith("It is green.\n\nNote: Made in Bern.")


def test_a_document_with_macros_is_read_without_them() -> None:
    document = docx.Document()
    document.add_paragraph("The pump hums.")
    plain = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(document))) as source, zipfile.ZipFile(changed, "w") as target:
        for part in source.infolist():
            with_macros = b"application/vnd.ms-word.document.macroEnabled.main+xml"
            target.writestr(part, source.read(part).replace(plain.encode(), with_macros))
    assert read(changed.getvalue(), "x.docm").text == "The pump hums."
