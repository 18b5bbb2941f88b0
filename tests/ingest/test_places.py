"""Every part of a text knows where in its file it stands: pages and headings."""

from __future__ import annotations

import io
from pathlib import Path

import docx
import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from wherefrom import Library
from wherefrom.config import IngestSettings
from wherefrom.ingest import formats, html, markdown, pdf
from wherefrom.ingest.docx import read as read_docx
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.places import cleaned_places, heading_places
from wherefrom.text import clean, clean_at
from wherefrom.types import Passage, Place

SAMPLE = Path(__file__).parents[2] / "sample" / "library"
NUMBERS = "zero one two three four five six seven eight nine".split()


def record_of(path: Path) -> Record:
    (record,) = formats.read(path, IngestSettings())
    assert isinstance(record, Record)
    return record


def labels(record: Record) -> dict[str, str]:
    """The first line of each place, by its label."""
    return {place.label: record.text[place.start :].lstrip().split("\n")[0] for place in record.places}


def spelled(page: int) -> str:
    return " ".join(NUMBERS[int(digit)] for digit in str(page))


def book(pages: int) -> bytes:
    """Pages with a running head, a number, and a sentence that goes on over each page's end."""
    document = FPDF()
    document.set_font("Helvetica", size=11)
    for page in range(1, pages + 1):
        document.add_page()
        begun = (
            f"and here begins page {spelled(page)} of the book," if page > 1 else "The book begins on its first page,"
        )
        lines = ["The Book of Bridges", begun, *["which goes on with words and more words after these words"] * 5]
        for line in [*lines, f"until page {spelled(page)} ends", str(page)]:
            document.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(document.output())


@pytest.mark.parametrize("path", sorted(SAMPLE.rglob("*.pdf")), ids=lambda path: path.stem)
def test_every_page_of_a_sample_begins_where_another_reader_has_it_begin(path: Path) -> None:
    record = record_of(path)
    pages = [page.extract_text().split() for page in PdfReader(path).pages]
    assert [place.number for place in record.places] == list(range(1, len(pages) + 1))
    for place, words in zip(record.places, pages, strict=True):
        assert place.label == f"page {place.number}"
        first = record.text[place.start :].split()[0]
        assert first.strip(".") in [word.strip(".") for word in words[:20]]  # running heads come before it
    assert record.text[record.places[0].start :] == record.text


def test_pages_begin_at_their_first_word_in_a_book_whose_sentences_run_over_the_pages() -> None:
    record = pdf.read(book(30), "book.pdf")
    assert "Bridges" not in record.text
    assert len(record.places) == 30
    for place in record.places[1:]:
        assert place.number is not None
        begins = f"and here begins page {spelled(place.number)} of the book,"
        assert record.text[place.start :].startswith(begins)
        assert record.text[: place.start].endswith(f"until page {spelled(place.number - 1)} ends ")


def test_a_page_without_text_has_no_place_and_the_others_keep_their_numbers() -> None:
    document = FPDF()
    document.set_font("Helvetica", size=11)
    for text in ("The first page says this.", "", "The third page says that."):
        document.add_page()
        if text:
            document.cell(0, 6, text)
    assert labels(pdf.read(bytes(document.output()), "x.pdf")) == {
        "page 1": "The first page says this.",
        "page 3": "The third page says that.",
    }


def test_headings_of_a_web_page_are_places_with_those_above_them() -> None:
    page = (
        "<title>Pump</title><h1>Pump</h1><p>A pump.</p><h2>Install</h2><p>Do this.</p><h3>On  Windows</h3><p>That.</p>"
        "<h2>Remove</h2><ul><li>So.</li></ul>"
    )
    record = html.read(f"<body>{page}</body>".encode(), "x.html")
    assert labels(record) == {"Install": "Install", "Install › On Windows": "On Windows", "Remove": "Remove"}
    assert record.places[0].start == record.text.index("Install")


def test_headings_of_markdown_are_places() -> None:
    table = "| a | b |\n|---|---|\n| c | d |"
    source = f"# Pump\n\nA pump.\n\n## Install\n\n### On Windows\n\n- one\n\n{table}\n\n## Remove\n\nSo.\n"
    record = markdown.read(source.encode(), "x.md")
    assert labels(record) == {"Install": "Install", "Install › On Windows": "On Windows", "Remove": "Remove"}


def test_headings_of_word_are_places() -> None:
    document = docx.Document()
    for level, text in ((0, "Pump"), (1, "Install"), (2, "On Windows"), (1, "Remove")):
        document.add_heading(text, level)
        document.add_paragraph("Something is written here.")
    out = io.BytesIO()
    document.save(out)
    assert labels(read_docx(out.getvalue(), "x.docx")) == {
        "Install": "Install",
        "Install › On Windows": "On Windows",
        "Remove": "Remove",
    }


def test_a_second_heading_that_is_the_title_ends_the_place_before_it() -> None:
    assert [place.label for place in heading_places([(0, 1, "A"), (5, 2, "B"), (9, 1, "A")], "A")] == ["B", "A"]


def test_long_headings_are_shortened() -> None:
    (place,) = heading_places([(0, 2, "word " * 50)], "x")
    assert place.label.startswith("word word")
    assert len(place.label) <= 61


# Marks that go onto the letter before them, Korean letters, signs that are left out, and line ends.
_MOVING = st.text(alphabet="ab \r\n\x00\x0c\ufeff\u0301\u0316\u1100\u1161\u11a8é•", max_size=60)


@given(_MOVING, st.lists(st.integers(0, 60), max_size=6))
def test_cleaning_with_places_gives_the_same_text_as_without(text: str, starts: list[int]) -> None:
    starts = sorted(min(start, len(text)) for start in starts)
    cleaned, moved = clean_at(text, starts)
    assert cleaned == clean(text)
    assert moved == sorted(moved)
    for start, at in zip(starts, moved, strict=True):
        if text[start : start + 1] in ("a", "b"):
            assert cleaned[at:] == clean(text[start:])


def test_a_place_keeps_its_words_when_the_text_before_it_is_cleaned() -> None:
    text = "Cafe\u0301s\x00 here.\r\nNext page.\r\n\x0cLast."
    places = (Place(0, "page 1", 1), Place(text.index("Next"), "page 2", 2), Place(text.index("Last"), "page 3", 3))
    cleaned, moved = cleaned_places(text, places)
    assert [cleaned[place.start :].split()[0] for place in moved] == ["Cafés", "Next", "Last."]
    assert cleaned_places("One. \x00", (Place(0, "page 1", 1), Place(5, "page 2", 2)))[1] == (Place(0, "page 1", 1),)


def test_the_place_of_characters_is_where_they_stand_not_where_their_passage_begins() -> None:
    passage = Passage("a#0", "a", "one two three", 40, 53, places=(Place(0, "page 1", 1), Place(8, "page 2", 2)))
    assert passage.place == "page 1"
    assert passage.place_of(8) == "page 2"
    assert passage.place_of(4, 7) == "page 1"
    assert passage.place_of(4, 13) == "page 1 to page 2"
    assert Passage("a#0", "a", "one", 0, 3).place_of(0, 3) == ""
    assert Passage("a#0", "a", "one two", 0, 7, places=(Place(4, "B"),)).place_of(0, 7) == "B"


def test_passages_of_a_library_have_the_places_that_they_touch(tmp_path: Path) -> None:
    (tmp_path / "book.pdf").write_bytes(book(30))
    with Library(tmp_path / "library") as library:
        library.ingest([tmp_path / "book.pdf"])
        document = library.document("book.pdf")
        assert len(document.places) == 30
        for passage in library.passages_of("book.pdf"):
            for place in passage.places[1:]:
                words = f"and here begins page {spelled(place.number or 0)} of the book,"
                assert words.startswith(passage.text[place.start :][: len(words)])
            first = max((each for each in document.places if each.start <= passage.start), key=lambda each: each.start)
            assert passage.places[0] == Place(0, first.label, first.number)
        answer = "begins page two three"
        (passage, *_) = (hit.passage for hit in library.search(answer, 50).hits if answer in hit.passage.text)
        assert passage.place_of(passage.text.index(answer)) == "page 23"
        over = next(each for each in library.passages_of("book.pdf") if len(each.places) > 1)
        assert over.place_of(over.places[1].start - 1, over.places[1].start + 1) == "page 1 to page 2"


def test_a_library_from_before_learns_the_places_when_its_files_are_ingested_again(tmp_path: Path) -> None:
    (tmp_path / "book.pdf").write_bytes(book(3))
    with Library(tmp_path / "library") as library:
        library.ingest([tmp_path / "book.pdf"])
        store = library._folder().store
        known = library.document("book.pdf")
        store.set_places("book.pdf", ())
        with store._database.writing() as connection:
            connection.execute("DELETE FROM file")
        assert library.document("book.pdf").places == ()
        assert library.check().sound
        report = library.ingest([tmp_path / "book.pdf"])
        assert (report.unchanged, report.replaced) == (1, 0)
        assert library.document("book.pdf") == known
        assert library.check().sound
