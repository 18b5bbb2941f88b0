"""JSON Lines: an object a line, with a text and, if it has them, an id and a title."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import BinaryIO

from wherefrom.errors import IngestError
from wherefrom.ingest.outcome import IngestFailure, Record
from wherefrom.ingest.source import too_long

_SKIP_BYTES = 65_536
_KEYS_SHOWN = 8


def read(lines: BinaryIO, name: str, limit_bytes: int) -> Iterator[Record | IngestFailure]:
    """A record for every line; a bad line is a failure that says what is wrong, and reading goes on.

    Also reads what WikiExtractor writes with `--json`; its articles without text are skipped.
    """
    number = 0
    while line := lines.readline(limit_bytes + 1):
        number += 1
        if number == 1:
            line = _unmarked(line)
        if len(line) > limit_bytes and not line.endswith(b"\n"):
            _skip_line(lines)
            yield IngestFailure(f"{name}:{number}", f"the line is {too_long(limit_bytes)}")
        elif line.strip():
            try:
                record = _record(line, number)
            except IngestError as error:
                yield IngestFailure(f"{name}:{number}", str(error))
            else:
                if record is not None:
                    yield record


def _unmarked(line: bytes) -> bytes:
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise IngestError("it is in UTF-16; save it as UTF-8")
    return line.removeprefix(codecs.BOM_UTF8)


def _skip_line(lines: BinaryIO) -> None:
    """Read on to the end of the line, a piece at a time."""
    while (piece := lines.readline(_SKIP_BYTES)) and not piece.endswith(b"\n"):
        pass


def _record(line: bytes, number: int) -> Record | None:
    fields = _fields(line)
    if "text" not in fields:
        keys = ", ".join(repr(key) for key in list(fields)[:_KEYS_SHOWN]) or "none"
        more = ", ..." if len(fields) > _KEYS_SHOWN else ""
        raise IngestError(f"'text' is missing; the keys are {keys}{more}")
    text = fields["text"]
    if not isinstance(text, str):
        raise IngestError(f"'text' must be a string, not {_kind(text)}")
    title = fields.get("title")
    if title is not None and not isinstance(title, str):
        raise IngestError(f"'title' must be a string, not {_kind(title)}")
    url = fields.get("url")
    if not text.strip():
        if isinstance(url, str) and title is not None:  # WikiExtractor's redirects and templates
            return None
        raise IngestError("'text' is empty")
    source = url if isinstance(url, str) and url else None
    return Record(_id(fields.get("id")), title or "", text, f"line {number}", source)


def _fields(line: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(line.rstrip().decode("utf_8"))
    except UnicodeDecodeError as error:
        raise IngestError(f"it is not UTF-8, at byte {error.start + 1} of the line") from error
    except json.JSONDecodeError as error:
        raise IngestError(f"it is not JSON: {error.msg.lower()} at column {error.colno}") from error
    except (ValueError, RecursionError, MemoryError) as error:  # numbers or nesting beyond all measure
        raise IngestError("it is not JSON that can be read") from error
    if not isinstance(value, dict):
        raise IngestError(f"it must be a JSON object, not {_kind(value)}")
    return value


def _id(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise IngestError(f"'id' must be a string or a whole number, not {_kind(value)}")
    try:
        text = str(value)
        text.encode("utf_8")
    except ValueError as error:  # a lone surrogate, or a number of thousands of digits
        raise IngestError("'id' is not text that can be kept") from error
    if not text.strip():
        raise IngestError("'id' is empty; leave it out, or give every record its own")
    return text


def _kind(value: object) -> str:
    """What a value is called in JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds = {str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "something else")
