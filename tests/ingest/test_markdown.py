"""Markdown becomes plain text without its marks."""

from __future__ import annotations

import pytest

from wherefrom.ingest import markdown


def text_of(source: str) -> str:
    return markdown.read(source.encode(), "some_notes.md").text


def title_of(source: str) -> str:
    return markdown.read(source.encode(), "some_notes.md").title


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: Bridges\n---\n# Head\n", "Bridges"),
        ('---\nlayout: post\ntitle: "Bridges: a \\"history\\""  # note\n---\ntext\n', 'Bridges: a "history"'),
        ("---\r\ntitle: 'It''s here'\r\n---\r\ntext\r\n", "It's here"),
        ('+++\ntitle = "From TOML"\n+++\ntext\n', "From TOML"),
        ("---\nlayout: post\n---\n\n## The *first* [head](x)\n\n# Second\n", "The first head"),
        ("Setext head\n===========\n\ntext\n", "Setext head"),
        ("no head at all\n", "some notes"),
        ("# [![Build](b.svg)](ci) ![Coverage](c.svg)\n\n# Bridges\n", "Bridges"),
        ("# Bridges [![Build](b.svg)](ci) ![92 %](c.svg)\n", "Bridges"),
        ("# ![Logo](logo.png)\n\n[![PyPI](p.svg)](x)\n\ntext\n", "some notes"),
        (
            '<h1 align="center">\n  <img alt="Logo" src="l.png"><br>\n  Bridges &amp; more\n</h1>\n\n## Use\n',
            "Bridges & more",
        ),
        ('<div align="center"><H1><a href="/"><img alt="Logo"></a></H1></div>\n\n# Bridges\n', "Bridges"),
        ("<h1>Bridges\n\ntext\n", "Bridges"),
        (
            '<h3 align="center">\U0001f48e Platinum sponsors <br /></h3>\n\n## Table of contents\n\n# Bridges\n',
            "Bridges",
        ),
    ],
)
def test_the_title_is_the_front_matters_or_the_first_heading_or_the_file_name(source: str, title: str) -> None:
    assert title_of(source) == title


def test_front_matter_is_no_text() -> None:
    assert text_of("---\ntitle: Bridges\ntags: [a, b]\n---\nThe text.\n") == "The text."


def test_text_between_two_rules_is_not_front_matter() -> None:
    assert "An opening remark." in text_of("---\n\nAn opening remark.\n\n---\n\nThe text.\n")


def test_marks_go_and_words_stay() -> None:
    source = (
        "Some *soft*, **loud**, `code`, ~~old~~ words, a [link](https://example.org/x 'tip'), "
        "![a bridge](b.png), <span class='x'>tagged</span> &amp; <https://example.org>\nnext line."
    )
    assert text_of(source) == (
        "Some soft, loud, code, old words, a link, a bridge, tagged & https://example.org next line."
    )


def test_blocks_are_parted_by_blank_lines_and_list_items_by_lines() -> None:
    source = "# Head\nfirst\n\n* one\n* two\n    1. deep\n    2. deeper\n\n> quoted\n\n5. five\n6. six\n\n---\nlast"
    assert text_of(source) == (
        "Head\n\nfirst\n\n- one\n- two\n  1. deep\n  2. deeper\n\nquoted\n\n5. five\n6. six\n\nlast"
    )


def test_loose_lists_are_still_lines() -> None:
    assert text_of("- one\n\n- two\n\n  more of two\n\n- three\n") == "- one\n- two\n\nmore of two\n- three"


def test_code_blocks_are_kept_as_they_are() -> None:
    assert text_of("see\n\n```python\nif x:\n\n    y = *z*\n```\n") == "see\n\nif x:\n\n    y = *z*"


def test_tables_are_read_row_by_row() -> None:
    assert text_of("| Year | Event |\n|---|:-:|\n| 1932 | *opened* |\n| 1940 | |\n") == (
        "Year | Event\n1932 | Event: opened\n1940"
    )


def test_html_inside_is_reduced_to_its_words() -> None:
    source = "<div>\n<p>shown</p><script>hidden()</script></div>\n\nline<br>break <script>x()</script>end\n"
    assert text_of(source) == "shown\n\nline\nbreak end"


@pytest.mark.parametrize(
    "source",
    [
        "[a](http://[bad)",
        "> " * 5000 + "deep",
        "[" * 5000,
        "*" * 5000,
        "<" * 5000,
        "- " * 3000 + "x",
        "`" * 999,
        "|\n|-",
    ],
)
def test_strange_input_is_read_without_trouble(source: str) -> None:
    assert isinstance(text_of(source), str)
