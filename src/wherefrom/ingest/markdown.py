"""Markdown as plain readable text: the words without the marks."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import TYPE_CHECKING

from wherefrom.errors import IngestError
from wherefrom.ingest.html import fragment_text
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.places import TextBlock, laid_out
from wherefrom.ingest.source import decoded, readable_name
from wherefrom.ingest.tables import row_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


def read(data: bytes, name: str) -> Record:
    """The title is the front matter's, else the first heading, else made of the file's name."""
    text = decoded(data).replace("\r\n", "\n").replace("\r", "\n")
    date = _date(text)
    title, text = _without_front_matter(text)
    try:
        blocks = _Renderer()
        blocks.render(_tokens(text))
    except Exception as error:  # whatever the parser trips over, the file is at fault
        raise IngestError("it cannot be read as Markdown") from error
    title = title or blocks.first_heading or readable_name(name)
    text, places = laid_out(blocks.blocks, title)
    return Record(None, title, text, date=date, places=places)


# --------------------------------------------------------------------------------------- front matter

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)^(?:\1|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_DATED = re.compile(
    r"^(?:date|updated|modified|lastmod|last_modified)[ \t]*[:=][ \t]*[\"']?(\d{4}-\d\d-\d\d)",
    re.MULTILINE | re.IGNORECASE,
)
_MATTER_LENGTH = 20_000  # characters; front matter is shorter
_YAML_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
_YAML_FIRST = re.compile(r"\s*(?:#.*\n\s*)*[\w\"'-][\w \"'-]*:(?:\s|\Z)")


def _date(text: str) -> str:
    """The date that the front matter gives this version, as it begins: 2024-05-31; the latest of several."""
    match = _FRONT_MATTER.match(text[:_MATTER_LENGTH].removeprefix("\ufeff"))
    return max((dated[1] for dated in _DATED.finditer(match[2])), default="") if match else ""


def _without_front_matter(text: str) -> tuple[str, str]:
    """(title or "", the text behind the front matter); a line of dashes alone is not front matter."""
    text = text.removeprefix("\ufeff")
    match = _FRONT_MATTER.match(text)
    if match is None:
        return "", text
    fence, matter = match[1], match[2]
    if fence == "+++":
        try:
            title = tomllib.loads(matter).get("title", "")
        except tomllib.TOMLDecodeError:
            return "", text
        return title if isinstance(title, str) else "", text[match.end() :]
    if matter.strip() and not _YAML_FIRST.match(matter):
        return "", text
    title = _YAML_TITLE.search(matter)
    return _yaml_string(title[1]) if title else "", text[match.end() :]


def _yaml_string(value: str) -> str:
    value = value.strip()
    if value[:1] in ("|", ">"):  # the text of a block scalar is on the lines below
        return ""
    if quoted := re.match(r"""(["'])(.*)\1\s*(?:#.*)?$""", value):
        return quoted[2].replace('\\"', '"').replace("''", "'")
    return re.sub(r"(?<!\s)\s++#.*$", "", value)


# -------------------------------------------------------------------------------------------- blocks


def _tokens(text: str) -> list[Token]:
    return _parser().parse(text)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    # Addresses are thrown away, so none has to be checked or rewritten (some cannot even be parsed).
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


class _Renderer:
    """Collects the blocks of a document from the parser's flat list of tokens."""

    def __init__(self) -> None:
        self.first_heading = ""
        self.blocks: list[TextBlock] = []
        self._lists: list[int | None] = []  # the number of the next item; None for bullets
        self._marker = ""
        self._fresh_list = False
        self._row: list[str] | None = None
        self._headings: list[str] | None = None  # of the columns of the table that is open
        self._heading = 0  # the level of the one that is open
        self._fresh_table = False

    def render(self, tokens: list[Token]) -> None:
        for token in tokens:
            match token.type:
                case "heading_open":
                    self._heading = int(token.tag[1:])
                case "heading_close":
                    self._heading = 0
                case "bullet_list_open" | "ordered_list_open":
                    self._fresh_list = not self._lists
                    ordered = token.type == "ordered_list_open"
                    self._lists.append(int(token.attrGet("start") or 1) if ordered else None)
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._marker = self._next_marker()
                case "list_item_close":
                    self._marker = ""
                case "table_open":
                    self._fresh_table, self._headings = True, None
                case "tr_open":
                    self._row = []
                case "tr_close":
                    self._end_row()
                case "inline":
                    self._inline(token.children or [])
                case "fence" | "code_block":
                    self._block(token.content.rstrip("\n"))
                case "html_block":
                    self.first_heading = self.first_heading or _heading_of(token.content)
                    self._block(fragment_text(token.content))

    def _next_marker(self) -> str:
        number = self._lists[-1]
        if number is not None:
            self._lists[-1] = number + 1
        indent = "  " * (len(self._lists) - 1)
        return f"{indent}- " if number is None else f"{indent}{number}. "

    def _inline(self, tokens: list[Token]) -> None:
        text = _inline_text(tokens)
        if self._row is not None:
            self._row.append(" ".join(text.split()))
            return
        if self._heading and not self.first_heading:  # a row of badges is no title, and none is a part of one
            words = [token for token in tokens if token.type != "image"]
            heading = " ".join(_inline_text(words).split())
            self.first_heading = "" if _NO_TITLE.fullmatch(heading) else heading
        self._block(text, self._heading)

    def _block(self, text: str, level: int = 0) -> None:
        if not text.strip():
            return
        close = bool(self._marker) and not self._fresh_list
        self.blocks.append(TextBlock(self._marker + text if self._marker else text, close, level))
        if self._marker:
            self._marker, self._fresh_list = "", False

    def _end_row(self) -> None:
        row, self._row = self._row or [], None
        if any(row):
            self.blocks.append(TextBlock(row_text(row, self._headings or ()), close=not self._fresh_table))
            self._fresh_table = False
        if self._headings is None:  # a table begins with the names of its columns
            self._headings = row


_NO_TITLE = re.compile(r"(?:table of )?contents|toc|.*\bsponsors?\W*", re.IGNORECASE)  # of no document
_HEADING = re.compile(r"<h([1-6])\b[^<>]*+>", re.IGNORECASE)
_PICTURE = re.compile(r"<(?:img|svg|picture)\b[^<>]*+>", re.IGNORECASE)


def _heading_of(markup: str) -> str:
    """The first heading of a piece of HTML, without its pictures: READMEs have theirs centred so."""
    heading = _HEADING.search(markup)
    if heading is None:
        return ""
    end = markup.lower().find(f"</h{heading[1]}", heading.end())
    inside = markup[heading.end() : end if end >= 0 else None]
    words = " ".join(fragment_text(_PICTURE.sub("", inside)).split())
    return "" if _NO_TITLE.fullmatch(words) else words


def _inline_text(tokens: list[Token]) -> str:
    """The words of a line: link texts and picture descriptions stay, marks, addresses and tags go."""
    pieces: list[str] = []
    hidden = ""  # the script or style element whose content is being left out
    for token in tokens:
        if token.type == "html_inline":
            tag = re.match(r"<(/?)(\w*)", token.content)
            name = tag[2].lower() if tag else ""
            if tag and name in ("script", "style"):
                hidden = "" if tag[1] else name
            elif name == "br":
                pieces.append("\n")
        elif hidden:
            continue
        elif token.type == "softbreak":
            pieces.append(" ")
        elif token.type == "hardbreak":
            pieces.append("\n")
        elif token.type == "image":
            pieces.append(_inline_text(token.children or []))
        else:
            pieces.append(token.content)
    return "".join(pieces).strip()
