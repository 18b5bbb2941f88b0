"""Info manuals: nodes are sections; menus, indexes and tags are no text."""

from __future__ import annotations

from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest import info
from wherefrom.ingest.formats import kind_of, read

MANUAL = """This is knit.info, produced by makeinfo version 6.8 from knit.texi.

START-INFO-DIR-ENTRY
* Knit: (knit).  Threads.
END-INFO-DIR-ENTRY

\x1f
File: knit.info,  Node: Top,  Next: Needles,  Up: (dir)

The Knitter
***********

How to tie threads (*note Needles::).

* Menu:

* Needles::    What you hold.

Of wool

* Wool: Sheep wool.   What you tie.
                      More on it.
\x1f
File: knit.info,  Node: Needles,  Next: Sheep wool,  Prev: Top,  Up: Top

1 Needles
*********

Two needles of wood are held in both hands at
the same time.  See *note the wool: Sheep wool, for more.

     knit --all
     knit --purl

'-p'
'--purl'
     Knit backwards, as nobody does in the evenings when
     there is light.

   * one
   * two

1.1 Long needles
================

They bend.
\x1f
File: knit.info,  Node: Sheep wool,  Prev: Needles,  Up: Needles

It is soft \x00\x08[image src="sheep.png" text="a sheep"\x00\x08].
\x1f
File: knit.info,  Node: Index,  Prev: Sheep wool,  Up: Top

\x00\x08[index\x00\x08]
* Menu:

* wool:  Sheep wool.  (line 3)
\x1f
Tag Table:
Node: Top\x7f170
End Tag Table
"""


def test_nodes_are_sections_without_menus_and_tags() -> None:
    record = info.read(MANUAL.encode(), "knit.info.gz")
    assert record.title == "The Knitter"
    assert record.text == "\n\n".join(
        [
            "The Knitter",
            "How to tie threads (see Needles).",
            "1 Needles",
            "Two needles of wood are held in both hands at the same time. See the wool for more.",
            "     knit --all\n     knit --purl",
            "'-p', '--purl'\nKnit backwards, as nobody does in the evenings when there is light.",
            "* one\n* two",
            "1.1 Long needles",
            "They bend.",
            "Sheep wool",
            "It is soft .",
            "Index",
        ]
    )
    assert [place.label for place in record.places] == [
        "1 Needles",
        "1 Needles › 1.1 Long needles",
        "1 Needles › Sheep wool",
        "Index",
    ]


def test_info_is_known_by_its_nodes_whatever_it_is_called(tmp_path: Path) -> None:
    for name in ("knit.info", "knit.info-2", "knit.txt", "knit"):
        (tmp_path / name).write_text(MANUAL)
        assert kind_of(tmp_path / name) == "info"
    (tmp_path / "coverage.info").write_text("TN:\nSF:/a.c\nDA:1,2\n")
    (tmp_path / "many.info").write_text("This is many.info\n\x1f\nIndirect:\nmany.info-1: 300\n\x1f\nTag Table:\n")
    assert kind_of(tmp_path / "coverage.info") is None
    assert kind_of(tmp_path / "many.info") is None


def test_a_manual_is_found_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "knit.info").write_text(MANUAL)
    with Library(tmp_path / "library") as library:
        assert not library.ingest([tmp_path / "docs"]).failures
        assert [facts.title for facts in library.documents()] == ["The Knitter"]


def _node(name: str, up: str, body: str = "words") -> str:
    return f"\x1f\nFile: x.info,  Node: {name},  Up: {up}\n\n{body}\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (_node("A", "B") + _node("B", "A"), "A\n\nwords\n\nB\n\nwords"),  # in one another
        (_node("A", "A"), "A\n\nwords"),
        (_node("A", "nowhere", "* Menu:\n\n* B::\n\nThe end."), "A\n\nThe end."),
        (_node("A", "Top", "*note without end\n\nmore"), "A\n\n*note without end\n\nmore"),
        (_node("A", "Top", "=====\n====="), "====="),
        ("\x1f\nFile: x.info,  Node: A", "A"),
    ],
)
def test_awkward_manuals_are_read(text: str, wanted: str) -> None:
    assert info.read(text.encode(), "x.info").text.strip() == wanted


def test_one_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.info"
    path.write_bytes(_node("A", "Top").encode() + b"\x81\x8d\xff\x00" * 50)
    with pytest.raises(IngestError):
        next(read(path, IngestSettings()))


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text",
    [
        "".join(_node(f"n{at}", f"n{at + 1}") for at in range(50_000)),
        _node("A", "Top", "*note " * 200_000),
        _node("A", "Top", "see *note x:\n" * 100_000),
        _node("A", "Top", "\x00\x08[image " * 100_000),
        _node("A", "Top", "a\n=\n" * 200_000),
        _node("A", "Top", "* Menu:\n\nx\n\n" * 100_000),
        "\x1f\nFile: " * 200_000,
        "\x1f\nFile: x,  Node: " + "a " * 500_000,
    ],
)
def test_made_to_take_for_ever_it_is_read_at_once(text: str) -> None:
    info.read(text.encode(), "x.info")
