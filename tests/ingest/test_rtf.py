"""Rich text gives its paragraphs, lists and tables, in every character set."""

from __future__ import annotations

import pytest

from wherefrom.errors import IngestError
from wherefrom.ingest.rtf import read

LETTER = rb"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\froman Times;}{\f1\fcharset204 Arial CYR;}}
{\info{\title Annual Meeting}{\author Someone}}
{\stylesheet{\s1 heading 1;}}
\pard\s1\b Minutes\par
\pard\b0 The caf\'e9 costs \u8364?300 a year.\line Second line\par
{\f1\'cc\'ee\'f1\'ea\'e2\'e0}\par
\pard{\listtext\'b7\tab}First item\par
{\listtext 2.\tab}Second\par
\trowd\intbl Name\cell Phone\cell\row
\trowd\intbl Anna\cell 555 1234\cell\row
\pard After {\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt the link}}.\par
{\*\unknown secret}{\pict 89504e47}\bin5 {{{{{{\u-10179?\u-8704?}\par}"""


def test_a_letter_reads_as_it_is_shown() -> None:
    record = read(LETTER, "letter.rtf")
    assert record.title == "Annual Meeting"
    assert record.text == "\n\n".join(
        [
            "Minutes",
            "The caf\u00e9 costs €300 a year.\nSecond line",
            "Москва",
            "- First item",
            "2. Second",
            "Name | Phone\nAnna | 555 1234",
            "After the link.",
            "😀",
        ]
    )


def test_what_is_no_rich_text_is_refused() -> None:
    with pytest.raises(IngestError, match="not rich text"):
        read(b"plain words", "x.rtf")


def test_braces_without_end_are_read() -> None:
    assert read(b"{\\rtf1 " + b"{" * 100_000 + b"deep", "my_x.rtf").text == "deep"
    assert read(b"{\\rtf1 }}}}} words\\'zz\\u99999999999 \\bin99999 x", "my_x.rtf").title == "my x"
