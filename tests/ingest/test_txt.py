"""Plain text is kept whole, and its title is found."""

from __future__ import annotations

import pytest

from wherefrom.errors import IngestError
from wherefrom.ingest import txt
from wherefrom.ingest.outcome import Record


def test_a_short_first_line_alone_is_the_title_and_stays_in_the_text() -> None:
    text = "The Old Bridge\n\nIt was built in 1932.\n"
    assert txt.read(text.encode(), "x.txt") == Record(None, "The Old Bridge", text)


@pytest.mark.parametrize(
    "text",
    [
        "The first line goes on\nwithout a blank line.\n",
        "One line only",
        "It was built in 1932.\n\nIt fell down in 1940.\n",
        "word " * 50 + "\n\nnext\n",
        "-----\n\nnext\n",
        "",
    ],
)
def test_otherwise_the_title_is_made_of_the_file_name(text: str) -> None:
    assert txt.read(text.encode(), "old_bridge.txt") == Record(None, "old bridge", text)


def test_signs_that_make_the_first_line_stand_out_are_no_part_of_it() -> None:
    assert txt.read(b"# Licence of the bridge #\n\nText.\n", "x.txt").title == "Licence of the bridge"
    assert txt.read(b"*****\n\nText.\n", "some_stars.txt").title == "some stars"


def test_leading_blank_lines_and_windows_line_ends_do_not_hide_the_title() -> None:
    assert txt.read(b"\r\n\r\nOld Bridge\r\n\r\nText.\r\n", "x.txt").title == "Old Bridge"


def test_other_encodings_are_read() -> None:
    assert txt.read("Über uns\n\nSchöne Grüße aus Köln.\n".encode("cp1252"), "x.txt") == Record(
        None, "Über uns", "Über uns\n\nSchöne Grüße aus Köln.\n"
    )


def test_binary_data_is_refused() -> None:
    with pytest.raises(IngestError, match="it is not text"):
        txt.read(bytes(range(256)) * 10, "x.txt")
