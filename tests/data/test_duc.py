"""DUC 2005-2007 as NIST packs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from dataset_checks import sound, text

from wherefrom.data import duc
from wherefrom.data.faults import DatasetError
from wherefrom.errors import SettingsError

TOPICS = """<topics>
<topic>
<num> D0601A </num>
<title> Canal
 locks </title>
<narr>
Discuss how locks work &amp; fail.
Include examples.
</narr>
</topic>
</topics>
"""
TAGGED = """<DOC>
<DOCNO> APW19990707.0181 </DOCNO>
<DATE_TIME> 1999-07-07 </DATE_TIME>
<BODY>
<HEADLINE> Lock &UR; opens </HEADLINE>
<TEXT>
<P>
A lock opened &AMP; closed.
It held.
</P>
<P> Boats passed. </P>
</TEXT>
</BODY>
</DOC>
"""
UNTAGGED = """<DOC>
<DOCNO>FT941-1</DOCNO>
<TEXT>
   The old lock at Poë
leaked.
   It was mended.

Later it failed.
</TEXT>
</DOC>
"""
SEE = """<html><head><title>D0601.M.250.A.B</title></head>
<body bgcolor="white">
<a name="1">[1]</a> <a href="#1" id=1>Locks lift boats.</a>
<a name="2">[2]</a> <a href="#2" id=2>Some fail.</a>
</body></html>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text(tmp_path / "duc2006_topics.sgml", TOPICS)
    text(tmp_path / "duc2006_docs" / "D0601A" / "APW19990707.0181", TAGGED)
    text(tmp_path / "duc2006_docs" / "D0601A" / "FT941-1", UNTAGGED, encoding="latin-1")
    text(tmp_path / "results" / "ROUGE" / "models" / "D0601.M.250.A.A", "Locks lift boats.\n\nThey can leak.\n")
    text(tmp_path / "results" / "ROUGE" / "models" / "D0601.M.250.A.B.html", SEE)
    text(tmp_path / "copies" / "D0601.M.250.A.A", "Locks lift boats.\n\nThey can leak.\n")
    text(tmp_path / "results" / "ROUGE" / "peers" / "D0601.M.250.A.12", "A system wrote this.\n")
    return tmp_path


def test_a_topic_with_its_articles_and_human_summaries(folder: Path) -> None:
    (example,) = sound(lambda: duc.load(folder, "2006"))
    assert (example.question.id, example.question.text) == (
        "D0601A",
        "Canal locks\nDiscuss how locks work & fail. Include examples.",
    )
    tagged, untagged = example.passages
    assert (tagged.id, tagged.title) == ("APW19990707.0181", "Lock opens")
    assert tagged.text == "A lock opened & closed. It held.\n\nBoats passed."
    assert untagged.text == "The old lock at Poë leaked.\n\nIt was mended.\n\nLater it failed."
    assert example.summaries == ("Locks lift boats.\nThey can leak.", "Locks lift boats.\nSome fail.")


def test_a_picture_has_a_caption_for_its_text(folder: Path) -> None:
    text(folder / "duc2006_docs" / "D0601A" / "FT941-1", UNTAGGED.replace("TEXT", "GRAPHIC"))
    assert next(duc.load(folder, "2006")).passages[1].text.startswith("The old lock")


def test_what_is_asked_can_be_chosen(folder: Path) -> None:
    questions = {query: next(duc.load(folder, "2006", query=query)).question.text for query in ("narrative", "title")}
    assert questions == {"narrative": "Discuss how locks work & fail. Include examples.", "title": "Canal locks"}
    with pytest.raises(SettingsError, match="query knows no 'titel'; did you mean title"):
        duc.load(folder, "2006", query="titel")


def test_names_of_2005_are_written_small(tmp_path: Path) -> None:
    topics = TOPICS.replace("D0601A", "d301i").replace("</narr>", "</narr>\n<granularity> specific </granularity>")
    text(tmp_path / "duc2005_topics.sgml", topics)
    text(tmp_path / "d301i" / "FT941-1", UNTAGGED)
    text(tmp_path / "models" / "D301.M.250.I.C", "It leaks.")
    (example,) = sound(lambda: duc.load(tmp_path, "2005"))
    assert (example.question.id, example.summaries) == ("d301i", ("It leaks.",))


def test_summaries_can_be_done_without(folder: Path) -> None:
    for file in list(folder.rglob("D0601.M.250.A.[AB]*")):
        file.unlink()
    with pytest.raises(
        DatasetError, match=r"topic 1: num D0601A: expected human summaries such as D0601\.M\.250\.A\.A"
    ):
        list(duc.load(folder, "2006"))
    assert next(duc.load(folder, "2006", models=False)).summaries == ()


def test_missing_parts_are_named(folder: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no \*2007\*topics\*\.sgml, at any depth"):
        duc.load(folder, "2007")
    with pytest.raises(DatasetError, match="is no folder"):
        duc.load(folder / "duc2006_topics.sgml", "2006")
    with pytest.raises(SettingsError, match="split knows no '2008'"):
        duc.load(folder, "2008")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("duc2006_topics.sgml", TOPICS.replace("narr>", "n>"), "topic 1: expected <narr>"),
        ("duc2006_topics.sgml", TOPICS.replace("D0601A", ""), "topic 1: num: expected some text"),
        ("duc2006_topics.sgml", TOPICS.replace("D0601A", "D0602B"), "num D0602B: expected a folder of that name"),
        ("duc2006_topics.sgml", "", "expected <topic> elements, found none"),
        ("duc2006_docs/D0601A/FT941-1", "no tags", "FT941-1: expected a <DOC> element"),
        ("duc2006_docs/D0601A/FT941-1", UNTAGGED.replace("TEXT", "T"), "FT941-1, DOC 1: expected <text>"),
        ("duc2006_docs/D0601A/FT941-1", UNTAGGED * 2, "FT941-1, DOC 2: DOCNO 'FT941-1' came before"),
    ],
)
def test_wrong_files_say_what_and_where(folder: Path, file: str, content: str, message: str) -> None:
    text(folder / file, content)
    with pytest.raises(DatasetError, match=message):
        list(duc.load(folder, "2006"))


def test_a_topic_without_articles_is_an_error(folder: Path) -> None:
    for file in (folder / "duc2006_docs" / "D0601A").iterdir():
        file.unlink()
    with pytest.raises(DatasetError, match="num D0601A: expected articles in"):
        list(duc.load(folder, "2006"))
