"""Tables as plain text, whatever parts their columns."""

from __future__ import annotations

import pytest

from wherefrom.errors import IngestError
from wherefrom.ingest.csv import read


def text_of(source: str) -> str:
    return read(source.encode(), "some_prices.csv").text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_row_has_the_headings_of_its_columns(delimiter: str) -> None:
    rows = ["name,price,sold on", "Screw M4,0.04 €,2024-03-01", 'Bolt,"1.20",2024-03-02', ""]
    record = read("\r\n".join(rows).replace(",", delimiter).encode(), "some_prices.csv")
    assert record.title == "some prices"
    assert record.text == (
        "name | price | sold on\nScrew M4 | price: 0.04 € | sold on: 2024-03-01\n"
        "Bolt | price: 1.20 | sold on: 2024-03-02"
    )
    assert [place.label for place in record.places] == ["row 1", "row 2", "row 3"]


def test_quoted_cells_may_hold_delimiters_marks_and_lines() -> None:
    assert (
        text_of('name,remark\n"Lee, Ann","said ""no""\nand left"\n') == 'name | remark\nLee, Ann | said "no" and left'
    )


def test_without_headings_cells_stand_alone() -> None:
    assert text_of("1,2\n3,4\n") == "1 | 2\n3 | 4"
    assert text_of("just words\nand more words\n") == "just words\nand more words"


def test_empty_cells_are_left_out_and_decimal_commas_are_kept() -> None:
    assert text_of("name;price;remark\nBolt;1,20;\n;3,00;odd one\n") == (
        "name | price | remark\nBolt | price: 1,20\nprice: 3,00 | remark: odd one"
    )


def test_other_encodings_and_what_excel_declares() -> None:
    assert read("sep=;\r\nname;Straße;Nr\r\nZoë;Köpenicker Straße;5\r\n".encode("cp1252"), "x.csv").text == (
        "name | Straße | Nr\nZoë | Straße: Köpenicker Straße | Nr: 5"
    )
    assert read("name\tvalue\nZoë\t1\n".encode("utf_16"), "x.tsv").text == "name | value\nZoë | value: 1"


def test_a_quotation_mark_that_is_never_closed_is_a_sign() -> None:
    rows = "".join(f"pipe {number},{number}\n" for number in range(20_000))
    text = text_of(f'name,size\npipe 5" wide,12\n"open,3\n{rows}')
    assert 'pipe 5" wide | size: 12' in text
    assert "pipe 19999 | size: 19999" in text
    assert text_of('"' * 400_001) == '"' * 400_001


def test_a_table_whose_headings_make_it_too_long_is_refused() -> None:
    row = ",".join("1" for _ in range(500))
    headings = ",".join(f"a long name of column {number}" for number in range(500))
    with pytest.raises(IngestError, match="its text is longer than 1 MB"):
        read(f"{headings}\n{(row + chr(10)) * 200}".encode(), "x.csv", 1_000_000)


def test_binary_data_is_refused() -> None:
    with pytest.raises(IngestError, match="it is not text"):
        read(bytes(range(256)) * 10, "x.csv")
