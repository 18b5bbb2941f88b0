"""Org and AsciiDoc files give their words without the marks."""

from __future__ import annotations

from wherefrom.ingest import asciidoc, org

ORG = """#+TITLE: My *Notes*
#+DATE: <2024-02-03 Sat>
* TODO [#A] Garden :home:
  SCHEDULED: <2024-03-01>
  :PROPERTIES:
  :ID: secret
  :END:
The /old/ tree, see [[https://x.org][the site]].
- [X] water it
- prune
| Tree | Age |
|------+-----|
| Oak  | 90  |
#+begin_src sh
ls

pwd
#+end_src
** Pond
Frogs.
"""

ADOC = """= The Guide
Ann Other <a@x.org>
:toc:

== Install

Run *this*, see https://x.org[the site] or <<next,below>>.

. first
. second

* one
** two

CPU:: The processor.

[source,sh]
----
ls

pwd
----

|===
|Name |Value

|a |1
|===

include::/etc/passwd[]

NOTE: Take care.
"""


def test_an_org_file_reads_as_it_is_shown() -> None:
    record = org.read(ORG.encode(), "notes.org")
    assert (record.title, record.date) == ("My Notes", "2024-02-03")
    assert record.text == "\n\n".join(
        [
            "Garden",
            "The old tree, see the site.",
            "- water it\n- prune",
            "Tree | Age\nOak | Age: 90",
            "ls\n \npwd",
            "Pond",
            "Frogs.",
        ]
    )
    assert [place.label for place in record.places] == ["Garden", "Garden › Pond"]


def test_an_asciidoc_file_reads_as_it_is_shown() -> None:
    record = asciidoc.read(ADOC.encode(), "guide.adoc")
    assert record.title == "The Guide"
    assert record.text == "\n\n".join(
        [
            "The Guide",
            "Ann Other <a@x.org>",
            "Install",
            "Run this, see the site or below.",
            "1. first\n2. second",
            "- one\n- two",
            "CPU\nThe processor.",
            "ls\n \npwd",
            "Name | Value\na | Value: 1",
            "NOTE: Take care.",
        ]
    )


def test_blocks_without_end_are_read() -> None:
    assert "words" in org.read(b"#+begin_src\nwords", "x.org").text
    assert "words" in asciidoc.read(b"----\nwords", "x.adoc").text
    assert asciidoc.read(b"|===\n|words", "x.adoc").text == "words"


MANUAL = """git-knit(1)
===========

NAME
----
git-knit - Tie threads together

SYNOPSIS
--------
[verse]
'git knit' [--purl]
'git knit' --undo

DESCRIPTION
-----------
It joins threads, as linkgit:git-sew[1] does:

 git knit [--all]
   again

[NOTE]
Wash it first.

OPTIONS
-------
-p::
--purl::
	Knit backwards.

    And slowly.
"""


def test_an_asciidoc_manual_keeps_its_listings_and_the_names_of_an_option() -> None:
    record = asciidoc.read(MANUAL.encode(), "git-knit.txt")
    assert record.text == "\n\n".join(
        [
            "git-knit(1)",
            "NAME",
            "git-knit - Tie threads together",
            "SYNOPSIS",
            "'git knit' [--purl]\n'git knit' --undo",
            "DESCRIPTION",
            "It joins threads, as git-sew(1) does:",
            " git knit [--all]\n   again",
            "Wash it first.",
            "OPTIONS",
            "-p, --purl\nKnit backwards.",
            "And slowly.",
        ]
    )
    assert [place.label for place in record.places] == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"]
