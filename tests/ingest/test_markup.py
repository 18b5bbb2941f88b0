"""Light markup in files that are called plain is recognised by marks that nobody writes by chance."""

from __future__ import annotations

import pytest

from wherefrom.ingest import txt
from wherefrom.ingest.markup import Markup, markup_of

ASCIIDOC = """git-knit(1)
===========

SYNOPSIS
--------
[verse]
'git knit' [--purl]

DESCRIPTION
-----------
As linkgit:git-sew[1] does.
"""
RST = """Knitting
========

.. _wool:

Wool is needed, see :ref:`sheep`.

.. note:: Wash it first.
"""
MANUAL_PAGE_TITLE_TWICE = "wool(1)\n=======\n\nsheep(1)\n========\n\nfelt(1)\n=======\n"


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        (ASCIIDOC, "asciidoc"),
        (ASCIIDOC.replace("\n", "\r\n"), "asciidoc"),
        (":toc:\n\n[[wool]]\n== Wool\n\nSee <<sheep>>.\n", "asciidoc"),
        (RST, "rst"),
        (".. image:: a.png\n\n.. image:: b.png\n\n`Site`_\n", "rst"),
    ],
)
def test_what_is_marked_up_is_recognised(text: str, markup: Markup) -> None:
    assert markup_of(text) == markup


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A plain letter.\n\nHeading\n=======\n\n* one\n* two\n\n-----\nthe end\n-----\n",
        "Use std::vector::\n\nand again::\n\n   like this::\n\n",
        "The list [NOTE]\n[1] first\n[2] second\nsee <http://a.b> and <<more>> or a::b[c]\n",
        "Call `ls' or `dir' or `vdir'. In .. and ... they differ. Time: 12:30:`00`\n",
        "[NOTE]\nOne.\n\n[NOTE]\nTwo.\n\n[NOTE]\nThree.\n\n[NOTE]\nFour.\n",
        MANUAL_PAGE_TITLE_TWICE,
        "Wiki [[Page]] and [[Other]]\n\n[[Alone]]\n",
        "Template<<T>> x; a << b; c >> d; <<EOF\ntext\nEOF\n",
        "*help.txt*\tFor Vim\n\n==========\n1. Start *start*\n\tsee |tag| >\n\t:help\n<\n",
    ],
)
def test_plain_texts_stay_plain(text: str) -> None:
    assert markup_of(text) is None
    assert txt.read(text.encode(), "plain.txt").text == text


def test_a_text_is_read_as_the_markup_that_it_is_in() -> None:
    assert "[verse]" not in txt.read(ASCIIDOC.encode(), "git-knit.txt").text
    assert txt.read(RST.encode(), "knitting.txt").text.startswith("Knitting\n\nWool is needed")


@pytest.mark.parametrize("name", ["index.rst.txt", "INDEX.RST.TXT", "index.rst.txt.gz"])
def test_a_source_that_was_published_is_read_by_the_suffix_before(name: str) -> None:
    assert txt.read(b"Wool\n====\n\nIt is **soft**.\n", name).text == "Wool\n\nIt is soft."
    assert txt.read(b"Wool\n====\n\nIt is **soft**.\n", "index.2.txt").text.endswith("**soft**.\n")


def test_marks_without_end_are_looked_at_in_linear_time() -> None:
    for piece in ("<<", "`", "link:", ".. a", "[[", ":a", "a::\n", "include::"):
        assert markup_of(piece * 100_000) is None or piece in ("a::\n",)
