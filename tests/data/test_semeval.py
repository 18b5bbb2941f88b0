"""SemEval 2015-2017 in the organisers' XML and in pairs."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from dataset_checks import sound, text, tsv

from wherefrom.data import semeval
from wherefrom.data.faults import DatasetError

XML_2015 = """<?xml version="1.0" encoding="UTF-8"?>
<root>
<Question QID="Q1" QCATEGORY="Visas" QDATE="2010-01-01" QUSERID="U1" QTYPE="GENERAL" QGOLD_YN="Not Applicable">
<QSubject>New  permit</QSubject>
<QBody>Where do I get one &amp; how?
Thanks</QBody>
<Comment CID="Q1_C1" CUSERID="U2" CGOLD="Good">
<CSubject>RE</CSubject><CBody>At the office.</CBody></Comment>
<Comment CID="Q1_C2" CUSERID="U3" CGOLD="Potential"><CSubject/><CBody>Maybe é</CBody></Comment>
<Comment CID="Q1_C3" CUSERID="U3" CGOLD="Dialogue"><CSubject/><CBody></CBody></Comment>
</Question>
</root>
"""

XML_2016 = """<?xml version="1.0" encoding="UTF-8"?>
<xml>
<OrgQuestion ORGQ_ID="Q268">
<OrgQSubject>Jobs</OrgQSubject><OrgQBody>Any jobs?</OrgQBody>
<Thread THREAD_SEQUENCE="Q268_R4">
<RelQuestion RELQ_ID="Q268_R4" RELQ_RANKING_ORDER="4" RELQ_CATEGORY="Jobs" RELQ_DATE="2009" RELQ_USERID="U9"
 RELQ_USERNAME="x" RELQ_RELEVANCE2ORGQ="Relevant">
<RelQSubject>Job</RelQSubject><RelQBody>Where?</RelQBody></RelQuestion>
<RelComment RELC_ID="Q268_R4_C1" RELC_RELEVANCE2ORGQ="Bad" RELC_RELEVANCE2RELQ="Good">
<RelCText>Here.</RelCText></RelComment>
<RelComment RELC_ID="Q268_R4_C2" RELC_RELEVANCE2ORGQ="Bad" RELC_RELEVANCE2RELQ="PotentiallyUseful">
<RelCText>So.</RelCText></RelComment>
</Thread>
</OrgQuestion>
</xml>
"""


def test_2015_xml(tmp_path: Path) -> None:
    text(tmp_path / "CQA-QL-devel.xml", XML_2015)
    (example,) = sound(lambda: semeval.load_2015(tmp_path, "dev"))
    assert example.question.text == "New permit Where do I get one & how? Thanks"
    assert [passage.text for passage in example.passages] == ["At the office.", "Maybe é", ""]
    assert (example.relevant, example.grades) == ((True, False, False), (2, 1, 0))
    assert (example.kind, example.article, example.passages[0].id) == ("Visas", "Q1", "Q1_C1")


def test_2016_xml_ranks_comments_for_the_related_question(tmp_path: Path) -> None:
    name = "SemEval2016-Task3-CQA-QL-train-part"
    (tmp_path / f"{name}1.xml.xz").write_bytes(lzma.compress(XML_2016.encode()))
    text(tmp_path / f"{name}2.xml", XML_2016.replace("Q268", "Q269"))
    first, second = sound(lambda: semeval.load_2016(tmp_path, "train"))
    assert (first.question.id, first.question.text, first.article) == ("Q268_R4", "Job Where?", "Q268")
    assert (first.relevant, first.grades) == ((True, False), (2, 1))
    assert second.question.id == "Q269_R4"
    assert sound(lambda: semeval.load_2017(tmp_path, "train")) == [first, second]


def test_files_for_subtask_a_are_not_read_twice(tmp_path: Path) -> None:
    for end in ("", "-subtaskA"):
        text(tmp_path / f"SemEval2016-Task3-CQA-QL-dev{end}.xml", XML_2016)
    assert len(list(semeval.load_2016(tmp_path, "valid"))) == 1


def test_hidden_labels_come_from_the_gold_file(tmp_path: Path) -> None:
    hidden = XML_2015
    for tag in ("Good", "Potential", "Dialogue"):
        hidden = hidden.replace(f'CGOLD="{tag}"', 'CGOLD="?"')
    file = text(tmp_path / "test_task3_English.xml", hidden)
    gold = tsv(tmp_path / "CQA-QL-test-gold.txt", [["Q1_C1", "Bad"], ["Q1_C2", "Good"], ["Q1_C3", "Bad"]])
    (unlabelled,) = sound(lambda: semeval.load_2015(file, "test"))
    assert (unlabelled.relevant, unlabelled.grades) == ((), ())
    (labelled,) = sound(lambda: semeval.load_2015(tmp_path, "test", labels=gold))
    assert labelled.relevant == (False, True, False)


def test_pairs(tmp_path: Path) -> None:
    rows = [["question", "answer", "label"], ["where ", "here ", "0 "], ["where ", "", "1 "], ["who ", "me", "1"]]
    tsv(tmp_path / "semeval2017_valid.tsv", rows)
    first, second = sound(lambda: semeval.load_2017(tmp_path, "valid"))
    assert (first.question.text, first.relevant, second.relevant) == ("where", (False, True), (True,))


def test_packed_xml_cut_short_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "CQA-QL-train.xml"
    file.write_bytes(lzma.compress(XML_2015.encode())[:-30])
    with pytest.raises(DatasetError, match="is cut short or damaged"):
        list(semeval.load_2015(file, "train"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (XML_2015.replace('CGOLD="Good"', 'CGOLD="Fine"'), "question 1: CGOLD: expected one of Good, .* not 'Fine'"),
        (XML_2015.replace('CGOLD="Good"', 'CGOLD="?"'), r"question 1: CGOLD: expected one of Good, .* not '\?'"),
        (XML_2015.replace('QID="Q1"', ""), "question 1: expected an attribute QID of <Question>"),
        (XML_2015.replace("QBody>", "Body>"), "question 1: expected a <QBody> in <Question>"),
        (XML_2015.replace("Q1_C2", "Q1_C1"), "question 1: CID 'Q1_C1' came before"),
        (XML_2016.replace("RelQuestion", "Rel"), "question 1: expected a <RelQuestion>"),
        (XML_2015.replace("&amp;", "&"), "line 5: expected XML: not well-formed"),
        (XML_2015[:300], "expected XML"),
        ("<root></root>", "expected <Question> or <Thread> elements, found none"),
    ],
)
def test_wrong_xml_says_what_and_where(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        list(semeval.load_2015(text(tmp_path / "CQA-QL-train.xml", content), "train"))
