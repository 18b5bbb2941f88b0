"""Office files and books that nobody would save: archives of XML that is nearly right, or not at all."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable, Mapping, Sequence

from attack.grammar import in_xml, mutated, page, pumped, text

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"
_OPEN_NAMES = ("office", "text", "table", "draw", "presentation", "style", "meta", "manifest")
_OPEN_SPACES = "".join(f' xmlns:{name}="{_OPEN.format(name)}"' for name in _OPEN_NAMES)
_HEADS = (
    *("",) * 12,
    *('<?xml version="1.0" encoding="UTF-8"?>',) * 4,
    '<?xml version="1.0" encoding="utf-16"?>',
    "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;'>]>",
)
_MOST = 60_000  # characters that one thing comes to again and again
_NUMBERS = ("0", "1", "2", "7", "-1", "", "x", "16384", "999999999", "1e9", "99999999999999999999", "٣", "NaN", "1.5")


def _number(chance: random.Random) -> str:
    return chance.choice(_NUMBERS) if chance.random() < 0.5 else str(chance.randrange(6))


def _said(chance: random.Random, words: int = 8) -> str:
    return in_xml(text(chance, words)).replace('"', "&quot;")


def _some(chance: random.Random, make: Callable[[], str], most: int) -> str:
    """A few of them; now and then one of them thousands of times."""
    if chance.random() < 0.03:
        one = make()
        return one * min(chance.randrange(2, 3000), max(_MOST // max(len(one), 1), 1))
    return "".join(make() for _ in range(chance.randrange(most + 1)))


def _archive(chance: random.Random, parts: Mapping[str, str]) -> bytes:
    """The parts as an archive: one of them bent, lost, there twice or put elsewhere now and then."""
    packed = io.BytesIO()
    names = list(parts)
    bent = chance.choice(names) if chance.random() < 0.3 else ""
    lost = chance.choice(names) if chance.random() < 0.08 else ""
    with zipfile.ZipFile(packed, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in parts.items():
            data = content.encode("utf-8", "replace")
            if name == bent:
                data = mutated(chance, data)
            if name != lost:
                archive.writestr(name, data)
        if chance.random() < 0.05:
            archive.writestr(chance.choice(("../evil.xml", "/evil", "a\x00b", names[0].upper(), "x" * 3000)), "evil")
    return packed.getvalue()


def _relations(chance: random.Random, of: Sequence[tuple[str, str, str]]) -> str:
    """(id, kind, target); a target leads nowhere, out of the archive or back to itself now and then."""
    rows = []
    for id, kind, target in of:
        if chance.random() < 0.02:
            target = chance.choice(("", ".", "..", "../../../etc/passwd", "/", "%00", "https://a/b", "x" * 2000))
        mode = ' TargetMode="External"' * (chance.random() < 0.03)
        rows.append(f'<Relationship Id="{id}" Type="{_OFFICE}/{kind}" Target="{target}"{mode}/>')
    return f'<Relationships xmlns="{_PACKAGE}">{"".join(rows)}</Relationships>'


def _core(chance: random.Random) -> str:
    title = _said(chance, 6)
    return f'<c:coreProperties xmlns:c="c" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></c:coreProperties>'


# ---------------------------------------------------------------------------------------------- slides


def pptx(chance: random.Random) -> bytes:
    slides = range(1, chance.choice((1, 2, 2, 4, 10)) + 1)
    ids = "".join(f'<p:sldId id="{255 + each}" r:id="s{each}"/>' for each in slides)
    if chance.random() < 0.05:
        ids *= 50
    parts = {
        "_rels/.rels": _relations(chance, [("m", "officeDocument", "ppt/presentation.xml")]),
        "ppt/presentation.xml": f'{chance.choice(_HEADS)}<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_OFFICE}"><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": _relations(
            chance, [(f"s{each}", "slide", f"slides/slide{each}.xml") for each in slides]
        ),
        "docProps/core.xml": _core(chance),
    }
    for each in slides:
        related = [("n", "notesSlide", f"../notes/n{each}.xml"), ("d", "diagramData", f"../diagrams/d{each}.xml")]
        parts[f"ppt/slides/_rels/slide{each}.xml.rels"] = _relations(chance, related)
        parts[f"ppt/slides/slide{each}.xml"] = _slide(chance, "sld")
        if chance.random() < 0.4:
            parts[f"ppt/notes/n{each}.xml"] = _slide(chance, "notes")
        if chance.random() < 0.2:
            points = _some(chance, lambda: f"<dgm:pt><dgm:t>{_slide_words(chance)}</dgm:t></dgm:pt>", 4)
            parts[f"ppt/diagrams/d{each}.xml"] = (
                f'<dgm:dataModel xmlns:dgm="d" xmlns:a="{_DRAWING}">{points}</dgm:dataModel>'
            )
    return _archive(chance, parts)


def _slide(chance: random.Random, root: str) -> str:
    shapes = _some(chance, lambda: _shape(chance, 0), 5)
    spaces = f'xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}" xmlns:r="{_OFFICE}" xmlns:mc="mc" xmlns:dgm="d"'
    return f"{chance.choice(_HEADS)}<p:{root} {spaces}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{root}>"


def _shape(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if kind < 0.15 and depth < 5:
        group = chance.choice(("p:grpSp", "mc:AlternateContent", "mc:Fallback", "mc:Choice"))
        return f"<{group}>{_some(chance, lambda: _shape(chance, depth + 1), 3)}</{group}>"
    if kind < 0.3:
        cell = lambda: f'<a:tc gridSpan="{_number(chance)}">{_slide_words(chance)}</a:tc>'  # noqa: E731
        row = lambda: f"<a:tr>{_some(chance, cell, 4)}</a:tr>"  # noqa: E731
        first = f'<a:tblPr firstRow="{_number(chance)}"/>'
        return f"<p:graphicFrame><a:tbl>{first}{_some(chance, row, 4)}</a:tbl></p:graphicFrame>"
    if kind < 0.36:
        return '<p:graphicFrame><dgm:relIds r:dm="d"/></p:graphicFrame>'
    place = chance.choice(("title", "ctrTitle", "body", "subTitle", "obj", "dt", "sldNum", "x", ""))
    holder = f'<p:nvPr><p:ph type="{place}"/></p:nvPr>' if chance.random() < 0.7 else ""
    return f"<p:sp>{holder}<p:txBody>{_slide_words(chance)}</p:txBody></p:sp>"


def _slide_words(chance: random.Random) -> str:
    run = lambda: chance.choice((f"<a:r><a:t>{_said(chance)}</a:t></a:r>", "<a:br/>", "<a:fld><a:t>1</a:t></a:fld>"))  # noqa: E731
    return _some(chance, lambda: f'<a:p><a:pPr lvl="{_number(chance)}"/>{_some(chance, run, 4)}</a:p>', 4)


# ---------------------------------------------------------------------------------------------- sheets

_CODES = (
    "General", "0.00", "#,##0.00 €", "yyyy-mm-dd", "[h]:mm:ss", "mmm dd", "0%", "0.00E+00", "# ?/?", "@", '"a"0;;;@', "[Red]0", "\\",
    "[$-409]d/m/yy h:mm AM/PM;@", "_(* #,##0_)", "0" * 500, "[" * 300, '"' * 301, "?" * 400, "y" * 300, "#," * 300, ";" * 99,
)  # fmt: skip


def xlsx(chance: random.Random) -> bytes:
    sheets = range(1, chance.choice((1, 1, 2, 5)) + 1)
    rows = "".join(
        f'<sheet name="{_said(chance, 3)}" sheetId="{each}" state="{chance.choice(("visible", "visible", "hidden", "x"))}" r:id="s{each}"/>'
        for each in sheets
    )
    era = f'<workbookPr date1904="{chance.choice("01x")}"/>'
    main = f'<workbook xmlns="{_SHEETS}" xmlns:r="{_OFFICE}">{era}<sheets>{rows}</sheets></workbook>'
    related = [(f"s{each}", "worksheet", f"worksheets/sheet{each}.xml") for each in sheets]
    related += [("t", "sharedStrings", "sharedStrings.xml"), ("f", "styles", "styles.xml")]
    parts = {
        "_rels/.rels": _relations(chance, [("m", "officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": chance.choice(_HEADS) + main,
        "xl/_rels/workbook.xml.rels": _relations(chance, related),
        "xl/sharedStrings.xml": f'<sst xmlns="{_SHEETS}">{_some(chance, lambda: _shared_text(chance), 6)}</sst>',
        "xl/styles.xml": _styles(chance),
        "docProps/core.xml": _core(chance),
    }
    for each in sheets:
        data = _some(chance, lambda: _row(chance), 12)
        parts[f"xl/worksheets/sheet{each}.xml"] = (
            f'{chance.choice(_HEADS)}<worksheet xmlns="{_SHEETS}"><sheetData>{data}</sheetData></worksheet>'
        )
        if chance.random() < 0.3:
            note = lambda: f'<comment ref="{_cell_name(chance)}"><text><r><t>{_said(chance)}</t></r></text></comment>'  # noqa: E731
            parts[f"xl/worksheets/_rels/sheet{each}.xml.rels"] = _relations(
                chance, [("c", "comments", f"../c{each}.xml")]
            )
            parts[f"xl/c{each}.xml"] = (
                f'<comments xmlns="{_SHEETS}"><commentList>{_some(chance, note, 4)}</commentList></comments>'
            )
    return _archive(chance, parts)


def _shared_text(chance: random.Random) -> str:
    spoken = f"<rPh><t>{_said(chance, 2)}</t></rPh>" * (chance.random() < 0.2)
    return f"<si><r><t>{_said(chance)}</t></r>{spoken}</si>"


def _styles(chance: random.Random) -> str:
    formats = "".join(
        f'<numFmt numFmtId="{chance.choice((164, 165, 14, 0))}" formatCode="{in_xml(_code(chance)).replace(chr(34), "&quot;")}"/>'
        for _ in range(4)
    )
    fonts = "".join(f'<font><b val="{_number(chance)}"/></font>' for _ in range(3))
    cells = "".join(
        f'<xf numFmtId="{chance.choice((0, 1, 9, 14, 22, 46, 164, 165, -1, 10**12))}" fontId="{_number(chance)}"/>'
        for _ in range(6)
    )
    return f'<styleSheet xmlns="{_SHEETS}"><numFmts>{formats}</numFmts><fonts>{fonts}</fonts><cellXfs>{cells}</cellXfs></styleSheet>'


def _code(chance: random.Random) -> str:
    if chance.random() < 0.6:
        return chance.choice(_CODES)
    return "".join(chance.choice('0#?.,%E+-/ymdhsAMP:;@_*\\"[]$€ ') for _ in range(chance.randrange(1, 60)))


def _cell_name(chance: random.Random) -> str:
    return chance.choice(("A1", "B7", "$C$2", "ZZZ9999999", "XFD1", "", "7", "A", "a1", "É1", "A1:B2"))


def _row(chance: random.Random) -> str:
    at = f' r="{_number(chance)}"' if chance.random() < 0.3 else ""
    return f"<row{at}>{_some(chance, lambda: _cell(chance), 6)}</row>"


def _cell(chance: random.Random) -> str:
    kind = chance.choice(("s", "n", "n", "str", "inlineStr", "b", "e", "d", "x", ""))
    value = chance.choice(
        (
            _number(chance),
            "1e308",
            "-1e308",
            "inf",
            "nan",
            "45000.5",
            "-3",
            "2958466",
            "0.1",
            "1e-320",
            _said(chance, 3),
            "2024-02-30T00:00:00",
        )
    )
    if chance.random() < 0.5:
        value = str(chance.choice((chance.uniform(-1e6, 1e6), chance.uniform(-1, 1), chance.randrange(99999))))
    at = f' r="{_cell_name(chance)}"' if chance.random() < 0.15 else ""
    formula = f"<f>{_said(chance, 2)}</f>" * (chance.random() < 0.1)
    inside = f"<is><t>{_said(chance)}</t></is>" if kind == "inlineStr" else f"<v>{value}</v>"
    return f'<c t="{kind}" s="{_number(chance)}"{at}>{formula}{inside}</c>'


# ------------------------------------------------------------------------------------------ OpenDocument


def odt(chance: random.Random) -> bytes:
    return _open(chance, f"<office:text>{_some(chance, lambda: _block(chance, 0), 8)}</office:text>")


def ods(chance: random.Random) -> bytes:
    return _open(chance, f"<office:spreadsheet>{_some(chance, lambda: _table(chance, 0), 3)}</office:spreadsheet>")


def odp(chance: random.Random) -> bytes:
    return _open(chance, f"<office:presentation>{_some(chance, lambda: _drawn_page(chance), 4)}</office:presentation>")


def _open(chance: random.Random, body: str) -> bytes:
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"{chance.choice(_HEADS)}<office:document-content{_OPEN_SPACES}><office:body>{body}</office:body></office:document-content>",
        "meta.xml": f'<office:document-meta{_OPEN_SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{_said(chance, 5)}</dc:title></office:document-meta>',
    }
    if chance.random() < 0.1:
        secret = "<manifest:encryption-data/>" * (chance.random() < 0.3)
        parts["META-INF/manifest.xml"] = f"<manifest:manifest{_OPEN_SPACES}>{secret}</manifest:manifest>"
    return _archive(chance, parts)


def _block(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if depth < 6 and kind < 0.2:
        item = lambda: f"<text:list-item>{_some(chance, lambda: _block(chance, depth + 1), 3)}</text:list-item>"  # noqa: E731
        return f"<text:list>{_some(chance, item, 4)}</text:list>"
    if depth < 4 and kind < 0.32:
        return _table(chance, depth + 1)
    if depth < 6 and kind < 0.42:
        wrap = chance.choice(
            ("text:section", "text:table-of-content", "text:tracked-changes", "draw:frame", "draw:text-box")
        )
        return f"<{wrap}>{_some(chance, lambda: _block(chance, depth + 1), 3)}</{wrap}>"
    inside = _some(chance, lambda: _inline(chance, depth + 1), 5)
    if kind < 0.6:
        return f'<text:h text:outline-level="{_number(chance)}">{inside}</text:h>'
    return f"<text:p>{inside}</text:p>"


def _inline(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if kind < 0.5 or depth > 7:
        return _said(chance)
    if kind < 0.62:
        return chance.choice(('<text:s text:c="999999999"/>', "<text:tab/>", "<text:line-break/>", "<text:bookmark/>"))
    if kind < 0.63:
        return "<text:span>" * (deep := chance.choice((2, 2, 9, 9, 60, 60, 400))) + "a" + "</text:span>" * deep
    wrap = chance.choice(
        (
            "<text:span>{}</text:span>",
            "<text:a>{}</text:a>",
            "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{}</text:p></text:note-body></text:note>",
            "<office:annotation><text:p>{}</text:p></office:annotation>",
            "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>",
            "<text:ruby><text:ruby-base>{}</text:ruby-base><text:ruby-text>x</text:ruby-text></text:ruby>",
        )
    )
    return wrap.replace("{}", _some(chance, lambda: _inline(chance, depth + 1), 2))


def _table(chance: random.Random, depth: int) -> str:
    def cell() -> str:
        kind = chance.choice(("table-cell", "table-cell", "covered-table-cell"))
        copies = f' table:number-columns-repeated="{_number(chance)}"' if chance.random() < 0.2 else ""
        value = f' office:value-type="{chance.choice(("float", "string", "date", "x"))}"'
        inside = (
            _some(chance, lambda: _block(chance, depth + 1), 2) if depth < 4 else f"<text:p>{_said(chance)}</text:p>"
        )
        return f"<table:{kind}{copies}{value}>{inside}</table:{kind}>"

    def row() -> str:
        copies = f' table:number-rows-repeated="{_number(chance)}"' if chance.random() < 0.2 else ""
        rows = f"<table:table-row{copies}>{_some(chance, cell, 5)}</table:table-row>"
        return f"<table:table-header-rows>{rows}</table:table-header-rows>" if chance.random() < 0.1 else rows

    return f'<table:table table:name="{_said(chance, 2)}">{_some(chance, row, 5)}</table:table>'


def _drawn_page(chance: random.Random) -> str:
    def frame() -> str:
        kind = chance.choice(("title", "outline", "notes", "footer", "x", ""))
        inside = _some(chance, lambda: _block(chance, 2), 3)
        return f'<draw:frame presentation:class="{kind}"><draw:text-box>{inside}</draw:text-box></draw:frame>'

    notes = f"<presentation:notes>{_some(chance, frame, 2)}</presentation:notes>" * (chance.random() < 0.4)
    return f"<draw:page>{_some(chance, frame, 4)}{notes}</draw:page>"


# ------------------------------------------------------------------------------------------------ books


def epub(chance: random.Random) -> bytes:
    chapters = range(chance.choice((1, 2, 3, 8)))
    items = "".join(
        f'<item id="c{each}" href="{chance.choice((f"c{each}.xhtml", f"c{each}.xhtml", f"c{each}.xhtml#x", "../c", "%63.xhtml", ""))}" media-type="{chance.choice(("application/xhtml+xml",) * 4 + ("image/png", ""))}"/>'
        for each in chapters
    )
    items += '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
    items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    spine = "".join(f'<itemref idref="{chance.choice((f"c{each}", f"c{each}", "gone", "nav"))}"/>' for each in chapters)
    about = f"<dc:title>{_said(chance, 5)}</dc:title>{_some(chance, lambda: f'<dc:creator>{_said(chance, 2)}</dc:creator>', 4)}<dc:date>{chance.choice(('2020-01-01', '2020-99-99T', 'x', ''))}</dc:date>"
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'<container><rootfiles><rootfile full-path="{chance.choice(("o/p.opf", "o/p.opf", "o/p.opf", "%6f/p.opf", "", "../p"))}"/></rootfiles></container>',
        "o/p.opf": f'{chance.choice(_HEADS)}<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>{about}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>',
        "o/nav.xhtml": "<html><nav>" + "".join(f'<a href="c{each}.xhtml">{_said(chance, 3)}</a>' for each in chapters) + "</nav></html>",
        "o/toc.ncx": "<ncx>" + _some(chance, lambda: f'<navPoint><navLabel><text>{_said(chance, 3)}</text></navLabel><content src="c0.xhtml"/></navPoint>', 5) + "</ncx>",
    }  # fmt: skip
    for each in chapters:
        parts[f"o/c{each}.xhtml"] = (
            page(chance).decode("utf-8", "replace") if chance.random() < 0.7 else pumped(chance, 20_000)
        )
    if chance.random() < 0.05:
        parts["META-INF/encryption.xml"] = '<e><CipherReference URI="o/c0.xhtml"/></e>'
    return _archive(chance, parts)
