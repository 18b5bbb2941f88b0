"""Workbooks: rows with their headings, at their places, as people see them."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import Font

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest import formats
from wherefrom.ingest.number_format import shown
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.xlsx import read

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def saved(book: openpyxl.Workbook) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def book_of(*rows: list[object]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    return book


def placed(record: Record) -> dict[str, str]:
    """The first line at each place."""
    return {place.label: record.text[place.start :].split("\n")[0] for place in record.places}


def with_part(data: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as parts, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for part in parts.infolist():
            made.writestr(part.filename, change(parts.read(part)) if part.filename == name else parts.read(part))
    return out.getvalue()


def sheet_of(rows: str, texts: str = "") -> bytes:
    """A workbook by hand, with this XML as its only sheet's rows and as its shared texts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(
            "xl/workbook.xml", f'<workbook {MAIN} {RELATIONS}><sheets><sheet name="S" r:id="r1"/></sheets></workbook>'
        )
        kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        made.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships><Relationship Id="r1" Type="{kind}/worksheet" Target="worksheets/s.xml"/>'
            f'<Relationship Id="r2" Type="{kind}/sharedStrings" Target="/xl/texts.xml"/></Relationships>',
        )
        made.writestr("xl/worksheets/s.xml", f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>")
        made.writestr("xl/texts.xml", f"<sst {MAIN}>{texts}</sst>")
    return out.getvalue()


def test_a_row_has_the_headings_of_its_columns_and_its_place() -> None:
    book = book_of(["Item", "Amount", "Paid on"], ["Rent", 500, date(2024, 3, 1)], ["Water", 32.5, date(2024, 3, 9)])
    for row in (2, 3):
        book.active.cell(row, 2).number_format = '#,##0.00 "€"'
    record = read(saved(book), "household_costs.xlsx")
    assert record.title == "household costs"
    assert record.text == (
        "Item | Amount | Paid on\nRent | Amount: 500.00 € | Paid on: 2024-03-01\n"
        "Water | Amount: 32.50 € | Paid on: 2024-03-09"
    )
    assert placed(record)["row 3"] == "Water | Amount: 32.50 € | Paid on: 2024-03-09"


def test_several_sheets_have_their_names_and_hidden_ones_are_passed_over() -> None:
    book = book_of(["Item", "Amount"], ["Rent", 500])
    book.active.title = "Costs"
    people, hidden = book.create_sheet("People"), book.create_sheet("Lists")
    people.append(["Name", "Town", "Trade"])
    people.append(["Marta", "Lisbon", "engineer"])
    people.append(["Otto", "Bern", "baker"])
    hidden["A1"] = "secret"
    hidden.sheet_state = "hidden"
    book.create_sheet("Empty")
    record = read(saved(book), "x.xlsx")
    assert "secret" not in record.text
    assert "Empty" not in record.text
    assert "\n\nPeople\n\nName | Town | Trade\nMarta | Town: Lisbon | Trade: engineer" in record.text
    assert placed(record)["People, row 3"] == "Otto | Town: Bern | Trade: baker"
    assert placed(record)["Costs, row 2"] == "Rent | Amount: 500"


def test_a_line_above_a_table_and_an_empty_row_part_tables() -> None:
    book = book_of(["Budget of the club"], ["Item", "Amount"], ["Rent", 500], [], ["Town", "People"], ["Bern", 140_000])
    assert read(saved(book), "x.xlsx").text == (
        "Budget of the club\n\nItem | Amount\nRent | Amount: 500\n\nTown | People\nBern | People: 140000"
    )


def test_a_form_of_names_and_values_has_no_headings() -> None:
    assert read(saved(book_of(["Name", "Marta"], ["Town", "Lisbon"], ["Trade", "engineer"])), "x.xlsx").text == (
        "Name | Marta\nTown | Lisbon\nTrade | engineer"
    )
    bold = book_of(["Name", "Town"], ["Marta", "Lisbon"])
    for cell in bold.active[1]:
        cell.font = Font(bold=True)
    assert read(saved(bold), "x.xlsx").text.endswith("Marta | Town: Lisbon")


def test_a_table_goes_on_behind_an_empty_row() -> None:
    book = book_of(["Item", "Amount"], ["Rent", 500], [], ["Water", 30])
    assert read(saved(book), "x.xlsx").text.endswith("Water | Amount: 30")


def test_formulas_are_what_they_came_to_and_those_that_came_to_nothing_are_named() -> None:
    cells = '<c r="A1"><f>1+1</f><v>2</v></c><c r="B1" t="str"><f>A1</f><v>two</v></c><c r="D1" t="e"><v>#N/A</v></c>'
    assert read(sheet_of(f'<row r="1">{cells}</row>'), "x.xlsx").text == "2 | two"
    record = read(saved(book_of(["Sum", "=1+1"])), "x.xlsx")
    assert record.text == "Sum"
    assert record.complaints == (
        (
            "formulas",
            "1 cells hold formulas whose values were never worked out; save it in a spreadsheet program first",
        ),
    )


def test_comments_stand_behind_the_rows_and_rich_and_inline_text_is_text() -> None:
    book = book_of(["Item", "Amount"], ["Rent", 500])
    book.active["B2"].comment = Comment("Rises in May.", "Otto")
    assert placed(read(saved(book), "x.xlsx"))["B2"] == "Comment on B2: Rises in May."
    inline = '<c t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c>'
    rows = f'<row><c t="s"><v>0</v></c>{inline}<c t="b"><v>1</v></c></row>'
    texts = "<si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>spoken</t></rPh></si>"
    assert read(sheet_of(rows, texts), "x.xlsx").text == "rich | inline | TRUE"


@pytest.mark.parametrize(
    ("value", "format", "text"),
    [
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (0.256, "0%", "26%"),
        (0.2567, "0.0%", "25.7%"),
        (-12.5, "0.00", "-12.50"),
        (-12.5, "#,##0.00;(#,##0.00)", "(12.50)"),
        (1234.5, "_-* #,##0.00 [$€-407]_-;-* #,##0.00 [$€-407]_-", "1,234.50 €"),
        (99, '"$"#,##0_);[Red]("$"#,##0)', "$99"),
        (0, '0.0;-0.0;"none"', "none"),
        (7, "00000", "00007"),
        (1500000, '0.0,,"M"', "1.5M"),
        (3.14159, "0.##", "3.14"),
        (3.0, "0.##", "3"),
        (12345, "0.00E+00", "1.23E+04"),
        (0.1 + 0.2, "General", "0.3"),
        (42.0, "General", "42"),
        (1e15, "General", "1e+15"),
        (45352, "dd/mm/yyyy", "01/03/2024"),
        (45352.375, "d mmmm yyyy h:mm AM/PM", "1 March 2024 9:00 AM"),
        (45352.53125, "yyyy-mm-dd hh:mm:ss", "2024-03-01 12:45:00"),
        (0.75, "h:mm", "18:00"),
        (1.5, "[h]:mm", "36:00"),
        (1, "yyyy-mm-dd", "1900-01-01"),
        (45352, '[$-409]ddd", "mmm d;@', "Fri, Mar 1"),
        (-1, "yyyy", "-1"),
        (1e12, "yyyy", "1e+12"),
    ],
)
def test_numbers_and_dates_are_as_people_see_them(value: float, format: str, text: str) -> None:
    assert shown(value, format) == text


def test_dates_of_old_macintosh_files_begin_in_1904() -> None:
    assert shown(0, "yyyy-mm-dd", from_1904=True) == "1904-01-01"
    book = book_of([datetime(2024, 3, 1, 9, 30), time(9, 30)])
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    assert read(saved(book), "x.xlsx").text == "2024-03-01 9:30:00 | 9:30:00"


def test_long_tables_are_paragraphs_of_whole_rows() -> None:
    rows = [[f"Item {number}", number, f"a remark on number {number}"] for number in range(200)]
    text = read(saved(book_of(["Item", "Amount", "Remark"], *rows)), "x.xlsx").text
    paragraphs = text.split("\n\n")
    assert len(paragraphs) > 15
    assert all(line.startswith("Item ") for paragraph in paragraphs for line in paragraph.split("\n"))
    assert max(len(paragraph.split(" ")) for paragraph in paragraphs) <= 90


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused() -> None:
    bomb = with_part(saved(book_of(["a"])), "xl/worksheets/sheet1.xml", lambda data: data + b" " * 3_000_000)
    assert len(bomb) < 20_000
    with pytest.raises(IngestError, match="unpacked it is longer than 1 MB"):
        read(bomb, "x.xlsx", 1_000_000)


def test_one_long_text_named_again_and_again_is_refused() -> None:
    rows = "".join('<row><c t="s"><v>0</v></c></row>' for _ in range(2_000))
    with pytest.raises(IngestError, match="its text is longer than 1 MB"):
        read(sheet_of(rows, f"<si><t>{'word ' * 1_000}</t></si>"), "x.xlsx", 1_000_000)


def test_entities_are_not_replaced() -> None:
    bomb = b'<!DOCTYPE w [<!ENTITY a "' + b"ha" * 1000 + b'"><!ENTITY b "&a;&a;&a;&a;">]>'
    rows = '<row><c t="inlineStr"><is><t>&b;</t></is></c></row>'
    whole = sheet_of("<row/>")
    spoiled = with_part(whole, "xl/worksheets/s.xml", lambda data: bomb + data.replace(b"<row/>", rows.encode()))
    with pytest.raises(IngestError, match="defines entities of its own"):
        read(spoiled, "x.xlsx")


def test_cells_beyond_all_columns_and_rows_cost_nothing() -> None:
    cells = '<c r="XFD1048576"><v>1</v></c><c r="ZZZ9"><v>2</v></c><c r="?"><v>3</v></c><c s="99999"><v>x</v></c>'
    record = read(sheet_of(f'<row r="1048576">{cells}</row>'), "x.xlsx")
    assert placed(record) == {"row 1048576": "1"}


def test_broken_files_are_refused_and_nothing_else_comes_out() -> None:
    whole = saved(book_of(["Item", "Amount"], ["Rent", 500]))
    with pytest.raises(IngestError, match="encrypted, or an old Office file"):
        read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000), "x.xlsx")
    chance = random.Random(1)
    for _ in range(60):
        broken = bytearray(whole[: chance.randrange(1, len(whole))] if chance.random() < 0.3 else whole)
        for _ in range(chance.randrange(1, 20)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        with suppress(IngestError):
            read(bytes(broken), "x.xlsx")


def test_it_is_known_by_its_first_bytes_and_macros_are_passed_over(tmp_path: Path) -> None:
    data = with_part(saved(book_of(["Item", "Amount"], ["Rent", 500])), "", bytes)
    (tmp_path / "costs.xlsm").write_bytes(data)
    (tmp_path / "costs.txt").write_bytes(data)
    for path in tmp_path.iterdir():
        (record,) = formats.read(path, IngestSettings())
        assert isinstance(record, Record)
        assert record.text == "Item | Amount\nRent | Amount: 500"
        assert formats.borne_out(path) == "xlsx"


def test_a_bracket_alone_in_a_format_of_dates_is_written_as_it_stands() -> None:
    assert shown(1.5, "[yyyy") == "[1900"
