"""Small files that were made to take for ever are read at once: nothing takes the square of a file's length."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import docx
import pytest

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest.formats import Record, read
from wherefrom.ingest.split import split

# Each takes minutes, some years, where a step takes the square of the length; half a minute is far from both.
pytestmark = pytest.mark.timeout(30)

MANY = 200_000
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def word(body: str) -> bytes:
    """A Word document with this body."""
    plain, made = io.BytesIO(), io.BytesIO()
    docx.Document().save(plain)
    with zipfile.ZipFile(plain) as parts, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out:
        for part in parts.infolist():
            whole = f"<w:document {WORD}><w:body>{body}</w:body></w:document>".encode()
            out.writestr(part, whole if part.filename == "word/document.xml" else parts.read(part))
    return made.getvalue()


def pdf_of_words(lines: list[str]) -> bytes:
    """A page with these lines."""
    words = " ".join(f"({line}) Tj 0 -14 Td" for line in lines).encode()
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\nBT /F1 12 Tf 72 720 Td %s ET\nendstream" % (len(words) + 31, words),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << /Font << /F1 3 0 R >> >> /Contents 4 0 R >>",
    )
    return b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, each) for n, each in enumerate(objects, 1))


def nested_parts(depth: int) -> str:
    """A message whose parts are in one another."""
    inside = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(depth))
    return f"From: a\nSubject: b\n{inside}words"


def notebook(cells: int) -> str:
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "Plain words."}] * cells})


def cell(text: str) -> str:
    return f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


ATTACKS: dict[str, tuple[str, Callable[[], str | bytes]]] = {
    "comments before no page": ("page.html", lambda: "<!---->" * 40 + "x"),
    "comments in what has no suffix": ("page", lambda: "<!---->" * 5_000 + "x"),
    "a page of full stops": ("dots.txt", lambda: "." * MANY),
    "a page of danda": ("danda.txt", lambda: "।" * MANY),
    "marks in disorder": ("marks.txt", lambda: "a" + "\u0301\u0316" * MANY),
    "marks in a record": ("marks.jsonl", lambda: '{"text": "a' + "\\u0301\\u0316" * MANY + '"}'),
    "marks in references": ("marks.html", lambda: "a" + "&#769;&#790;" * MANY),
    "attributes": ("attributes.html", lambda: "<p " + " ".join(f"a{i}='>'" for i in range(MANY)) + ">There."),
    "attributes in Markdown": ("attributes.md", lambda: "<p " + " ".join(f"a{i}=1" for i in range(MANY)) + ">There."),
    "menus in a row": ("menus.html", lambda: "<p>" + "<nav></nav>some text " * 100_000),
    "forms in a row": ("forms.html", lambda: "<p>" + "<form></form>some text " * 100_000),
    "menus in menus": (
        "nested.html",
        lambda: "<div class=menu><a></a>" * 1_500 + "<a></a>" * 20_000 + "text " * 20_000,
    ),
    "headings of a header": ("header.html", lambda: "<header>" + "<h1>a</h1>" * 50_000 + "</header>"),
    "a title of blanks": ("title.md", lambda: "---\ntitle: a" + " " * MANY + "b\n---\nThere."),
    "runs of Word": ("runs.docx", lambda: word("<w:p>" + "<w:r><w:t>a</w:t></w:r>" * MANY + "</w:p>")),
    "a row of Word": ("row.docx", lambda: word("<w:tbl><w:tr>" + cell("a") * 60_000 + "</w:tr></w:tbl>")),
    "braces of rich text": ("deep.rtf", lambda: "{\\rtf1 " + "{\\b x" * 100_000),
    "cells of rich text": ("row.rtf", lambda: "{\\rtf1 " + "\\trowd a\\cell " * 50_000 + "\\row}"),
    "cells of a notebook": ("cells.ipynb", lambda: notebook(50_000)),
    "a notebook of brackets": ("deep.ipynb", lambda: '{"cells":' + "[" * MANY),
    "parts in parts": ("deep.eml", lambda: nested_parts(1_000)),
    "parts in a row": ("parts.eml", lambda: "From: a\nContent-Type: multipart/mixed; boundary=b\n\n" + "--b\n" * MANY),
    "encoded words": ("words.eml", lambda: "From: " + "=?a?q?" * MANY + "\n\nwords"),
    "parameters of a part": ("type.eml", lambda: "From: a\nContent-Type: text/plain; " + '";' * MANY + "\n\nwords"),
    "quotes": ("quotes.eml", lambda: "From: a\n\n" + "> a\n\n" * 50_000),
    "a line of a mailbox": ("line.mbox", lambda: "From a 10:00:00 2020\nFrom: a\n\n" + "x" * 10_000_000),
    "conditions of a manual": ("if.1", lambda: ".TH a 1\n" + ".if n \\{\\\n" * 100_000 + "words"),
    "strings of a manual": ("ds.1", lambda: ".TH a 1\n" + ".ds a " + "\\*a" * 40 + "\n" + "\\*a" * 100_000),
    "a term of a manual": ("xo.1", lambda: ".Dd x\n.Dt a 1\n.Bl -tag\n.It Fl a Xo\n" + ".Ar b\n" * 50_000),
    "options of a manual": ("op.1", lambda: ".Dd x\n.Dt a 1\n.Op " + "Op Fl a " * 30_000),
    "escapes of a manual": ("escapes.1", lambda: ".TH a 1\n" + "\\[" * MANY + "\n" + "\\w'" * MANY),
    "letters of a PDF": ("letters.pdf", lambda: pdf_of_words(["a" * MANY, "b."])),
    "stars": ("stars.rst", lambda: "**a " * MANY),
    "columns": ("columns.rst", lambda: "=== ===" + " ===" * MANY + "\n" + "a\n" * 300),
    "indentation": ("indented.rst", lambda: "".join(" " * (n % 2000) + "- x\n\n" for n in range(2_000))),
    "headings of a paper": ("deep.tex", lambda: "\\begin{document}" + "\\section{" * 50_000),
    "labels of a paper": ("labels.tex", lambda: "\\label{" * 50_000),
    "tables of a paper": ("tables.tex", lambda: "\\begin{tabular}{l}" * 10_000 + "a & b\\\\" * 10_000),
    "links of an outline": ("links.org", lambda: "[[a" * MANY),
    "empty lines of AsciiDoc": ("empty.adoc", lambda: "a\n" + "\n" * 16_000_000),
    "marks of AsciiDoc": ("marks.adoc", lambda: "link:a[<<a*a " * 50_000),
    "a line of a program": ("line.py", lambda: "x" * 10_000_000),
    "empty lines of a program": ("empty.py", lambda: 'def a():\n    """' + "\n" * 1_000_000),
    "types of a program": ("types.c", lambda: ("a*" * 250 + "\n") * 1_000),
    "calls of a program": ("calls.js", lambda: ("  a(" * 100 + "\n") * 1_000),
    "a row of a page": ("row.html", lambda: "<table><tr>" + "<td>a</td>" * 60_000 + "</tr></table>"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_is_read_or_refused_at_once(attack: str, tmp_path: Path) -> None:
    name, make = ATTACKS[attack]
    data = make()
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with suppress(IngestError):
        for outcome in read(path, IngestSettings()):
            if isinstance(outcome, Record):
                assert split(outcome.text)


def test_a_word_may_bear_many_marks_but_no_run_is_without_end() -> None:
    from wherefrom.text import clean

    assert clean("e\u0301") == "é"
    assert clean("e\u0316\u0301") == "e\u0316\u0301".replace("e\u0316\u0301", "é\u0316")
    few, many = "a" + "\u0316" * 30, "a" + "\u0316" * 31
    assert clean(few) == few
    assert clean(many) == few + "\u034f\u0316"
    for pair in ("\u0344" * 40, "\ufb1d" + "\u0316" * 30, "a" + "\u0344" * 20):  # two signs each, once composed
        assert clean(clean(pair)) == clean(pair)
    assert clean("─" * 100) == "─" * 100  # signs that are no marks stay alone


def test_an_element_keeps_the_text_in_it_whatever_its_attributes() -> None:
    from wherefrom.ingest.html import read as page

    many = " ".join(f"a{i}='<p>'" for i in range(1_000))
    script = "<script>if (a<b) " + "x " * 1_000 + "</script>"
    text = page(f"<p {many} class='x'>First.</p>{script}<!-- <p {many} --><p>Last.</p>".encode(), "x.html").text
    assert text == "First.\n\nLast."


def test_control_characters_in_a_page_are_left_out_and_the_rest_is_read() -> None:
    from wherefrom.ingest.html import read as page

    rest = b" There is more of it, and nothing else in it is odd." * 20
    body = b"<p>\x01One<nav>a\x02</nav>\x03two\x0b, \x1b[31mthree.</p><form>\x05x</form>\x08Four" + rest
    text = page(body, "x.html").text
    assert "One" in text
    assert "two" in text
    assert "Four" in text


@pytest.mark.parametrize("unit", ["a. ", "東", ".\n"])
def test_what_is_cut_into_millions_of_pieces_is_not_held_in_pieces(unit: str) -> None:
    import tracemalloc

    text = unit * (60_000 // len(unit))
    tracemalloc.start()
    try:
        spans = split(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert spans
    assert peak < 12 * len(text)  # a list of its sentences or words takes forty times the text and more
