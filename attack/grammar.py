"""Files that nobody would write: text, pages, records, Word and PDF by their own grammars, bent; and any bytes mutated."""

from __future__ import annotations

import html.entities
import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable, Sequence

Make = Callable[[random.Random], bytes]

MOST_BYTES = 60_000  # of a generated file: small files that take long are what is looked for

_WORDS = (
    "boiler Marta Ivo garden the of in 1997 Dr. Mr. e.g. U.S. J. R. R. 3.5 17:30 well-known naïve Zoë Ångström 東京 "
    "ไทย नमस्ते مرحبا שלום — … “quoted” 'tis & < > \" ' \\ / | * _ # ` ~ [ ] ( ) { } ! ? . , ; : - + = @ % ^ $"
).split(" ")
_ODD = (
    "\x00 \x01 \x08 \x0b \x0c \x1b \x1b[31m \x1b]0;title\x07 \x7f \x80 \x85 \x9b \xa0 \xad \u0300 \u0301\u0301\u0301 "
    "\u034f \u061c \u115f \u200b \u200d \u200e \u2028 \u2029 \u202e \u2066 \u2069 \u3000 \ufdd0 \ufeff \ufffd \uffff "
    "\U0001f468\u200d\U0001f469 \U000e0001 \U000e0041 \U0010ffff \u1100\u1161\u11a8 \uac00 \u0f71\u0f72 e\u0301 \u212b ﬁ ẞ İ ı "
    "\ud800 \udfff \ud83d"
).split(" ")
_PUMPED = (
    ". ! ? .. ... \n \r \r\n \t \x0b \x0c \x85 \u2028 \xa0 \u200b a A 1 . 1. a. A. \u0301 \u0300\u0301 \u0345 \u3042 \uac00 "
    "( ) [ ] [a]( ![ ** __ * _ ` ``` ~~ ~ > - + 1) | |- # = --- \\ & &amp; &# < > </ <a <!-- --> <!----> <b> <i><b> <div> "
    '<td> <tr><td> <p> <br> <a a=a> <![CDATA[ <? ?> " \' "" { } [[ {{ : , , " \\\\ \\u \\ud800 <doc  </doc> title=" Mr. '
    "Dr.  .a  a.  .\n \n. \n\n a\n\nb \"\n ” ’ ) ).) -- — a-b a'b @ a@b . https:// www. x:y 0, 0. -1"
).split(" ")


def text(chance: random.Random, words: int = 60) -> str:
    """Words with odd characters between them, and now and then one thing a thousand times."""
    parts = []
    for _ in range(chance.randrange(1, words)):
        kind = chance.random()
        if kind < 0.80:
            parts.append(chance.choice(_WORDS))
        elif kind < 0.92:
            parts.append(chance.choice(_ODD))
        elif kind < 0.95:
            parts.append(
                chr(chance.choice((chance.randrange(0x250), chance.randrange(0x11000), chance.randrange(0x110000))))
            )
        else:
            parts.append(chance.choice(("\n", "\n\n", ". ", ".\n", "? ", "\t")))
    if chance.random() < 0.08:
        parts.insert(chance.randrange(len(parts) + 1), pumped(chance))
    return chance.choice((" ", " ", " ", "")).join(parts)


def pumped(chance: random.Random, most: int = MOST_BYTES) -> str:
    """A few signs again and again: what is slower than its length shows here."""
    unit = "".join(chance.choice(_PUMPED) for _ in range(chance.randrange(1, 4)))
    return unit * chance.randrange(2, max(3, int(most ** chance.uniform(0.3, 1.0)) // max(len(unit), 1)))


def encoded(chance: random.Random, said: str) -> bytes:
    encoding = chance.choice(
        ("utf_8",) * 8
        + (
            "utf_8_sig",
            "utf_16",
            "utf_16_le",
            "utf_16_be",
            "utf_32",
            "cp1252",
            "cp1251",
            "gb18030",
            "euc_jp",
            "iso2022_jp",
            "utf_7",
        )
    )
    if encoding.startswith("utf"):
        return said.encode(encoding, "surrogatepass" if encoding != "utf_7" else "replace")
    return said.encode(encoding, "ignore")


def plain(chance: random.Random) -> bytes:
    return encoded(chance, "\n".join(text(chance) for _ in range(chance.randrange(1, 8))))


# ----------------------------------------------------------------------------------------------- markdown


def markdown(chance: random.Random) -> bytes:
    front = ""
    if chance.random() < 0.3:
        fence = chance.choice(("---", "+++"))
        front = f"{fence}\n{chance.choice(('title', 'date', 'updated', 'x'))}{chance.choice((':', ' =', ':  |'))} {text(chance, 6)}\n{fence}\n"
    return encoded(chance, front + "\n".join(_block(chance, 0) for _ in range(chance.randrange(1, 10))))


def _block(chance: random.Random, depth: int) -> str:
    def inner() -> str:
        return _block(chance, depth + 1) if depth < 5 else text(chance, 8)

    line = text(chance, 12).replace("\n", " ")
    blocks: tuple[Callable[[], str], ...] = (
        lambda: f"{'#' * chance.randrange(1, 8)} {line}",
        lambda: f"{line}\n{chance.choice('=-') * chance.randrange(1, 90)}",
        lambda: "\n".join(
            f"{' ' * chance.randrange(5)}{chance.choice(('-', '*', '+', '1.', '99999999999.', '0)'))} {inner()}"
            for _ in range(chance.randrange(1, 5))
        ),
        lambda: "\n".join(f"> {part}" for part in inner().split("\n")),
        lambda: f"{chance.choice(('```', '~~~', '````'))}{line}\n{text(chance)}\n```",
        lambda: (
            f"| {' | '.join(text(chance, 3) for _ in range(chance.randrange(1, 6)))} |\n|{'---|' * chance.randrange(1, 6)}\n| {line} | {line} |"
        ),
        lambda: f'[{line}]({text(chance, 3)} "{line}") ![{inner()}](<{line}>) [{line}][{line}]\n\n[{line}]: {line}',
        lambda: f"**{line}** __{line}__ *{inner()}* ~~{line}~~ `{line}` <{line}> &{line};",
        lambda: _element(chance, depth + 1),
        lambda: pumped(chance),
        lambda: "    " * chance.randrange(1, 4) + line,
        lambda: line,
    )
    return chance.choice(blocks)()


# --------------------------------------------------------------------------------------------------- html

_TAGS = (
    "html head body title meta p div span a b i em strong h1 h2 h6 ul ol li dl dt dd table thead tbody tr th td caption "
    "br hr img pre code script style noscript template svg math iframe nav header footer aside main article section form "
    "input select option textarea button ruby rt blockquote center font frameset object video x-odd main1 o:p xml base"
).split(" ")
_ATTRIBUTES = "class id href src style hidden aria-hidden role colspan rowspan lang charset content name onclick xmlns data-x title alt".split(
    " "
)
_VALUES = (
    "display:none",
    "-1",
    "99999999999",
    "0",
    "",
    "navigation",
    "utf-7",
    "text/html; charset=x",
    "comment",
    "hidden",
    "javascript:x",
    "sr-only",
)


def page(chance: random.Random) -> bytes:
    said = "".join(_element(chance, 0) for _ in range(chance.randrange(1, 6)))
    head = chance.choice(
        (
            "",
            "<!doctype html>",
            "<?xml version='1.0' encoding='x'?>",
            "<html><head><title>T</title></head><body>",
            "<!----><!-- a --><html>",
            "<html lang=en>",
            "\ufeff<html>",
        )
    )
    return encoded(chance, head + said)


def _element(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if kind < 0.25 or depth > 6:
        return text(chance, 12)
    if kind < 0.33:
        return chance.choice(
            (
                f"<!--{text(chance, 5)}-->",
                f"<!-- {text(chance, 3)}",
                f"<![CDATA[{text(chance, 4)}]]>",
                f"<?{text(chance, 3)}>",
                f"<!{text(chance, 3)}>",
                f"</{chance.choice(_TAGS)}>",
            )
        )
    if kind < 0.42:
        name = chance.choice(list(html.entities.html5))
        return chance.choice(
            (
                f"&{name}",
                f"&#{chance.randrange(1 << 24)};",
                f"&#x{chance.randrange(1 << 24):x}",
                "&#0;",
                "&#xd800;",
                "&#128;",
                "&#1;",
            )
        )
    if kind < 0.46:
        return pumped(chance)
    if kind < 0.49:
        tag = chance.choice(_TAGS)
        return f"<{tag}>" * chance.randrange(2, 3000)
    tag = chance.choice(_TAGS)
    given = _attributes(chance)
    inside = "".join(_element(chance, depth + 1) for _ in range(chance.randrange(4)))
    return f"<{tag}{given}>{inside}" + (f"</{tag}>" if chance.random() < 0.85 else "")


def _attributes(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3, 400))):
        quote = chance.choice(('"', "'", ""))
        value = chance.choice(_VALUES) if chance.random() < 0.7 else text(chance, 3)
        name = chance.choice(_ATTRIBUTES) if chance.random() < 0.9 else f"a{chance.randrange(10**6)}"
        parts.append(f" {name}{chance.choice(('=', '=', ' = ', ''))}{quote}{value}{quote}")
    return "".join(parts)


# ------------------------------------------------------------------------------------- json lines and wikipedia


def json_lines(chance: random.Random) -> bytes:
    lines = []
    for _ in range(chance.randrange(1, 8)):
        row: dict[str, object] = {"id": _value(chance, 0), "title": _value(chance, 0), "text": text(chance)}
        for name in chance.sample(("id", "title", "text", "date", "url", "contents", "x"), chance.randrange(4)):
            row[name] = _value(chance, 0)
        if chance.random() < 0.5:
            row["text"] = text(chance)
        line = json.dumps(row, ensure_ascii=chance.random() < 0.5, allow_nan=True)
        if chance.random() < 0.1:
            line = line.replace('"text"', '"text": 1, "text"', 1)
        if chance.random() < 0.08:
            line = chance.choice(
                (
                    "[" * 5000,
                    '{"text": ' * 3000,
                    '{"text": "' + "\\ud800" * 50 + '"}',
                    "1e999999",
                    '{"text": 1' + "0" * 5000 + "}",
                    "null",
                    "\x00",
                    line[: len(line) // 2],
                )
            )
        lines.append(line)
    return encoded(chance, chance.choice(("\n", "\n", "\r\n", "\n\n", "\r")).join(lines))


def _value(chance: random.Random, depth: int) -> object:
    kind = chance.randrange(11)
    if kind < 4:
        return text(chance, 4)
    if kind == 4:
        return chance.choice((0, -1, 10**30, 1.5, float("nan"), float("inf"), 2**63))
    if kind == 5:
        return chance.choice((None, True, False, "", " ", "\x00", "a#1", "../x", "\ud800", "x" * 3000))
    if depth < 3 and kind == 6:
        return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if depth < 3 and kind == 7:
        return {str(_value(chance, 3)): _value(chance, depth + 1) for _ in range(chance.randrange(4))}
    return text(chance, 8)


def wikipedia(chance: random.Random) -> bytes:
    parts = []
    for number in range(chance.randrange(1, 5)):
        id = chance.choice((str(number), text(chance, 2), "", "1", '"'))
        title = text(chance, 4).replace("\n", " ")
        end = chance.choice((">", " >", "/>", "", " x='1'>"))
        head = f'<doc id="{id}" url="{chance.choice(("https://a/b", title))}" title="{title}"{end}'
        body = chance.choice(
            (f"{title}\n\n{text(chance)}", text(chance), "", pumped(chance), f"&lt;{text(chance, 5)}&#0;")
        )
        parts.append(f"{head}\n{body}\n{chance.choice(('</doc>', '</doc>', '</doc>', '</doc', ''))}\n")
    return encoded(chance, "".join(parts))


# ---------------------------------------------------------------------------------------------------- docx

_CONTENT_TYPES = """<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
_RELS = """<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"""
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(chance: random.Random) -> bytes:
    body = "".join(_paragraph(chance, 0) for _ in range(chance.randrange(1, 8)))
    head = chance.choice(
        (
            "",
            "<?xml version='1.0' encoding='UTF-8'?>",
            "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;'>]>",
        )
    )
    document = f'{head}<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    parts = {"[Content_Types].xml": _CONTENT_TYPES, "_rels/.rels": _RELS, "word/document.xml": document}
    if chance.random() < 0.3:
        parts[
            chance.choice(
                ("word/styles.xml", "word/numbering.xml", "docProps/core.xml", "../evil", "word/document.xml.rels")
            )
        ] = text(chance)
    if chance.random() < 0.1:
        parts.pop(chance.choice(list(parts)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in parts.items():
            archive.writestr(name, content.encode("utf-8", "replace"))
    return packed.getvalue()


def in_xml(said: str) -> str:
    return (
        "".join(c for c in said if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe")
        .replace("&", "&amp;")
        .replace("<", "&lt;")
    )


def _run(chance: random.Random) -> str:
    inside = chance.choice(
        (
            f"<w:t xml:space='preserve'>{in_xml(text(chance, 8))}</w:t>",
            "<w:tab/>",
            "<w:br/>",
            "<w:cr/>",
            "<w:noBreakHyphen/>",
            "<w:fldChar w:fldCharType='begin'/>",
            "<w:instrText>PAGE</w:instrText>",
            "<w:footnoteReference w:id='1'/>",
            "<w:delText>gone</w:delText>",
            "<w:vanish/>",
        )
    )
    run = f"<w:r>{'<w:rPr><w:vanish/></w:rPr>' * (chance.random() < 0.1)}{inside}</w:r>"
    return run * (chance.randrange(1, 3000) if chance.random() < 0.02 else 1)


def _paragraph(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if depth < 5 and kind < 0.2:
        return f"<w:tbl>{_cells(chance, depth)}</w:tbl>"
    wrap = chance.choice(
        (
            "{}",
            "{}",
            "{}",
            "<w:ins>{}</w:ins>",
            "<w:del>{}</w:del>",
            "<w:hyperlink>{}</w:hyperlink>",
            "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>",
            "<w:smartTag>{}</w:smartTag>",
        )
    )
    runs = wrap.replace("{}", "".join(_run(chance) for _ in range(chance.randrange(5))))
    style = chance.choice(
        (
            "",
            "<w:pPr><w:pStyle w:val='Heading1'/></w:pPr>",
            "<w:pPr><w:numPr><w:ilvl w:val='9999'/><w:numId w:val='-3'/></w:numPr></w:pPr>",
            "<w:pPr><w:pStyle/></w:pPr>",
            "<w:pPr><w:numPr><w:ilvl w:val='x'/></w:numPr></w:pPr>",
        )
    )
    return f"<w:p>{style}{runs}</w:p>"


def _cells(chance: random.Random, depth: int) -> str:
    merges = (
        "",
        "",
        '<w:gridSpan w:val="3"/>',
        '<w:gridSpan w:val="999999999"/>',
        '<w:gridSpan w:val="-1"/>',
        '<w:gridSpan w:val="x"/>',
        "<w:vMerge/>",
        '<w:vMerge w:val="restart"/>',
    )
    rows = []
    for _ in range(chance.randrange(4)):
        cells = [
            f"<w:tc><w:tcPr>{chance.choice(merges)}</w:tcPr>{_paragraph(chance, depth + 1)}</w:tc>"
            for _ in range(chance.randrange(4))
        ]
        rows.append(f"<w:tr>{''.join(cells) * (chance.randrange(1, 200) if chance.random() < 0.05 else 1)}</w:tr>")
    return "".join(rows)


# ----------------------------------------------------------------------------------------------------- pdf


def pdf(chance: random.Random) -> bytes:
    """A file of a few objects, with a content stream of text operators."""
    stream = _operators(chance).encode("latin-1", "replace")
    filter_ = ""
    if chance.random() < 0.4:
        stream, filter_ = zlib.compress(stream), "/Filter /FlateDecode "
    length = chance.choice((len(stream), len(stream), len(stream), 0, -1, 10**9))
    pages = chance.choice((1, 1, 1, 2, 30))
    kids = " ".join(f"{5 + number} 0 R" for number in range(pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}{' 2 0 R' * (chance.random() < 0.05)}] /Count {chance.choice((pages, pages, 0, -5, 10**9))} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< {filter_}/Length {length} >>\nstream\n".encode() + stream + b"\nendstream",
    ]
    box = chance.choice(("0 0 612 792", "0 0 612 792", "0 0 0 0", "-1e9 -1e9 1e9 1e9", "612 792 0 0", "0 0 1"))
    objects += [
        f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Rotate {chance.choice((0, 90, 45, -1))} /Resources << /Font << /F1 3 0 R >> >> /Contents 4 0 R >>".encode()
        for _ in range(pages)
    ]
    objects.append(f"<< /Title ({_literal(text(chance, 5))}) >>".encode("latin-1", "replace"))
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{chance.choice((start, start, start, 0, 10**9))}\n%%EOF".encode()
    return bytes(out)


def _literal(said: str) -> str:
    return said.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _operators(chance: random.Random) -> str:
    parts = ["BT /F1 12 Tf 72 720 Td"]
    parts += [_operator(chance) for _ in range(chance.choice((3, 10, 30, 300)))]
    return "\n".join([*parts, "ET"])


def _operator(chance: random.Random) -> str:
    number = chance.choice((0, 1, -1, 12, 14.5, 1e9, -1e9, 1e-9, chance.uniform(-800, 800)))
    said = f"({_literal(text(chance, 4))})"
    if chance.random() < 0.03:
        return f"({_literal(pumped(chance, 5000))}) Tj"
    return chance.choice(
        (
            f"{said} Tj",
            f"[{said} {number} {said}] TJ",
            f"{number} {chance.uniform(-30, 30)} Td",
            "0 -14 Td",
            "T*",
            f"/F1 {number} Tf",
            f"1 0 {number} 1 {number} 700 Tm",
            f"{number} Tc {number} Tw {number} Tz {number} TL {number} Ts {chance.randrange(9)} Tr",
            "ET BT",
            "q" * chance.randrange(1, 50),
        )
    )


# ------------------------------------------------------------------------------------------------ mutation


def mutated(chance: random.Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """The same file with a few bytes, stretches or signs changed, moved, repeated or lost."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(out) + 1)
        length = int(2 ** chance.uniform(0, 9))
        kind = chance.randrange(10)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << chance.randrange(8)
        elif kind == 1 and out:
            out[at % len(out)] = chance.choice(
                (0, 1, 9, 10, 13, 27, 32, 34, 38, 46, 60, 62, 127, 128, 133, 192, 237, 255)
            )
        elif kind == 2:
            del out[at : at + length]
        elif kind == 3:
            out[at:at] = chance.choice(_PUMPED + _ODD).encode("utf-8", "surrogatepass")
        elif kind == 4:
            out[at:at] = out[at : at + length] * chance.randrange(1, 4)
        elif kind == 5:
            piece = bytes(out[at : at + length // 8 + 1])
            out[at:at] = piece * min(chance.randrange(1, 4000), MOST_BYTES // max(len(piece), 1))
        elif kind == 6 and others:
            other = chance.choice(others)
            place = chance.randrange(len(other) + 1)
            out[at : at + length] = other[place : place + length]
        elif kind == 7:
            del out[at:]
        elif kind == 8:
            out[at:at] = pumped(chance, 20_000).encode("utf-8", "surrogatepass")
        else:
            out[at : at + length] = chance.randbytes(min(length, 64))
        del out[4 * MOST_BYTES :]
    return bytes(out)
