"""Documents as rows of tables: the same numbers, offsets and checksums in whatever database they are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any, TypeVar

from wherefrom.errors import LibraryError
from wherefrom.store.sums import row_sum
from wherefrom.text import Span, sections
from wherefrom.types import Document

Split = Callable[[str, Sequence[int]], list[Span]]  # of a text, and where its sections begin
Row = tuple[Any, ...]

_MOST_DIGITS = 15  # of a passage's number: databases count to 2^63, and no document has as many passages


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """A document without its text, as a listing shows it."""

    id: str
    title: str
    source: str
    passages: int
    characters: int
    tags: tuple[str, ...] = ()
    gone: bool = False  # its file is no longer there; True only where that was looked at


@dataclass(frozen=True, slots=True)
class Misfit:
    """A document that is not what was written; where its text is right, its passages can be cut again."""

    id: str
    source: str
    what: str
    text_right: bool


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """The facts of one document, in the order of its checksum; `text` is apart from them."""

    key: int
    id: str
    first: int  # key of its first passage
    passages: int
    characters: int
    hash: bytes
    source: str
    title: str

    def values(self) -> Row:
        """What its checksum is made of."""
        return (self.key, self.id, self.first, self.passages, self.characters, self.hash, self.source, self.title)


@dataclass(frozen=True, slots=True)
class DocumentRows:
    """One document with all that belongs to it, as tables hold it."""

    facts: DocumentRow
    text: str
    date: str  # '' where it is not known
    passages: Sequence[Row]  # key, document, start, end, byte_start, byte_end, section
    places: Sequence[Row]  # start, label, number

    @property
    def sum(self) -> bytes:
        """The checksum of its row, its passages' and its places'."""
        return document_sum(self.facts.values(), self.passages, self.places)


@dataclass(frozen=True, slots=True)
class Written:
    """What a document was when it was written."""

    sum: bytes
    characters: int


@dataclass(frozen=True, slots=True)
class Rest:
    """What a store holds beside its documents; rows in the order of their keys."""

    settings: Any  # that the library was made with
    tags: tuple[Row, ...]
    files: tuple[Row, ...]
    feedback: tuple[Row, ...]
    next_key: int
    next_document: int = field(compare=False)  # SQLite gives that of a document that was removed again


@dataclass(slots=True)
class Cut:
    """Documents cut into passages, with what the indexes need to know of them."""

    documents: list[DocumentRows] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def cut(documents: Sequence[Document], split: Split, key: int, number: int) -> Cut:
    """The rows of documents whose passages get the keys from `key` on, and they themselves those from `number` on."""
    made = Cut()
    for document_key, document in enumerate(documents, start=number):
        spans = split(document.text, document.sections)
        bytes_at = byte_offsets(document.text, spans)
        first, passages = key, []
        named = sections(document.text, spans, document.title)
        for (start, end), section in zip(spans, named, strict=True):
            passages.append((key, document_key, start, end, bytes_at[start], bytes_at[end], section))
            made.titles.append(heading(document.title, section))
            made.texts.append(document.text[start:end])
            key += 1
        facts = DocumentRow(
            document_key,
            document.id,
            first,
            len(spans),
            len(document.text),
            content_hash(document),
            document.source,
            document.title,
        )
        text = storable(document)
        made.documents.append(DocumentRows(facts, text, document.date, passages, place_rows(document)))
    return made


def document_sum(
    document: Sequence[object], passages: Sequence[Sequence[object]], places: Sequence[Sequence[object]]
) -> bytes:
    """The checksum of a document's row with those of its passages and places; as it was before, where it has none."""
    return row_sum([*document, passages, places] if places else [*document, passages])


def misfit(rows: DocumentRows, written: bytes | None) -> Misfit | None:
    """What of a document is not what was written; `written` is its checksum of then, None where there was none."""
    facts = rows.facts
    if content_hash(Document(facts.id, rows.text, facts.title, facts.source)) != facts.hash:
        return Misfit(facts.id, facts.source, "its text is not the one that was written", text_right=False)
    if written is not None and rows.sum != written:
        return Misfit(facts.id, facts.source, "its passages are not those that were written", text_right=True)
    encoded = rows.text.encode("utf-8")
    if len(rows.passages) != facts.passages or any(
        encoded[byte_start:byte_end] != rows.text[start:end].encode("utf-8") or start >= end
        for _, _, start, end, byte_start, byte_end, _ in rows.passages
    ):
        return Misfit(facts.id, facts.source, "its passages do not match its text", text_right=True)
    return None


def place_rows(document: Document) -> list[Row]:
    """The rows of a document's places; they are refused where they cannot be those of its text."""
    rows = [(place.start, place.label, place.number) for place in document.places]
    starts = [start for start, _, _ in rows]
    if any(after <= before for before, after in pairwise([-1, *starts, max(len(document.text), 1)])):
        raise LibraryError(f"the places of document '{document.id}' must rise, and begin inside of its text")
    return rows


def content_hash(document: Document) -> bytes:
    """What tells whether a document has changed: its title and its text."""
    title = document.title.encode("utf-8", "surrogatepass")
    text = document.text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(b"%d:" % len(title) + title + text, digest_size=16).digest()


def passage_id(document_id: str, ordinal: int) -> str:
    """`guide.md#3` is the fourth passage of `guide.md`."""
    return f"{document_id}#{ordinal}"


def split_passage_id(id: str) -> tuple[str, int]:
    """The document and the place of a passage; the place is -1 where the id is not a passage's."""
    document, _, ordinal = id.rpartition("#")
    is_number = ordinal.isascii() and ordinal.isdigit() and len(ordinal) <= _MOST_DIGITS
    return (document, int(ordinal)) if is_number else (id, -1)


def storable(document: Document) -> str:
    """The text of a document; an error where it is no Unicode that can be written."""
    try:
        document.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise LibraryError(
            f"the text of document '{document.id}' is not valid Unicode at character {error.start}; "
            "pass it through wherefrom.text.clean first"
        ) from error
    return document.text


def byte_offsets(text: str, spans: Sequence[Span]) -> Mapping[int, int]:
    """Where the borders of the spans lie in the UTF-8 bytes of the text."""
    borders = sorted({border for span in spans for border in span})
    if text.isascii():
        return {border: border for border in borders}
    offsets: dict[int, int] = {}
    at = before = 0
    for border in borders:
        at += len(text[before:border].encode("utf-8", "surrogatepass"))
        offsets[border] = at
        before = border
    return offsets


def heading(title: str, section: str) -> str:
    """Title and section: what a passage is found by beside its own words."""
    return f"{title}: {section}" if title and section else title or section


_Item = TypeVar("_Item")


def in_pieces(items: Sequence[_Item], size: int) -> Iterator[list[_Item]]:
    """The items, so many at a time."""
    iterator = iter(items)
    while piece := list(islice(iterator, size)):
        yield piece
