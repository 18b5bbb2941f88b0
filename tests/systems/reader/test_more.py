"""What readers learn from beside SQuAD: near misses, questions as typed, other people's, yes and no."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx", reason="weights are read out of ONNX: pip install 'wherefrom[train]'")

import numpy

from wherefrom.data import asked_tasks, boolq, subjqa
from wherefrom.data.examples import Example, GoldSpan, whole
from wherefrom.data.faults import DatasetError
from wherefrom.features.tags import Tagger
from wherefrom.runtime.weights import SHIPPED, Weights
from wherefrom.systems.reader.more import statements
from wherefrom.systems.reader.near_miss import NearMiss, near_misses, wordnet_antonyms
from wherefrom.text import FUNCTION_WORDS
from wherefrom.train.dequantize import dequantized
from wherefrom.train.typed import keywords, misspelt
from wherefrom.types import Question

MILL = whole(
    "mill#0", "Anna Berg built the large mill at Orrin in 1874. Paul Dorn repaired it in 1902 and 1950.", "Mill"
)
PIER = whole(
    "mill#1", "The pier at Orrin was closed after the storm of 1911. The mayor gave the key to Paul Dorn.", "Mill"
)


def asking(number: int, text: str, passage: Any, answer: str) -> Example:
    at = passage.text.index(answer)
    span = GoldSpan(passage.id, at, at + len(answer), answer)
    return Example(
        Question(f"q{number}", text), (passage,), (True,), (), (answer,), (span,), answerable=True, article="Mill"
    )


QUESTIONS = [
    asking(0, "When did Anna Berg build the large mill at Orrin?", MILL, "1874"),
    asking(1, "Who repaired the mill in 1902?", MILL, "Paul Dorn"),
    asking(2, "Why was the pier at Orrin closed in 1911?", PIER, "the storm of 1911"),
    asking(3, "Who gave the key of the pier at Orrin to Paul Dorn?", PIER, "The mayor"),
]


@pytest.fixture(scope="module")
def made() -> list[NearMiss]:
    tagger = Tagger(Weights.named("tagger"))
    antonyms = {"large": ["small"], "closed": ["opened"], "gave": ["took"]}
    return [miss for seed in range(12) for miss in near_misses(QUESTIONS, tagger, antonyms, seed)]


def test_a_near_miss_is_another_question_over_a_passage_of_the_article(made: list[NearMiss]) -> None:
    originals = {(example.question.text, example.passages[0].id) for example in QUESTIONS}
    assert {miss.passage.id for miss in made} == {MILL.id, PIER.id}
    assert not originals & {(miss.question, miss.passage.id) for miss in made}
    assert {"number", "antonym"} <= {miss.kind for miss in made}


def test_a_number_is_changed_for_another_as_long_and_never_into_the_answer(made: list[NearMiss]) -> None:
    numbers = [miss.question for miss in made if miss.kind == "number"]
    assert numbers
    assert {question for question in numbers if "mill" in question} <= {
        "Who repaired the mill in 1874?",
        "Who repaired the mill in 1950?",
    }


def test_a_neighbours_question_comes_only_where_its_answer_does_not_stand(made: list[NearMiss]) -> None:
    moved = {(miss.question, miss.passage.id) for miss in made if miss.kind == "neighbour"}
    assert ("Who gave the key of the pier at Orrin to Paul Dorn?", MILL.id) in moved
    assert not [
        question for question, passage in moved if question == QUESTIONS[1].question.text and passage == PIER.id
    ]


def test_the_same_seed_makes_the_same() -> None:
    tagger = Tagger(Weights.named("tagger"))
    first, again = (list(near_misses(QUESTIONS, tagger, {}, 3)) for _ in range(2))
    assert first == again


def test_antonyms_are_read_from_wordnets_files(tmp_path: Path) -> None:
    lines = "  1 a licence\n"
    lines += "00001 00 a 01 large 0 001 ! 00002 a 0101 | of size\n00002 00 a 01 small 0 001 ! 00001 a 0101 | of size\n"
    for part in ("adj", "adv", "noun", "verb"):
        (tmp_path / f"data.{part}").write_text(lines if part == "adj" else "")
    antonyms = wordnet_antonyms(tmp_path)
    assert "small" in antonyms["large"]
    assert "large" in antonyms["small"]


def test_questions_as_typed() -> None:
    text = "How do I switch on the memory mapped files?"
    assert keywords(text) == "switch memory mapped files"
    assert not set(keywords(text).split()) & FUNCTION_WORDS
    slipped = misspelt(text, random.Random(4), share=1.0)
    assert slipped != text
    assert all(a == b for a, b in zip(text.split(), slipped.split(), strict=True) if len(a.strip("?")) <= 5)


def test_yes_no_questions_keep_their_passages_apart_by_split(tmp_path: Path) -> None:
    """Train and valid are numbered alike: passages with the same id would be taken for one."""
    for split, label in (("train", 1), ("valid", 0)):
        line = f'{{"question": "is it {split}", "passage": "Title -- It is {split}.", "label": {label}}}\n'
        (tmp_path / f"{split}.jsonl").write_text(line)
    (first,), (second,) = (list(boolq.load(tmp_path, split)) for split in ("train", "valid"))
    assert (first.answers, second.answers) == (("yes",), ("no",))
    assert first.passages[0].id != second.passages[0].id
    assert (first.passages[0].title, first.passages[0].text) == ("Title", "It is train.")


def test_reviews_that_do_not_answer_say_so(tmp_path: Path) -> None:
    columns = "domain,question,review,review_id,human_ans_spans,human_ans_indices\n"
    rows = 'books,How is the plot?,The plot is slow. ANSWERNOTFOUND,r1,The plot is slow,"(0, 16)"\n'
    rows += 'books,How is the cover?,The plot is slow. ANSWERNOTFOUND,r1,ANSWERNOTFOUND,"(18, 32)"\n'
    (tmp_path / "books.train.csv").write_text(columns + rows)
    answered, open_ = subjqa.load(tmp_path)
    assert [span.text for span in answered.spans] == ["The plot is slow"]
    assert (open_.answerable, open_.answers) == (False, ())
    assert "ANSWERNOTFOUND" not in answered.passages[0].text
    with pytest.raises(DatasetError):
        list(subjqa.load(tmp_path / "nowhere"))


def test_a_task_is_read_by_its_form(tmp_path: Path) -> None:
    line = '{"input": "Context: The mill is old. Question: How is the mill?", "target": ["old"]}\n'
    (tmp_path / "task239_tweetqa_answer_generation.jsonl").write_text(line + '{"input": "no form", "target": ["x"]}\n')
    (example,) = asked_tasks.load(tmp_path, "tweetqa")
    assert (example.question.text, example.passages[0].text) == ("How is the mill?", "The mill is old.")
    assert example.answers == ("old",)


def test_statements_are_true_false_or_open(tmp_path: Path) -> None:
    for number in ("190", "199", "1344", "1529", "1554", "1385", "1386", "1387", "200", "201", "202"):
        (tmp_path / f"task{number}_x.jsonl").write_text("")
    anli = '{"input": "The mill is old.<sep>The mill is new.", "target": ["Contradiction"]}\n'
    (tmp_path / "task1385_x.jsonl").write_text(anli)
    choice = "Statement: The mill is old. Choices: 1. It is new. 2. It is not new. 3. It is red."
    (tmp_path / "task200_x.jsonl").write_text(f'{{"input": "{choice}", "target": ["2"]}}\n')
    assert list(statements(tmp_path)) == [
        ("The mill is old.", "The mill is new.", False),
        ("The mill is old.", "It is not new.", True),
    ]


def test_the_shipped_reader_becomes_weights_again() -> None:
    """By the names that its network has in torch, each as large as its file allows for."""
    weights = dequantized(SHIPPED / "reader" / "model.onnx")
    assert weights["encoder.word.weight"].shape == (30522, 384)
    assert weights["span.weight"].shape == (2, 384)
    layers = {name.split(".")[2] for name in weights if name.startswith("encoder.layers.")}
    assert layers == {str(layer) for layer in range(12)}
    assert all(numpy.isfinite(value).all() for value in weights.values())
