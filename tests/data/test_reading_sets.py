"""Reading comprehension as instructions (Quoref, DROP, ROPES, MultiRC), NQ-open and CuratedTREC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dataset_checks import json_lines, sound, tsv

from wherefrom.data import curatedtrec, drop, multirc, nqopen, quoref, ropes
from wherefrom.data.examples import Example
from wherefrom.data.faults import DatasetError


def test_quoref_questions_share_a_passage(tmp_path: Path) -> None:
    passage = "Ada met Bo.\nQuestion: is that so? \nShe left."
    json_lines(
        tmp_path / "quoref.jsonl",
        [
            {"input": f"Passage: {passage} \nQuestion: Who left?", "target": ["Ada.", "Ada Poe."]},
            {"input": f"Passage: {passage} \nQuestion: Who stayed?", "target": ["Bo."]},
            {"input": "Passage: Other. \nQuestion: Who?", "target": ["the U.S."]},
        ],
    )
    first, second, third = sound(lambda: quoref.load(tmp_path, "train"))
    assert (first.question.text, first.answers) == ("Who left?", ("Ada", "Ada Poe"))
    assert first.passages[0].text == passage  # the last Question: is the question
    assert first.article == second.article != third.article
    assert third.answers == ("the U.S",)


def test_drop_tells_the_type_of_the_answer(tmp_path: Path) -> None:
    record = {"input": "Passage: He ran 3 miles. \nQuestion: How far? \nAnswer type: Number ", "target": ["3."]}
    json_lines(tmp_path / "drop.jsonl", [record])
    (example,) = sound(lambda: drop.load(tmp_path))
    assert (example.question.text, example.answers, example.kind) == ("How far?", ("3",), "Number")


def test_ropes_has_two_passages(tmp_path: Path) -> None:
    record = {
        "input": "Background Paragraph: Salt melts ice. \nStory: Ed salted path A. \nQuestion: Which path is icy?",
        "target": ["path B."],
    }
    json_lines(tmp_path / "ropes.jsonl", [record])
    (example,) = sound(lambda: ropes.load(tmp_path, "train"))
    assert [passage.text for passage in example.passages] == ["Salt melts ice.", "Ed salted path A."]
    assert example.article == example.passages[0].id


def test_multirc_sentences_lose_their_numbers(tmp_path: Path) -> None:
    record = {
        "input": "Paragraph- Sent 1: Ed came.Sent 2: He (Sent) 3 left.Sent 3: Why? \nQuestion: Who came?.",
        "target": ["Ed.", "Ed came."],
    }
    json_lines(tmp_path / "multirc.jsonl", [record])
    (example,) = sound(lambda: multirc.load(tmp_path, "train"))
    assert example.passages[0].text == "Ed came. He (Sent) 3 left. Why?"
    assert (example.question.text, example.answers) == ("Who came?", ("Ed", "Ed came"))


@pytest.mark.parametrize("load", [quoref.load, drop.load, ropes.load, multirc.load])
@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"input": "Passage: a", "target": ["b"]}, "line 1: input: expected a line that begins with"),
        (
            {"input": "x \nQuestion: a \nAnswer type: b \nStory: c \nQuestion: d", "target": ["b"]},
            "input: expected a line",
        ),
        ({"input": "Passage: a \nQuestion: b", "target": []}, "line 1: target: expected at least one answer"),
        ({"input": "Passage: a", "target": "b"}, r"line 1: Expected `array`, got `str` - at `\$\.target`"),
    ],
)
def test_wrong_instructions_say_what_and_where(
    tmp_path: Path, load: Callable[[Path, str], Iterator[Example]], record: dict[str, object], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        list(load(json_lines(tmp_path / "a.jsonl", [record]), "train"))


def test_nqopen_with_the_gold_passage(tmp_path: Path) -> None:
    gold = {"title": "Walls", "text": "The wall is 3 m high.", "hasanswer": True, "isgold": True}
    other = {"title": "Doors", "text": "Doors open.", "hasanswer": False, "isgold": False}
    json_lines(tmp_path / "train.jsonl", [{"question": "how high", "answers": ["3 m", "three"], "ctxs": [other, gold]}])
    (example,) = sound(lambda: nqopen.load(tmp_path, "train"))
    assert (example.answers, example.relevant, example.answerable) == (("3 m", "three"), (False, True), True)
    assert example.passages[1].title == "Walls"


def test_nqopen_as_published(tmp_path: Path) -> None:
    json_lines(tmp_path / "NQ-open.dev.jsonl", [{"question": "how high", "answer": ["3 m"]}])
    (example,) = sound(lambda: nqopen.load(tmp_path, "dev"))
    assert (example.answers, example.passages, example.answerable) == (("3 m",), (), None)


def test_wrong_nqopen_says_what_and_where(tmp_path: Path) -> None:
    gold = {"title": "", "text": "", "isgold": True}
    for record, message in (
        ({"question": "q"}, "line 1: answers: expected at least one"),
        ({"question": "q", "answers": ["a"], "ctxs": [gold, {"title": "", "text": ""}]}, "expected isgold on all 2"),
        ({"question": "q", "answers": ["a"], "ctxs": [{"text": ""}]}, r"missing required field `title` - at `\$\.ctxs"),
    ):
        json_lines(tmp_path / "train.jsonl", [record])
        with pytest.raises(DatasetError, match=message):
            list(nqopen.load(tmp_path, "train"))


def test_curatedtrec_patterns_are_regular_expressions(tmp_path: Path) -> None:
    tsv(tmp_path / "curated-test.tsv", [["17", "factoid", "How deep is it?", r"1,?932\s?feet|56\.6\°C"]])
    (example,) = sound(lambda: curatedtrec.load(tmp_path, "test"))
    assert (example.question.id, example.patterns, example.kind) == ("17", (r"1,?932\s?feet|56\.6\°C",), "factoid")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["1", "factoid", "Who?", "(Ada"]], r"line 1: pattern: expected a regular expression, not '\(Ada'"),
        ([["1", "factoid", "Who?"]], r"line 1: expected 4 fields \(id, kind, question, pattern\), not 3"),
        ([["1", "factoid", "Who?", "a"], ["1", "factoid", "Why?", "b"]], "line 2: id '1' came before"),
    ],
)
def test_wrong_curatedtrec_says_what_and_where(tmp_path: Path, rows: list[list[str]], message: str) -> None:
    tsv(tmp_path / "curated-train.tsv", rows)
    with pytest.raises(DatasetError, match=message):
        list(curatedtrec.load(tmp_path, "train"))
