"""SemEval 2015-2017 task 3: questions of a forum with the comments below them, labelled by how well they answer.

Subtask A in the official XML (2015: `Question` and `Comment`; 2016 and 2017: `RelQuestion` and `RelComment` in a
`Thread`), or rows of question, answer, label. "Good" is right, every other tag wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import DatasetError, Ids, RecordPlace
from wherefrom.data.opening import Files, open_bytes, readable, split_files, starts_with, tsv_rows
from wherefrom.data.pairs import from_tsv
from wherefrom.types import Question

# The files for subtask A are taken where they lie beside those for all subtasks: they hold the same threads.
_TRAIN_2016 = ("SemEval2016-Task3-CQA-QL-train-part?-subtaskA.xml", "SemEval2016-Task3-CQA-QL-train-part?.xml")
_DEV_2016 = ("SemEval2016-Task3-CQA-QL-dev-subtaskA.xml", "SemEval2016-Task3-CQA-QL-dev.xml")
FILES: dict[int, Files] = {
    2015: {
        "train": ("semeval2015_train.tsv", "CQA-QL-train.xml"),
        "valid": ("semeval2015_valid.tsv", "CQA-QL-devel.xml"),
        "test": ("semeval2015_test.tsv", "CQA-QL-test.xml", "test_task3_English.xml"),
    },
    2016: {
        "train": ("semeval2016_train.tsv", *_TRAIN_2016),
        "valid": ("semeval2016_valid.tsv", *_DEV_2016),
        "test": (
            "semeval2016_test.tsv",
            "SemEval2016-Task3-CQA-QL-test-subtaskA.xml",
            "SemEval2016-Task3-CQA-QL-test.xml",
        ),
    },
    2017: {
        "train": ("semeval2017_train.tsv", *_TRAIN_2016),
        "valid": ("semeval2017_valid.tsv", *_DEV_2016),
        "test": (
            "semeval2017_test.tsv",
            "SemEval2017-task3-English-test-subtaskA.xml",
            "SemEval2017-task3-English-test.xml",
        ),
    },
}
GRADES = {
    "Good": 2,
    "PotentiallyUseful": 1,
    "Potential": 1,
    "Bad": 0,
    "Dialogue": 0,
    "Not English": 0,
    "Non-English": 0,
    "Other": 0,
}
HIDDEN = ("?", "N/A", "")  # the tag where the organisers keep the label, or never made one


@dataclass(frozen=True, slots=True)
class _Form:
    """What the year calls things."""

    record: str
    question: str  # "." where the record is the question itself
    id: str
    category: str
    subject: str
    body: str
    comment: str
    comment_id: str
    text: str
    label: str


_FORMS = {
    "Question": _Form("Question", ".", "QID", "QCATEGORY", "QSubject", "QBody", "Comment", "CID", "CBody", "CGOLD"),
    "Thread": _Form(
        "Thread",
        "RelQuestion",
        "RELQ_ID",
        "RELQ_CATEGORY",
        "RelQSubject",
        "RelQBody",
        "RelComment",
        "RELC_ID",
        "RelCText",
        "RELC_RELEVANCE2RELQ",
    ),
}


def load_2015(path: Path, split: str, *, labels: Path | None = None) -> Iterator[Example]:
    """SemEval 2015; `labels` is the organisers' gold file, for XML in which the labels are hidden."""
    return _load(path, split, 2015, labels)


def load_2016(path: Path, split: str, *, labels: Path | None = None) -> Iterator[Example]:
    """SemEval 2016; all `train` parts that lie in the folder are read, one after the other."""
    return _load(path, split, 2016, labels)


def load_2017(path: Path, split: str, *, labels: Path | None = None) -> Iterator[Example]:
    """SemEval 2017: train and valid are those of 2016, test is new."""
    return _load(path, split, 2017, labels)


def _load(path: Path, split: str, year: int, labels: Path | None) -> Iterator[Example]:
    files = split_files(path, split, FILES[year])
    if starts_with(files[0], b"<"):
        return _from_xml(files, _hidden_labels(labels) if labels is not None else {})
    return chain.from_iterable(from_tsv(file, f"semeval{year}") for file in files)


def _hidden_labels(path: Path) -> dict[str, str]:
    """Comment id to tag, from the organisers' gold file."""
    return {row["id"].strip(): row["tag"].strip() for _, row in tsv_rows(path, ("id", "tag"), header=False)}


def _from_xml(files: Sequence[Path], labels: dict[str, str]) -> Iterator[Example]:
    ids = Ids()
    for file in files:
        number = 0
        for form, element in _elements(file):
            number += 1
            yield _example(element, form, labels, ids, RecordPlace(file, number, "question"))
            element.clear()  # or the whole file stays in memory
        if not number:
            raise DatasetError(f"{file}: expected <Question> or <Thread> elements, found none")


def _elements(path: Path) -> Iterator[tuple[_Form, ElementTree.Element]]:
    with readable(path), open_bytes(path) as handle:
        try:
            for _, element in ElementTree.iterparse(handle):
                if element.tag in _FORMS:
                    yield _FORMS[element.tag], element
        except ElementTree.ParseError as error:
            raise RecordPlace(path, error.position[0]).fault(f"expected XML: {error}") from error


def _example(thread: ElementTree.Element, form: _Form, labels: dict[str, str], ids: Ids, place: RecordPlace) -> Example:
    question = thread if form.question == "." else thread.find(form.question)
    if question is None:
        raise place.fault(f"expected a <{form.question}>")
    id = ids.distinct(_attribute(question, form.id, place))
    comments = thread.findall(form.comment)
    comment_ids = Ids()
    passages = tuple(
        whole(
            comment_ids.once(_attribute(comment, form.comment_id, place), place, form.comment_id),
            _text(comment, form.text, place),
        )
        for comment in comments
    )
    grades = _grades(comments, form, labels, place)
    return Example(
        Question(id, " ".join(f"{_text(question, form.subject, place)} {_text(question, form.body, place)}".split())),
        passages,
        tuple(grade == GRADES["Good"] for grade in grades),
        grades,
        kind=question.get(form.category, ""),
        article=id.partition("_")[0],  # of 2016 on, the new question that the thread was found for
    )


def _grades(
    comments: Sequence[ElementTree.Element], form: _Form, labels: dict[str, str], place: RecordPlace
) -> tuple[int, ...]:
    tags = [comment.get(form.label, "") for comment in comments]
    tags = [labels.get(comment.get(form.comment_id, ""), tag) for comment, tag in zip(comments, tags, strict=True)]
    if all(tag in HIDDEN for tag in tags):
        return ()
    for tag in tags:
        if tag not in GRADES:
            raise place.fault(f"{form.label}: expected one of {', '.join(GRADES)}, not {tag!r}")
    return tuple(GRADES[tag] for tag in tags)


def _attribute(element: ElementTree.Element, name: str, place: RecordPlace) -> str:
    value = element.get(name)
    if not value:
        raise place.fault(f"expected an attribute {name} of <{element.tag}>")
    return value


def _text(element: ElementTree.Element, name: str, place: RecordPlace) -> str:
    child = element.find(name)
    if child is None:
        raise place.fault(f"expected a <{name}> in <{element.tag}>")
    return child.text or ""
