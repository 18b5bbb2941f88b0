"""Render sources/ into the PDF and Word files of the sample library, always to the same bytes."""

from __future__ import annotations

import argparse
import io
import re
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import docx
from fpdf import FPDF
from fpdf.enums import XPos, YPos

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
LIBRARY = HERE / "library"
MADE_ON = datetime(2024, 1, 1, 12, 0, 0, tzinfo=UTC)
ZIP_TIME = (2024, 1, 1, 12, 0, 0)
PAGE_BREAK = "<!-- page -->"
WORD_LISTS = {"bullets": "List Bullet", "numbers": "List Number"}


@dataclass
class Block:
    """One piece of an article: a heading, a paragraph, a list, a table or a page break."""

    kind: str
    lines: list[str] = field(default_factory=list)
    level: int = 0

    @property
    def text(self) -> str:
        return " ".join(self.lines)

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table, without the dashed line under its head."""
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in self.lines]
        return [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]


@dataclass
class Article:
    """A source text taken apart."""

    fields: dict[str, str]
    blocks: list[Block]

    @property
    def title(self) -> str:
        return self.fields["title"]

    @property
    def author(self) -> str:
        return self.fields.get("author", "")


def read_article(path: Path) -> Article:
    """Read the front matter and the blocks of a source text."""
    _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
    fields: dict[str, str] = {}
    for line in front.splitlines():
        key, _, value = line.partition(":")
        fields[key.strip()] = value.strip().strip('"')
    return Article(fields, [read_block(part) for part in re.split(r"\n\s*\n", body.strip())])


def read_block(text: str) -> Block:
    """Tell what kind of block a run of lines is."""
    lines = [line.strip() for line in text.strip().splitlines()]
    first = lines[0]
    if first == PAGE_BREAK:
        return Block("page")
    if first.startswith("#"):
        marks, _, heading = first.partition(" ")
        return Block("heading", [heading], len(marks))
    if first.startswith("|"):
        return Block("table", lines)
    if first.startswith("- "):
        return Block("bullets", [line.removeprefix("- ") for line in lines])
    if re.match(r"\d+\. ", first):
        return Block("numbers", [re.sub(r"^\d+\. ", "", line) for line in lines])
    return Block("paragraph", lines)


class Sheet(FPDF):
    """A PDF with an optional running header and footer."""

    def __init__(self, article: Article) -> None:
        super().__init__(format="A4")
        self.article = article
        self.set_title(article.title)
        self.set_author(article.author)
        self.set_creator("wherefrom sample library")
        self.set_producer("wherefrom sample library")
        self.set_creation_date(MADE_ON)
        self.set_margins(25, 22, 25)
        self.set_auto_page_break(True, margin=25)

    def header(self) -> None:
        self.running_line("header", 10)

    def footer(self) -> None:
        self.running_line("footer", -15)

    def running_line(self, name: str, y: float) -> None:
        """Print the header or footer named in the front matter, if there is one."""
        text = self.article.fields.get(name)
        if text:
            self.set_y(y)
            self.set_font("Helvetica", size=9)
            self.cell(0, 6, text.format(page=self.page_no()), align="C")
            self.set_y(max(y, 0) + 12)

    def lay(self, text: str, height: float, indent: float = 0) -> None:
        """Print one paragraph, ragged on the right so that words keep plain spaces."""
        self.set_x(self.l_margin + indent)
        self.multi_cell(0, height, text, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def lay_block(self, block: Block) -> None:
        """Print one block of the article."""
        if block.kind == "page":
            self.add_page()
            return
        if block.kind == "heading":
            size = {1: 20.0, 2: 14.0}.get(block.level, 12.0)
            self.set_font("Helvetica", style="B", size=size)
            self.lay(block.text, size * 0.5)
            self.ln(2)
            return
        self.set_font("Times", size=12)
        if block.kind == "paragraph":
            self.lay(block.text, 6)
        elif block.kind == "table":
            with self.table() as table:
                for cells in block.rows:
                    table.row(cells)
        else:
            for number, line in enumerate(block.lines, start=1):
                mark = "-" if block.kind == "bullets" else f"{number}."
                self.lay(f"{mark} {line}", 6, indent=5)
        self.ln(3)


def render_pdf(article: Article) -> bytes:
    """Render an article as PDF, in the core fonts and so within Latin-1."""
    sheet = Sheet(article)
    sheet.add_page()
    for block in article.blocks:
        sheet.lay_block(block)
    return bytes(sheet.output())


def render_docx(article: Article) -> bytes:
    """Render an article as a Word document, which breaks its own pages."""
    document = docx.Document()
    properties = document.core_properties
    properties.title = article.title
    properties.author = article.author
    properties.last_modified_by = article.author
    properties.comments = ""
    properties.revision = 1
    properties.created = MADE_ON.replace(tzinfo=None)
    properties.modified = MADE_ON.replace(tzinfo=None)
    for block in article.blocks:
        if block.kind == "heading":
            document.add_heading(block.text, level=block.level)
        elif block.kind == "paragraph":
            document.add_paragraph(block.text)
        elif block.kind == "table":
            rows = block.rows
            table = document.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
            for row, cells in zip(table.rows, rows, strict=True):
                for cell, text in zip(row.cells, cells, strict=True):
                    cell.text = text
        elif block.kind in WORD_LISTS:
            for line in block.lines:
                document.add_paragraph(line, style=WORD_LISTS[block.kind])
    raw = io.BytesIO()
    document.save(raw)
    return fix_zip(raw.getvalue())


def fix_zip(data: bytes) -> bytes:
    """Pack a zip file again with one fixed time stamp on every member."""
    fixed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(fixed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new,
    ):
        for name in old.namelist():
            member = zipfile.ZipInfo(name, ZIP_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = 0o644 << 16
            new.writestr(member, old.read(name))
    return fixed.getvalue()


def render_all(sources: Path, library: Path) -> list[Path]:
    """Render every source text; name.pdf.md becomes name.pdf and name.docx.md becomes name.docx."""
    written = []
    for source in sorted(sources.rglob("*.md")):
        target = library / source.relative_to(sources).with_suffix("")
        render = {".pdf": render_pdf, ".docx": render_docx}[target.suffix]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(render(read_article(source)))
        written.append(target)
    return written


def main() -> None:
    """Render into the library, or into another folder named on the command line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("library", nargs="?", type=Path, default=LIBRARY)
    for path in render_all(SOURCES, parser.parse_args().library):
        print(path)


if __name__ == "__main__":
    main()
