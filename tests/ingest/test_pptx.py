"""Presentations: every slide's title, words, tables and notes, at its number."""

from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from pptx import Presentation
from pptx.util import Inches

from ingest.test_xlsx import with_part
from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest import formats
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.pptx import read


def talk() -> bytes:
    made = Presentation()
    first = made.slides.add_slide(made.slide_layouts[0])
    first.shapes.title.text = "The Old Bridge"
    first.placeholders[1].text = "A talk by Marta"
    second = made.slides.add_slide(made.slide_layouts[1])
    second.shapes.title.text = "Why it\vwas built"
    body = second.placeholders[1].text_frame
    body.text = "The ferry was slow"
    for text, level in (("it sank twice", 1), ("Trade grew", 0)):
        paragraph = body.add_paragraph()
        paragraph.text, paragraph.level = text, level
    second.notes_slide.notes_text_frame.text = "Mention the flood of 1921."
    third = made.slides.add_slide(made.slide_layouts[6])
    table = third.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(2)).table
    for row, column, text in ((0, 0, "Year"), (0, 1, "Event"), (1, 0, "1932"), (1, 1, "opened")):
        table.cell(row, column).text = text
    group = third.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(4), Inches(3), Inches(1)).text_frame.text = "Grouped words"
    made.slides.add_slide(made.slide_layouts[6])
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def test_slides_come_in_their_order_with_titles_lists_tables_and_notes() -> None:
    record = read(talk(), "x.pptx")
    assert record.title == "The Old Bridge"
    assert record.text == (
        "The Old Bridge\n\nA talk by Marta\n\n"
        "Why it was built\n\n- The ferry was slow\n  - it sank twice\n- Trade grew\n\n"
        "Notes: Mention the flood of 1921.\n\n"
        "Year | Event\n1932 | Event: opened\n\nGrouped words"
    )
    begins = {(place.label, place.number): record.text[place.start :].split("\n")[0] for place in record.places}
    assert begins == {
        ("slide 1", 1): "The Old Bridge",
        ("slide 2", 2): "Why it was built",
        ("slide 3", 3): "Year | Event",
    }


def test_a_damaged_slide_is_named_and_the_others_are_read() -> None:
    record = read(with_part(talk(), "ppt/slides/slide2.xml", lambda data: data[:500]), "x.pptx")
    assert record.complaints == (("slide 2", "it is damaged, or not a PowerPoint presentation"),)
    assert [place.number for place in record.places] == [1, 3]


def test_what_cannot_be_read_is_said() -> None:
    out = io.BytesIO()
    Presentation().save(out)
    with pytest.raises(IngestError, match="it has no slides"):
        read(out.getvalue(), "x.pptx")
    with pytest.raises(IngestError, match="unpacked it is longer than"):
        read(talk(), "x.pptx", 10_000)
    entities = b'<!DOCTYPE a [<!ENTITY b "c">]>'
    slide = with_part(
        talk(), "ppt/slides/slide2.xml", lambda data: data.replace(b"?>", b"?>" + entities, 1).replace(b"Trade", b"&b;")
    )
    assert "defines entities" in read(slide, "x.pptx").complaints[0][1]


def test_broken_files_are_refused_and_nothing_else_comes_out() -> None:
    whole, chance = talk(), random.Random(2)
    for _ in range(40):
        broken = bytearray(whole[: chance.randrange(1, len(whole))] if chance.random() < 0.3 else whole)
        for _ in range(chance.randrange(1, 20)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        with suppress(IngestError):
            read(bytes(broken), "x.pptx")


def test_it_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_bytes(talk())
    (record,) = formats.read(tmp_path / "talk.txt", IngestSettings())
    assert isinstance(record, Record)
    assert record.title == "The Old Bridge"


@pytest.mark.parametrize("level", ["", "12", "-1", "x", "9", "99999999999"])
def test_a_level_that_no_list_has_is_none(level: str) -> None:
    slide = "ppt/slides/slide2.xml"
    with zipfile.ZipFile(io.BytesIO(talk())) as parts:
        xml = parts.read(slide).decode()
    assert 'lvl="1"' in xml
    data = with_part(talk(), slide, lambda part: part.replace(b'lvl="1"', f'lvl="{level}"'.encode()))
    text = read(data, "a.pptx").text
    assert "\n- it sank twice" in text
