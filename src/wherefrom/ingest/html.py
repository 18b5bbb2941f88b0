"""Web pages: every visible paragraph, without menus, scripts and notices.

What is left out is told by its tag, its role, its name, or by being links and nothing else; a paragraph of text is
never judged by what it says. Headings, lists and tables keep their place, a row of a table has its column's headings,
and a term stands with its definition.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from wherefrom.errors import IngestError
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.places import TextBlock, laid_out
from wherefrom.ingest.source import decoded, readable_name
from wherefrom.ingest.tables import row_text

_TOO_DEEP = "its tags are nested too deeply"
_MARKED_MAIN = 0.3  # of the page's words; less is a teaser or an empty shell


def read(data: bytes, name: str) -> Record:
    """Blocks are parted by blank lines, lines of a list or a table stay together."""
    markup = page_text(data)
    page = _parsed(markup)
    if page is None:
        return Record(None, readable_name(name), "")
    try:
        _drop_permalinks(page)
        title = _title(page)
        _prune(page)
        _keep_marked_main(page)
        blocks = _blocks(page)
    except RecursionError as error:
        raise IngestError(_TOO_DEEP) from error
    title = title or readable_name(name)
    text, places = laid_out(_set(_without_links(blocks)), title)
    return Record(None, title, text, places=places)


def fragment_text(markup: str) -> str:
    """The readable text of a piece of HTML, such as other formats embed."""
    page = _parsed(markup)
    if page is None:
        return ""
    _drop_permalinks(page)
    _prune(page)
    return laid_out(_set(_blocks(page)), "")[0]


# ------------------------------------------------------------------------------------------- encoding

_DECLARED = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,500}?(?:charset|encoding)\s{0,20}=\s{0,20}["']?\s{0,20}([\w.:-]{1,40})""", re.I
)
# What browsers do: these labels mean the larger encoding that contains them.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-15": "iso8859-15",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# Python knows encodings that no page is in, and that are slow (punycode) or strange (unicode_escape).
_ALLOWED = re.compile(r"utf-8|cp\d+|iso8859-\d+|koi8-\w|mac-\w+|gb18030|big5hkscs|euc_jp|euc_jis_2004|iso2022_jp")


def page_text(data: bytes) -> str:
    """The page as characters: by its mark, by what it declares, or by detection."""
    if not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        declared = _DECLARED.search(data[:4096])
        encoding = _known(declared[1].decode("ascii", "replace")) if declared else None
        # Pages in UTF-8 often declare a western encoding, and hardly ever the other way round.
        if encoding and not _is_utf8(data):
            text = data.decode(encoding, "replace")
            if text.count("\ufffd") <= len(text) // 100:
                return text
    return decoded(data)


def _known(label: str) -> str | None:
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _MEANT.get(name, name)
    return name if _ALLOWED.fullmatch(name) else None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf_8")
    except UnicodeDecodeError:
        return False
    return b"\x1b" not in data  # the escapes of ISO-2022-JP


# ------------------------------------------------------------------------------------------- the tree

_SHALLOW = re.compile(r"</?(?:div|span|font|center|b|i|u|s|a|em|strong|small|big|tt|section)\b[^<>]*>", re.I)


def _parsed(markup: str) -> Any | None:
    """The page as a tree; None when there is nothing in it."""
    markup = _without_crowds(markup)
    page, too_deep = _tree(markup)
    if too_deep:  # the parser stops there; such pages are thousands of unclosed tags that only set the look
        page, too_deep = _tree(_SHALLOW.sub("\n", markup))
        if too_deep:
            raise IngestError(_TOO_DEEP)
    return page


_MOST_ATTRIBUTES = 256  # of an element; the parser takes the square of their number, and no page needs half as many
_ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>]*+))?+"""
_OPENING = re.compile(r"<(?:!--|[a-z])", re.I)
_TAG = re.compile(rf"<([a-z][^\s/>]*+)(?:{_ATTRIBUTE}){{0,{_MOST_ATTRIBUTES}}}+((?:{_ATTRIBUTE})*+)[\s/]*+>?", re.I)
_RAW = {  # elements in which a tag is no tag
    name: re.compile(f"</{name}", re.I)
    for name in ("script", "style", "title", "textarea", "xmp", "iframe", "noframes")
}


def _without_crowds(markup: str) -> str:
    """The page with no more than so many attributes an element."""
    kept: list[str] = []
    begin = place = 0
    while opening := _OPENING.search(markup, place):
        if opening[0] == "<!--":
            end = markup.find("-->", opening.end())
            place = end if end >= 0 else len(markup)
            continue
        tag = _TAG.match(markup, opening.start())
        assert tag is not None  # whatever follows a name is an attribute or the end
        if tag[2]:
            kept.append(markup[begin : tag.start(2)])
            begin = tag.end(2)
        place = tag.end()
        if raw := _RAW.get(tag[1].lower()):
            closing = raw.search(markup, place)
            place = closing.start() if closing else len(markup)
    return "".join([*kept, markup[begin:]]) if kept else markup


def _tree(markup: str) -> tuple[Any | None, bool]:
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        page = html.document_fromstring(markup.encode("utf_8", "ignore"), parser=parser, ensure_head_body=True)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None, False
    except MemoryError:
        raise
    except Exception as error:  # whatever a parser says about a broken page, it is the page's fault
        raise IngestError("it cannot be read as a web page") from error
    return page, any("Excessive depth" in entry.message for entry in parser.error_log)


def _title(page: Any) -> str:
    for text in (
        page.xpath("string(//head/title | //body/title)"),
        page.xpath("string(//meta[@property='og:title' or @name='og:title']/@content)"),
        page.xpath("string(//h1)"),
    ):
        if title := " ".join(str(text).split()):
            return _without_site(title, page)
    return ""


def _without_site(title: str, page: Any) -> str:
    """ "Tides | Sea Almanac" is "Tides", if that is what the page's heading says."""
    heading = " ".join(str(page.xpath("string(//h1)")).split())
    rest = title.removeprefix(heading)
    return heading if heading and rest != title and re.match(r"\s+[|–—·:»-]\s", rest) else title


# ------------------------------------------------------------------------------------ what is not text

_DROPPED = (
    "script",
    "style",
    "nav",
    "footer",
    "aside",
    "template",
    "noscript",
    "iframe",
    "object",
    "embed",
    "svg",
    "math",
    "canvas",
    "audio",
    "video",
    "map",
    "button",
    "select",
    "textarea",
    "datalist",
    "input",
    "dialog",
)
_ROLES = re.compile(r"^(?:navigation|banner|contentinfo|search|menu|menubar|dialog|alertdialog)$", re.I)
_NOTICE = re.compile(
    r"(?:cookie|consent|gdpr|privacy)[-_ ]?(?:s[-_ ])?"
    r"(?:banner|notice|bar|consent|pop-?up|modal|message|overlay|dialog|info|wall|law|alert|container|disclaimer)"
    r"|onetrust|cookiebot|cc-window|cc-banner|didomi|usercentrics|truste-|sp_message",
    re.I,
)
_MENU = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|topmenu|mainmenu|breadcrumbs?|sidebar|footer|toolbar|share"
    r"|social|skip-?link)(?:$|[\s_-])",
    re.I,
)


_PERMALINKS = frozenset("¶#§🔗")


def _drop_permalinks(page: Any) -> None:
    """Take out the signs beside headings and terms that link to these, as makers of manuals set them."""
    for link in list(page.iter("a")):
        if link.get("href", "").startswith("#") and not len(link) and (link.text or "").strip() in _PERMALINKS:
            _drop(link)


def _prune(page: Any) -> None:
    """Take out what is not part of the text, by tag, by role, and by name where the content agrees."""
    body = page.body if page.body is not None else page
    for element in list(body.iter(*_DROPPED)):
        _drop(element)
    total = len(body.text_content()) or 1
    for form in list(body.iter("form")):  # some systems wrap the whole page in one
        if len(form.text_content()) < total / 2:
            _drop(form)
    for header in list(body.iter("header")):
        if not _holds_heading(header):
            _drop(header)
            continue
        for child in list(header):
            if not _holds_heading(child):
                _drop(child)
    linked = _Linked(body)
    for element in list(body.iter("div", "section", "ul", "ol", "p", "table", "td", "a")):
        label = f"{element.get('class', '')} {element.get('id', '')}".strip()
        if _ROLES.match(element.get("role", "")) or (label and _is_furniture(element, label, total, linked)):
            _drop(element)


def _holds_heading(element: Any) -> bool:
    return next(element.iter("h1"), None) is not None


_GONE = "wherefrom-gone"  # the tag of what was dropped


def _drop(element: Any) -> None:
    """Empty an element; it stays, for to move the text behind each of thousands takes the square of their number."""
    element.clear(keep_tail=True)
    element.tag = _GONE


class _Linked:
    """How many characters of each element are links; counted once for all, when it is first asked."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self._characters: dict[Any, int] | None = None

    def __getitem__(self, element: Any) -> int:
        if self._characters is None:
            self._characters = self._counted()
        return self._characters.get(element, 0)

    def _counted(self) -> dict[Any, int]:
        characters: dict[Any, int] = {}
        for link in self._body.iter("a"):
            characters[link] = len(link.text_content().strip())
        if characters:
            for element in reversed(list(self._body.iter())):
                inside, parent = characters.get(element, 0), element.getparent()
                if inside and parent is not None:
                    characters[parent] = characters.get(parent, 0) + inside
        return characters


def _keep_marked_main(page: Any) -> None:
    """Where the author has marked the main part, and it holds a good part of the text, drop all around it."""
    body = page.body if page.body is not None else page
    total = len(body.text_content().split())
    for query in (".//main | .//*[@role='main']", ".//article"):
        marked = body.xpath(query)
        if len(marked) == 1 and len(marked[0].text_content().split()) > _MARKED_MAIN * total:
            main = marked[0]
            main.tail = None
            body.text = None
            body[:] = [main]
            return


def _is_furniture(element: Any, label: str, total: int, linked: _Linked) -> bool:
    """Whether an element named like a notice or a menu is one: a notice is short, a menu is all links."""
    if _NOTICE.search(label):
        return len(element.text_content()) < min(3000, total * 0.7)
    if not _MENU.search(label):
        return False
    size = len(element.text_content().strip())
    return linked[element] >= size / 2 or ("footer" in label.lower() and size < total / 4)


# --------------------------------------------------------------------------------------------- blocks


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, a heading, an item of a list or a row of a table."""

    text: str
    kind: str = "text"  # or heading, item, row, term
    group: int = 0  # items of one list, or rows of one table, have the same
    linked: int = 0  # characters inside links
    level: int = 0  # of a heading


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table that is being read: where its blocks begin, where each cell's do, and what tag each has."""

    begin: int
    cells: list[int]
    tags: list[str]


_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LISTS = frozenset(("ul", "ol", "menu", "dir"))
_BLOCK_TAGS = (
    _HEADINGS
    | _LISTS
    | frozenset(
        "address article blockquote body caption center dd details div dl dt fieldset figcaption figure footer form "
        "header hgroup hr legend li main p pre section summary table tbody td tfoot th thead tr".split()
    )
)
_SPACE = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060]")  # soft hyphen, zero-width space, word joiner


class _Renderer:
    """Collects the blocks of a page while its tree is walked, without recursion: pages can be deep."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self._inline: list[str] = []
        self._linked = 0
        self._links = self._pre = 0  # how many such elements are open
        self._heading = 0  # the level of the one that is open
        self._lists: list[int | None] = []  # the number of the next item; None for bullets
        self._marker = ""
        self._groups = 0
        self._tables: list[int] = []
        self._rows: list[_Row] = []
        self._headings: dict[int, list[str]] = {}  # of the columns of a table
        self._term = False

    def start(self, tag: str, element: Any) -> None:
        if tag in _BLOCK_TAGS:
            self._flush()
        if tag in _HEADINGS:
            self._heading = int(tag[1])
        elif tag == "br":
            self._inline.append("\n")
        elif tag == "a":
            self._links += 1
        elif tag == "pre":
            self._pre += 1
        elif tag in _LISTS:
            if not self._lists:
                self._groups += 1
            start = str(element.get("start", "1"))
            first = int(start) if re.fullmatch(r"\d{1,6}", start) else 1
            self._lists.append(first if tag == "ol" else None)
        elif tag == "li":
            self._marker = self._next_marker()
        elif tag == "table":
            self._groups += 1
            self._tables.append(self._groups)
        elif tag == "tr":
            self._rows.append(_Row(len(self.blocks), [], []))
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].cells.append(len(self.blocks))
            self._rows[-1].tags.append(tag)
        elif tag == "dt":
            self._term = True

    def text(self, text: str | None) -> None:
        if text:
            text = text if self._pre else _SPACE.sub(" ", text)
            self._inline.append(text)
            if self._links:
                self._linked += len(text.strip())

    def end(self, tag: str) -> None:
        if tag in _BLOCK_TAGS:
            self._flush()
        if tag in _HEADINGS:
            self._heading = 0
        elif tag == "a":
            self._links -= 1
        elif tag == "pre":
            self._pre -= 1
        elif tag in _LISTS:
            self._lists.pop()
        elif tag == "li":
            self._marker = ""
        elif tag == "table":
            self._tables.pop()
        elif tag == "tr":
            self._end_row(self._rows.pop())
        elif tag == "dt":
            self._term = False

    def _next_marker(self) -> str:
        if not self._lists or (number := self._lists[-1]) is None:
            marker = "- "
        else:
            self._lists[-1] = number + 1
            marker = f"{number}. "
        return "  " * min(len(self._lists) - 1, 8) + marker

    def _flush(self) -> None:
        """Close the block that is being collected."""
        text = _INVISIBLE.sub("", "".join(self._inline))
        lines = [line.rstrip() if self._pre else line.strip() for line in text.split("\n")]
        text = "\n".join(lines).strip("\n") if self._pre else "\n".join(filter(None, lines))
        linked, self._linked = self._linked, 0
        self._inline.clear()
        if not text.strip():
            return
        if self._marker:
            self.blocks.append(_Block(self._marker + text, "item", self._groups, linked))
            self._marker = ""
        else:
            kind = "heading" if self._heading else "term" if self._term else "text"
            self.blocks.append(_Block(text, kind, 0, linked, self._heading))

    def _end_row(self, open_row: _Row) -> None:
        """Put a row of data on one line; a table that only lays out a page stays as its blocks."""
        borders = [*open_row.cells, len(self.blocks)]
        row = self.blocks[open_row.begin :]
        simple = all(after - before <= 1 for before, after in pairwise(borders))
        if not row or not simple or sum(len(block.text) for block in row) > 1000 or not self._tables:
            return
        cells = ["".join(block.text for block in self.blocks[a:b]).replace("\n", " ") for a, b in pairwise(borders)]
        table = self._tables[-1]
        linked = sum(block.linked for block in row)
        text = row_text(cells, self._headings.get(table, []))
        if table not in self._headings:  # the first row says whether columns have headings
            self._headings[table] = cells if set(open_row.tags) == {"th"} else []
        self.blocks[open_row.begin :] = [_Block(text, "row", table, linked)]


def _blocks(page: Any) -> list[_Block]:
    from lxml import etree

    renderer = _Renderer()
    body = page.body if page.body is not None else page
    text: list[str] = []  # in pieces where something was dropped in between
    for event, element in etree.iterwalk(body, events=("start", "end")):
        tag = element.tag if isinstance(element.tag, str) else ""
        if tag != _GONE:
            renderer.text("".join(text))
            text.clear()
            if event == "start":
                renderer.start(tag, element)
            else:
                renderer.end(tag)
        following = element.text if event == "start" else element.tail if element is not body else None
        if following:
            text.append(following)
    return renderer.blocks


def _set(blocks: list[_Block]) -> Iterator[TextBlock]:
    """The blocks with what stands close together: items of a list, rows of a table, a term and its definition."""
    before = _Block("")
    for block in blocks:
        alike = bool(block.group) and (before.kind, before.group) == (block.kind, block.group)
        defined = before.kind == "term" and block.kind in ("term", "text")
        yield TextBlock(block.text, alike or defined, block.level)
        before = block


# ------------------------------------------------------------------------------------------ main text

_MOSTLY_LINKS = 0.6  # of a block's characters
_LONG_RUN = 4  # blocks of links in a row, anywhere on a page, are a menu or a list of contents
_HARDLY_ANYTHING = 0.25  # of the page's text: if the rest is no more, the links are what the page is for


def _without_links(blocks: list[_Block]) -> list[_Block]:
    """The blocks without menus: links at the top and bottom of the page, and long runs of them inside."""
    heavy = [block.linked >= _MOSTLY_LINKS * len(block.text) for block in blocks]
    for index in range(len(blocks) - 2, -1, -1):
        if blocks[index].kind == "heading":
            heavy[index] = heavy[index + 1]  # a heading belongs to what follows it
    kept: list[_Block] = []
    begin = 0
    for links, run in groupby(range(len(blocks)), heavy.__getitem__):
        end = begin + len(list(run))
        at_edge = begin == 0 or end == len(blocks)
        title = begin == 0 and blocks[0].kind == "heading" and end == 1
        if not links or title or not (at_edge or end - begin >= _LONG_RUN):
            kept += blocks[begin:end]
        begin = end
    total = sum(len(block.text) for block in blocks)
    return kept if sum(len(block.text) for block in kept) >= _HARDLY_ANYTHING * total else blocks
