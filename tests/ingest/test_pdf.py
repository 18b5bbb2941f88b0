"""PDF files give paragraphs, not lines, without what is printed on every page."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import pytest
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest import formats, pdf
from wherefrom.ingest.outcome import IngestFailure, Record

PROSE = (
    "The bridge was opened in 1932 after eight years of work by a large team of engineers. "
    "It carried trains at first and cars from 1958 on, when the second deck was added above the tracks."
)


def pdf_of(pages: list[list[str]], title: str = "") -> bytes:
    """A file whose pages hold exactly these lines."""
    document = FPDF()
    document.set_font("Helvetica", size=11)
    if title:
        document.set_title(title)
    for lines in pages:
        document.add_page()
        for line in lines:
            document.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(document.output())


def wrapped(text: str, width: int = 60) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def encrypted(data: bytes, password: str, algorithm: str, owner: str | None = None) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password, owner, algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_wrapped_lines_become_paragraphs_again() -> None:
    text = pdf.read(
        pdf_of([["The Old Bridge", *wrapped(PROSE), *wrapped(PROSE), "Next", *wrapped(PROSE)]]), "x.pdf"
    ).text
    assert text.split("\n\n") == ["The Old Bridge", PROSE, PROSE, "Next", PROSE]


def test_a_paragraph_goes_on_over_the_end_of_a_page() -> None:
    first = ["This paragraph begins at the bottom of a page and it", "goes on, without an end, to the"]
    assert pdf.read(pdf_of([first, ["very top of the next page.", "End"]]), "x.pdf").text.startswith(
        "This paragraph begins at the bottom of a page and it goes on, without an end, to the very top of the next"
    )


def test_words_broken_at_the_end_of_a_line_are_mended() -> None:
    lines = [
        "It was a very long and difficult under-",
        "taking for the well-known engineers, and a well-",
        "known one, for the Anglo-",
        "American company.",
    ]
    assert pdf.read(pdf_of([lines]), "x.pdf").text == (
        "It was a very long and difficult undertaking for the well-known engineers, and a well-known one, "
        "for the Anglo-American company."
    )


def test_items_of_a_list_stay_on_their_own_lines() -> None:
    lines = ["We brought the following things along on our long trip:", "- a rope", "- a lamp", "1. first", "2. second"]
    assert pdf.read(pdf_of([lines]), "x.pdf").text.endswith("\n\n- a rope\n- a lamp\n1. first\n2. second")


def test_a_numbered_heading_does_not_run_into_the_text_above_it() -> None:
    lines = [
        *wrapped(PROSE),
        *wrapped(PROSE)[:-1],
        "the second deck was then added right above all the tracks.",
        "2.1 Tools",
        "x",
    ]
    assert "tracks.\n\n2.1 Tools" in pdf.read(pdf_of([lines]), "x.pdf").text


def test_the_dots_of_a_table_of_contents_are_shortened() -> None:
    assert pdf.read(pdf_of([["Contents", "1 Bridges" + " ." * 40 + " 7"]]), "x.pdf").text == "Contents\n\n1 Bridges … 7"


def test_headers_footers_and_page_numbers_of_most_pages_are_left_out() -> None:
    pages = [
        [
            "Annual Report 2019",
            f"Section {n} speaks of {word} and other matters",
            f"of {word} interest.",
            f"Page {n} of 4",
            str(n),
        ]
        for n, word in enumerate(["water", "fire", "earth", "air"], start=1)
    ]
    text = pdf.read(pdf_of(pages), "x.pdf").text
    assert "Annual Report" not in text
    assert "of 4" not in text
    assert [line for line in text.splitlines() if line.isdigit()] == []
    for word in ("water", "fire", "earth", "air"):
        assert f"speaks of {word} and other matters of {word} interest." in text


def test_a_line_repeated_on_two_pages_only_is_kept() -> None:
    assert (
        pdf.read(pdf_of([["Same line here", "one two"], ["Same line here", "three"]]), "x.pdf").text.count("Same") == 2
    )


def test_pages_that_all_say_the_same_are_not_emptied() -> None:
    assert "Warning" in pdf.read(pdf_of([["Warning"], ["Warning"], ["Warning"]]), "x.pdf").text


def test_a_number_that_is_content_is_kept() -> None:
    assert pdf.read(pdf_of([["The answer to everything is", "42"]]), "x.pdf").text.endswith("42")


@pytest.mark.parametrize(
    ("own", "title"),
    [
        ("The Bridge: A History", "The Bridge: A History"),
        ("untitled", "Heading of the Page"),
        ("Microsoft Word - draft3.doc", "Heading of the Page"),
        ("final_v2.docx", "Heading of the Page"),
        ("", "Heading of the Page"),
    ],
)
def test_the_files_own_title_is_used_if_it_is_sensible(own: str, title: str) -> None:
    assert pdf.read(pdf_of([["Heading of the Page", *wrapped(PROSE)]], own), "x.pdf").title == title


def test_without_a_heading_the_title_is_made_of_the_file_name() -> None:
    assert pdf.read(pdf_of([wrapped("this begins in the middle of a sentence. " + PROSE)]), "old_bridge.pdf").title == (
        "old bridge"
    )


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256"])
def test_a_password_is_asked_to_be_removed(algorithm: str) -> None:
    with pytest.raises(IngestError, match=r"^it is encrypted; remove the password first$"):
        pdf.read(encrypted(pdf_of([["secret words"]]), "password", algorithm), "x.pdf")


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_a_file_that_only_forbids_printing_is_read(algorithm: str) -> None:
    data = encrypted(pdf_of([["open words"]]), "", algorithm, owner="owner")
    assert pdf.read(data, "x.pdf").text == "open words"


def test_pictures_without_text_ask_for_ocr() -> None:
    document = FPDF()
    document.add_page()
    document.rect(10, 10, 50, 50)
    with pytest.raises(IngestError, match="it holds no text, only pictures; `pip install"):
        pdf.read(bytes(document.output()), "scan.pdf")


@pytest.mark.parametrize(
    "data",
    [b"", b"%PDF-1.7\n", b"%PDF-1.4\n" + random.Random(1).randbytes(3000), b"plain words", pdf_of([["x"]])[:100]],
)
def test_what_is_no_pdf_is_refused(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(IngestError, match=r"damaged, or not a PDF|only pictures"):
        pdf.read(data, "x.pdf")
    assert caplog.records == []


def test_a_file_cut_off_anywhere_is_read_or_refused() -> None:
    data = pdf_of([wrapped(PROSE)] * 3)
    for size in range(0, len(data), len(data) // 40):
        with contextlib.suppress(IngestError):
            assert pdf.read(data[:size], "x.pdf").text


def test_a_damaged_page_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_of([["First page."], ["Second page."], ["Third page."]]))))
    writer.pages[1][NameObject("/Type")] = NameObject("/NoPage")
    path = tmp_path / "damaged.pdf"
    writer.write(path)
    record, failure = formats.read(path, IngestSettings())
    assert isinstance(record, Record)
    assert "First page." in record.text
    assert "Third page." in record.text
    assert isinstance(failure, IngestFailure)
    assert failure.name == "damaged.pdf:page 2"


def manual(pages: int) -> list[list[str]]:
    """A manual with a table of contents, running heads with page numbers, and an index."""
    contents = ["Table of Contents", *(f"{n} Chapter about {w}" + " ." * 30 + f" {n}" for n, w in enumerate(WORDS, 1))]
    body = [
        [
            f"Chapter {n // 4 + 1}: {WORDS[n // 4 % len(WORDS)].title()} {n}",
            f"Sentence {n} of the manual says {word}.",
            *wrapped(PROSE),
        ]
        for n, word in ((n, WORDS[n % len(WORDS)]) for n in range(1, pages + 1))
    ]
    index = ["Index", *(f"{word}, {n}, {n + 3}" for n, word in enumerate(WORDS * 3, start=2))]
    return [contents, *body, index]


WORDS = ["water", "fire", "earth", "air", "iron", "gold", "salt", "tin"]


def test_running_heads_that_change_with_the_chapter_are_left_out() -> None:
    text = pdf.read(pdf_of(manual(16)), "x.pdf").text
    assert "Chapter 2" not in text
    assert "Sentence 7 of the manual says tin." in text


def test_tables_of_contents_and_indexes_are_left_out() -> None:
    text = pdf.read(pdf_of(manual(16)), "x.pdf").text
    assert "Chapter about" not in text
    assert "Contents" not in text
    assert "gold, " not in text


def test_a_file_that_is_only_a_table_of_contents_is_kept() -> None:
    assert "Chapter about fire" in pdf.read(pdf_of(manual(0)[:1]), "x.pdf").text


def test_text_whose_words_run_together_is_complained_about() -> None:
    glued = ["".join(PROSE.split())[:60]] * 30
    record = pdf.read(pdf_of([glued]), "x.pdf")
    assert "Thebridgewasopened" in record.text
    assert [place for place, _ in record.complaints] == ["text"]
    assert "run together" in record.complaints[0][1]


def test_sound_text_is_not_complained_about() -> None:
    assert pdf.read(pdf_of([wrapped(PROSE)] * 5), "x.pdf").complaints == ()
