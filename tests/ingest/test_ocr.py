"""Scans and pictures: what is written on them, where the extra is installed; else what to do about it."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest import formats, ocr, pdf
from wherefrom.ingest.ocr import PictureReader, _blocks, _Box, _rows
from wherefrom.ingest.outcome import IngestFailure, Record

Image: Any = pytest.importorskip("PIL.Image", reason="`pip install 'wherefrom[ocr]'` brings Pillow")
ImageDraw: Any = pytest.importorskip("PIL.ImageDraw")
SAMPLE = Path(__file__).parents[2] / "sample" / "library"
needs_extra = pytest.mark.skipif(not ocr.available(), reason="`pip install 'wherefrom[ocr]'` reads scans")


def drawn(path: Path, page: int = 0) -> Any:
    """The upper part of a page of a PDF file, as a scanner gives it: grey, a little askew and soft."""
    import pypdfium2

    sharp = pypdfium2.PdfDocument(path)[page].render(scale=150 / 72).to_pil().convert("L")
    return sharp.rotate(0.4, fillcolor=255, resample=Image.Resampling.BILINEAR).crop((0, 0, 1240, 380))


def scan(*pictures: Any, text: str = "") -> bytes:
    """A PDF file of pictures, and perhaps a page with text before them."""
    document = FPDF(format=(210, 64))
    document.set_font("Helvetica", size=11)
    if text:
        document.add_page()
        document.cell(0, 6, text)
    for picture in pictures:
        document.add_page()
        document.image(picture, 0, 0, 210, 64)
    return bytes(document.output())


def put(path: Path, data: bytes) -> list[Record | IngestFailure]:
    path.write_bytes(data)
    return list(formats.read(path, IngestSettings()))


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


def blank() -> Any:
    return Image.new("L", (600, 800), 255)


@needs_extra
def test_a_scan_is_read_with_its_pages(tmp_path: Path) -> None:
    source = SAMPLE / "history" / "apollo-11.pdf"
    ((record,),) = [put(tmp_path / "scan.pdf", scan(drawn(source), text="A letter came with it."))]
    assert isinstance(record, Record)
    assert [place.label for place in record.places] == ["page 1", "page 2"]
    seen = words(record.text[record.places[1].start :])
    right = seen & words(pdf.read(source.read_bytes(), "x.pdf").text)
    assert sum(seen.values()) > 60
    assert sum(right.values()) > 0.9 * sum(seen.values())
    assert "Neil Armstrong, who commanded, Buzz Aldrin" in record.text


@needs_extra
def test_a_picture_is_read_and_one_without_writing_is_nothing(tmp_path: Path) -> None:
    out = io.BytesIO()
    page = drawn(SAMPLE / "history" / "apollo-11.pdf").crop((0, 0, 1240, 260))
    page.save(out, "TIFF", save_all=True, append_images=[blank()])
    (record,) = put(tmp_path / "old_letter.tif", out.getvalue())
    assert isinstance(record, Record)
    assert record.title == "old letter"
    assert "the first flight to land people on the Moon" in " ".join(record.text.split())
    assert [place.label for place in record.places] == ["page 1"]
    icon = io.BytesIO()
    Image.new("RGBA", (64, 64)).save(icon, "PNG")
    assert put(tmp_path / "icon.png", icon.getvalue()) == []
    plot = io.BytesIO()
    lines = Image.new("L", (640, 480), 255)
    ImageDraw.Draw(lines).line([(40, 440), (600, 440), (600, 40)], fill=0, width=3)
    ImageDraw.Draw(lines).text((300, 445), "1", fill=0, font_size=30)
    lines.save(plot, "PNG")
    assert put(tmp_path / "plot.png", plot.getvalue()) == []  # the tick of an axis is no writing
    with pytest.raises(IngestError, match="it is damaged, or not a picture"):
        put(tmp_path / "broken.jpg", b"\xff\xd8\xff" + bytes(1000))


@needs_extra
def test_pages_that_no_time_is_left_for_are_named() -> None:
    assert pdf.read(scan(blank(), text="Words."), "x.pdf", PictureReader(0.0)).complaints == (
        ("page 2", "no time was left to read what is written there; raise ingest.seconds_per_file"),
    )


def test_without_the_extra_a_scan_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "available", lambda: False)
    remedy = re.escape("`pip install 'wherefrom[ocr]'` reads what is written on it")
    with pytest.raises(IngestError, match=f"it holds no text, only pictures; {remedy}"):
        put(tmp_path / "scan.pdf", scan(blank()))
    record, failure = put(tmp_path / "mixed.pdf", scan(blank(), text="Words."))
    assert isinstance(record, Record)
    assert record.text == "Words."
    assert isinstance(failure, IngestFailure)
    assert "1 of its pages hold pictures alone; `pip install" in failure.reason
    out = io.BytesIO()
    blank().save(out, "PNG")
    with pytest.raises(IngestError, match=f"it is a picture; {remedy}"):
        put(tmp_path / "a.png", out.getvalue())
    assert formats.kind_of(tmp_path / "a.png") is None


def test_pictures_can_be_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "available", lambda: True)
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    assert formats.kind_of(tmp_path / "a.png", pictures=False) is None
    with pytest.raises(IngestError, match=r"`--set ingest.ocr=true` reads"):
        list(formats.read(tmp_path / "a.png", IngestSettings(ocr=False)))


def test_an_upload_that_is_no_picture_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "available", lambda: True)
    (tmp_path / "a.png").write_bytes(b"words")
    with pytest.raises(IngestError, match="it is not a picture, whatever its name says"):
        formats.borne_out(tmp_path / "a.png")


def test_columns_are_read_one_after_the_other_and_rows_of_a_table_as_lines() -> None:
    def line(text: str, left: float, top: float) -> _Box:
        return _Box(text, left, top, left + 100, top + 10)

    page = [line("Title", 60, 0), *(line(f"l{row}", 0, 30 + 12 * row) for row in range(4))]
    page += [line(f"r{row}", 130, 33 + 12 * row) for row in range(4)]
    assert [[box.text for box in block] for block in _blocks(page)] == [
        ["Title"],
        ["l0", "l1", "l2", "l3"],
        ["r0", "r1", "r2", "r3"],
    ]
    table = [line("Rent", 0, 0), line("500", 150, 1), line("Water", 0, 12), line("30", 150, 11)]
    (block,) = _blocks(table)
    assert [[box.text for box in row] for row in _rows(block)] == [["Rent", "500"], ["Water", "30"]]
