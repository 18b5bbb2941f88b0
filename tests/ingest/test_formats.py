"""Every file is told apart, read by the right reader, and refused in plain words when it cannot be."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import lzma
import os
import random
import zipfile
from pathlib import Path

import docx
import pytest
from fpdf import FPDF
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest.formats import SUFFIXES, IngestFailure, Record, in_folder, kind_of, read
from wherefrom.types import Place

HTML = b"<!DOCTYPE html><html><head><title>Page</title></head><body><p>Words here.</p></body></html>"
WIKIPEDIA = b'<doc id="12" url="u" title="Anarchism">\nAnarchism\n\nWords.\n</doc>\n'
JSONL = b'{"id": 1, "title": "T", "text": "Words."}\n'
NOISE = random.Random(7).randbytes(4000)


def pdf_file() -> bytes:
    document = FPDF()
    document.add_page()
    document.set_font("Helvetica")
    document.cell(0, 6, "Words on paper")
    return bytes(document.output())


def docx_file() -> bytes:
    out = io.BytesIO()
    document = docx.Document()
    document.add_paragraph("Words in Word")
    document.save(out)
    return out.getvalue()


def zip_file() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as parts:
        parts.writestr("things/list.xml", "<x/>")
    return out.getvalue()


def all_of(path: Path, megabytes: float = 1.0) -> list[Record | IngestFailure]:
    return list(read(path, IngestSettings(max_megabytes=megabytes)))


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b"words", "txt"),
        ("a.TEXT", b"words", "txt"),
        ("a.md", b"# words", "markdown"),
        ("a.markdown", b"words", "markdown"),
        ("a.htm", b"words", "html"),
        ("a.xhtml", b"words", "html"),
        ("a.pdf", b"broken", "pdf"),
        ("a.docx", b"broken", "docx"),
        ("a.jsonl", b"{}", "jsonl"),
        ("a.ndjson", b"{}", "jsonl"),
        ("a.txt.gz", gzip.compress(b"words", mtime=0), "txt"),
        ("a.jsonl.xz", lzma.compress(JSONL), "jsonl"),
        ("a.html.gz", b"not packed at all", "html"),
        ("a.csv", b"a,b\n1,2\n", "csv"),
        ("a.xlsx", zip_file(), "xlsx"),  # reading it will say that it is none
        # the content tells
        ("wiki_00", WIKIPEDIA, "wikipedia"),
        ("wiki_00", b"\xef\xbb\xbf\n" + WIKIPEDIA, "wikipedia"),
        ("wiki_00.gz", gzip.compress(WIKIPEDIA, mtime=0), "wikipedia"),
        ("wiki_00.txt", WIKIPEDIA, "wikipedia"),
        ("wiki_00", JSONL, "jsonl"),
        ("wiki_00", b'{"id": "1", "text": "' + b"x" * 100_000 + b'"}\n', "jsonl"),
        ("data.json", JSONL * 2, "jsonl"),
        ("paper.txt", pdf_file(), "pdf"),
        ("paper", pdf_file(), "pdf"),
        ("paper.bak", pdf_file(), "pdf"),
        ("letter", docx_file(), "docx"),
        ("letter.md", docx_file(), "docx"),
        ("page.txt", HTML, "html"),
        ("page", b"<!-- saved -->\n" + HTML, "html"),
        ("page.php", b'<?xml version="1.0"?>\n<html lang="en">', "html"),
        ("README", b"plain words", "txt"),
        ("README", "viele Wörter".encode("utf_16"), "txt"),
        ("README", "Москва - столица России и большой город.".encode()[:-1], "txt"),
        ("Letter to Dr. Smith", b"plain words", "txt"),
        # nothing to read
        ("a.json", b'[{"text": "x"}]', None),
        ("a.json", b'{\n  "text": "x"\n}', None),
        ("a.py", b"print('words')", None),
        ("a.log", b"words", None),
        ("a.doc", b"\xd0\xcf\x11\xe0" + NOISE, None),
        ("a.gif", b"\x89PNG\r\n\x1a\n" + NOISE, None),
        ("a.zip", zip_file(), None),
        ("a.tar.gz", gzip.compress(b"words", mtime=0), None),
        ("program", b"\x7fELF" + NOISE, None),
        ("script", b"#!/bin/sh\necho words\n", None),
        ("feed", b"<?xml version='1.0'?><rss/>", None),
        ("letter", b"{\\rtf1 words}", None),
        ("archive", zip_file(), None),
        ("empty", b"", None),
        (".profile", b"words", None),
    ],
)
def test_which_format_a_file_is_in(tmp_path: Path, name: str, data: bytes, kind: str | None) -> None:
    assert kind_of(put(tmp_path / name, data)) == kind


def test_a_missing_file_is_judged_by_its_name(tmp_path: Path) -> None:
    assert kind_of(tmp_path / "gone.pdf") == "pdf"
    assert kind_of(tmp_path / "gone") is None
    assert kind_of(tmp_path) is None


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize(
    ("name", "data", "record"),
    [
        ("old_bridge.txt", b"Words.", Record(None, "old bridge", "Words.")),
        ("a.md", b"# Bridge\n\nWords.", Record(None, "Bridge", "Bridge\n\nWords.")),
        ("a.html", HTML, Record(None, "Page", "Words here.")),
        ("a.pdf", pdf_file(), Record(None, "a", "Words on paper", places=(Place(0, "page 1", 1),))),
        ("a.docx", docx_file(), Record(None, "a", "Words in Word")),
        ("a.jsonl", JSONL, Record("1", "T", "Words.", "line 1")),
        ("wiki_00", WIKIPEDIA, Record("12", "Anarchism", "Words.", "line 1", "u")),
    ],
)
def test_every_format_is_read_packed_or_not(tmp_path: Path, name: str, data: bytes, record: Record, pack) -> None:
    assert all_of(put(tmp_path / name, pack(data))) == [record]


def test_texts_and_titles_are_cleaned(tmp_path: Path) -> None:
    decomposed = "Cafe\u0301\u0000 line\r\nnext\x0bpage"
    data = json.dumps({"title": "A\n  title \u0007 cafe\u0301", "text": decomposed}).encode()
    assert all_of(put(tmp_path / "a.jsonl", data)) == [Record(None, "A title café", "Café line\nnext\npage", "line 1")]


def test_a_record_of_control_characters_only_is_a_failure(tmp_path: Path) -> None:
    data = b'{"text": "\\u0000\\u0001"}\n' + JSONL
    assert all_of(put(tmp_path / "a.jsonl", data)) == [
        IngestFailure("a.jsonl:1", "its text is empty"),
        Record("1", "T", "Words.", "line 2"),
    ]


def test_an_endless_title_is_cut(tmp_path: Path) -> None:
    data = json.dumps({"title": "word " * 1000, "text": "x"}).encode()
    assert len(all_of(put(tmp_path / "a.jsonl", data))[0].title) <= 301


@pytest.mark.parametrize("suffix", [*SUFFIXES, ""])
def test_an_empty_file_of_any_kind_is_empty(tmp_path: Path, suffix: str) -> None:
    for data in (b"", gzip.compress(b"", mtime=0)):
        with pytest.raises(IngestError, match=r"^it is empty$"):
            all_of(put(tmp_path / f"a{suffix}", data))


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.jsonl"])
def test_a_file_of_white_space_is_empty(tmp_path: Path, name: str) -> None:
    with pytest.raises(IngestError, match=r"^it is empty$"):
        all_of(put(tmp_path / name, b" \r\n\t\n"))


def test_a_web_page_without_words_is_empty(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"^it is empty$"):
        all_of(put(tmp_path / "a.html", b"<html><body><script>x()</script></body></html>"))


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.pdf", "a.docx"])
def test_a_document_over_the_limit_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(IngestError, match=r"longer than 0\.01 MB; raise ingest\.max_megabytes"):
        all_of(put(tmp_path / name, b"some words\n" * 2000), megabytes=0.01)


def test_the_limit_holds_for_records_not_for_the_files_that_hold_them(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", JSONL * 1000 + json.dumps({"text": "x" * 20_000}).encode() + b"\n" + JSONL)
    outcomes = all_of(path, megabytes=0.01)
    assert len(outcomes) == 1002
    assert outcomes[1000].name == "a.jsonl:1001"
    assert isinstance(outcomes[1001], Record)


def test_records_before_a_break_in_packed_data_are_still_given(tmp_path: Path) -> None:
    chance = random.Random(1)
    lines = b"".join(json.dumps({"text": chance.randbytes(200).hex()}).encode() + b"\n" for _ in range(5000))
    packed = gzip.compress(lines)
    records: list[Record | IngestFailure] = []

    def read_all() -> None:
        for outcome in read(put(tmp_path / "a.jsonl.gz", packed[:-5000]), IngestSettings()):
            records.append(outcome)  # noqa: PERF402  what came before the error is the point

    with pytest.raises(IngestError, match="damaged or cut off"):
        read_all()
    assert len(records) > 1000


@pytest.mark.parametrize("name", ["a.txt", "a.pdf", "a.docx", "a.md", "a.html"])
def test_noise_with_the_right_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(IngestError, match=r"damaged|not text"):
        all_of(put(tmp_path / name, NOISE))


def test_a_format_that_is_not_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="in no format that wherefrom reads"):
        all_of(put(tmp_path / "a.gif", b"\x89PNG\r\n\x1a\n" + NOISE))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "gone.txt")
    for name, reason in [("folder.txt", "a folder"), ("link.txt", "a link to a file"), ("gone.txt", "not there")]:
        with pytest.raises(IngestError, match=reason):
            all_of(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
@pytest.mark.parametrize("name", ["a.txt", "README"])
def test_a_file_without_permission_is_not_passed_over(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, b"secret")
    path.chmod(0)
    assert kind_of(path) == "txt"
    with pytest.raises(IngestError, match="permission denied"):
        all_of(path)


def test_progress_reaches_the_size_of_the_file(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", JSONL * 10_000)
    seen: list[int] = []
    assert len(list(read(path, IngestSettings(), seen.append))) == 10_000
    assert seen[-1] == path.stat().st_size


BEGINNINGS = [
    b"",
    b"%PDF-1.7\n",
    b"PK\x03\x04",
    b"\xd0\xcf\x11\xe0",
    b"<html><body>",
    b"<doc id='1'>",
    b'<doc id="1">\n',
    b'{"text": "',
    b"---\ntitle: x\n---\n",
    b"\x1f\x8b\x08",
    b"\xfd7zXZ\x00",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"| a |\n|---|\n",
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suffix=st.sampled_from([*SUFFIXES, "", ".txt.gz", ".pdf.xz", ".bin"]),
    beginning=st.sampled_from(BEGINNINGS),
    rest=st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf_8", "ignore")),
)
def test_any_bytes_under_any_suffix_are_read_or_refused(
    tmp_path: Path, suffix: str, beginning: bytes, rest: bytes
) -> None:
    path = put(tmp_path / f"a{suffix}", beginning + rest)
    with contextlib.suppress(IngestError):
        for outcome in all_of(path):
            assert isinstance(outcome, Record | IngestFailure)
            if isinstance(outcome, Record):
                assert outcome.text.strip()
                outcome.text.encode()
                outcome.title.encode()


@pytest.mark.parametrize(
    ("path", "title", "expected"),
    [
        ("node_modules/serve/readme.md", "Usage", "serve: Usage"),
        ("node_modules/serve/docs/CHANGELOG.md", "Changelog", "serve: Changelog"),
        ("node_modules/p-limit/readme.md", "p-limit", "p-limit"),
        ("projects/fail2ban/README", "Fail2Ban: ban hosts", "Fail2Ban: ban hosts"),
        ("house/boiler.txt", "The boiler", "The boiler"),
        ("readme.md", "Usage", "Usage"),
    ],
)
def test_a_file_that_every_folder_has_is_told_by_its_folder(path: str, title: str, expected: str) -> None:
    assert in_folder(title, Path(path)) == expected
