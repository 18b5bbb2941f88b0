"""JSON Lines are read one by one, and a bad line does not stop the rest."""

from __future__ import annotations

import io
import json

import pytest

from wherefrom.errors import IngestError
from wherefrom.ingest import jsonl
from wherefrom.ingest.outcome import IngestFailure, Record

LIMIT = 1_000_000


def read(data: str | bytes, limit: int = LIMIT) -> list[Record | IngestFailure]:
    data = data.encode() if isinstance(data, str) else data
    return list(jsonl.read(io.BytesIO(data), "docs.jsonl", limit))


def test_ids_may_be_text_or_numbers_and_titles_may_be_missing() -> None:
    lines = '{"id": "a", "title": "T", "text": "one"}\n{"id": 7, "text": "two"}\n{"id": null, "text": "three"}'
    assert read(lines) == [
        Record("a", "T", "one", "line 1"),
        Record("7", "", "two", "line 2"),
        Record(None, "", "three", "line 3"),
    ]


def test_blank_lines_a_mark_and_windows_line_ends_are_passed_over() -> None:
    assert read(b'\xef\xbb\xbf{"text": "one"}\r\n\r\n   \n{"text": "two"}\r\n') == [
        Record(None, "", "one", "line 1"),
        Record(None, "", "two", "line 4"),
    ]


def test_what_wikiextractor_writes() -> None:
    lines = (
        '{"id": "12", "revid": "9", "url": "https://en.wikipedia.org/wiki?curid=12", "title": "A", "text": "body"}\n'
        '{"id": "13", "revid": "9", "url": "https://en.wikipedia.org/wiki?curid=13", "title": "B", "text": ""}\n'
    )
    assert read(lines) == [Record("12", "A", "body", "line 1", "https://en.wikipedia.org/wiki?curid=12")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "a", "body": "x"}', "'text' is missing; the keys are 'id', 'body'"),
        ("{}", "'text' is missing; the keys are none"),
        ('{"text": 5}', "'text' must be a string, not a number"),
        ('{"text": null}', "'text' must be a string, not null"),
        ('{"text": ["a"]}', "'text' must be a string, not a list"),
        ('{"text": "  "}', "'text' is empty"),
        ('{"text": "x", "title": 5}', "'title' must be a string, not a number"),
        ('{"text": "x", "id": true}', "'id' must be a string or a whole number, not true or false"),
        ('{"text": "x", "id": 1.5}', "'id' must be a string or a whole number, not a number"),
        ('{"text": "x", "id": ""}', "'id' is empty; leave it out, or give every record its own"),
        ('{"text": "x", "id": "\\ud800"}', "'id' is not text that can be kept"),
        ('["text"]', "it must be a JSON object, not a list"),
        ('"text"', "it must be a JSON object, not a string"),
        ('{"text": "x"', "it is not JSON: expecting ',' delimiter at column 13"),
        (b'{"text": "\xff"}', "it is not UTF-8, at byte 11 of the line"),
        ("[" * 100_000, "it is not JSON that can be read"),
        ('{"text": "x", "id": ' + "9" * 5000 + "}", "it is not JSON that can be read"),
    ],
)
def test_a_bad_line_says_what_is_wrong_and_the_next_is_read(line: str | bytes, reason: str) -> None:
    line = line.encode() if isinstance(line, str) else line
    assert read(b'{"text": "a"}\n' + line + b'\n{"text": "b"}') == [
        Record(None, "", "a", "line 1"),
        IngestFailure("docs.jsonl:2", reason),
        Record(None, "", "b", "line 3"),
    ]


def test_a_line_over_the_limit_fails_without_being_held_in_memory() -> None:
    class Watched(io.BytesIO):
        largest = 0

        def readline(self, size: int | None = -1) -> bytes:
            line = super().readline(size)
            self.largest = max(self.largest, len(line))
            return line

    long = json.dumps({"text": "x" * 500_000}).encode()
    stream = Watched(long + b'\n{"text": "b"}\n' + long)
    outcomes = list(jsonl.read(stream, "docs.jsonl", 1000))
    assert [type(outcome) for outcome in outcomes] == [IngestFailure, Record, IngestFailure]
    assert outcomes[0].name == "docs.jsonl:1"
    assert "ingest.max_megabytes" in outcomes[0].reason
    assert outcomes[1] == Record(None, "", "b", "line 2")
    assert stream.largest <= 65_536


def test_a_line_of_exactly_the_limit_is_read() -> None:
    line = '{"text": "abc"}'
    assert read(line + "\n" + line, limit=len(line)) == [
        Record(None, "", "abc", "line 1"),
        Record(None, "", "abc", "line 2"),
    ]


def test_utf16_is_refused_once_not_line_by_line() -> None:
    with pytest.raises(IngestError, match="UTF-16"):
        read('{"text": "a"}\n{"text": "b"}\n'.encode("utf_16"))
