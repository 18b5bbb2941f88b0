"""Material for writing: what is joined, what is held out, and that spans are where they are said to be."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("safetensors", reason="the writer's material needs safetensors: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the writer's material needs tokenizers")

from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from evaluate.small_data import write_ten_passage_sources
from train.letters import letters_tokenizer, read
from wherefrom.data.examples import Example, whole
from wherefrom.errors import WherefromError
from wherefrom.evaluate.ten_passages import build
from wherefrom.evaluate.texts import passages_beside, texts_beside
from wherefrom.train.writing.corpus import (
    ShortAnswer,
    check_marks,
    closest,
    data_files,
    descriptive,
    joined_sentences,
    prepare,
    weak_labels,
)
from wherefrom.train.writing.material import load
from wherefrom.train.writing.report import alignment
from wherefrom.train.writing.sources import SOURCES
from wherefrom.types import Question

Columns = dict[str, NDArray[Any]]


def write_sources(folder: Path) -> Path:
    """All the datasets that the material is made of."""
    data = write_ten_passage_sources(folder)
    stories = data / "narrativeqa"
    stories.mkdir()
    with (stories / "summaries.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["document_id", "set", "summary"])
        rows.writerow(["s1", "train", "The dragon eats gold . " + "The king sleeps . " * 60 + "The queen is old ."])
        rows.writerow(["s2", "valid", "The king eats ."])
    with (stories / "qaps.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["document_id", "set", "question", "answer1", "answer2"])
        rows.writerow(["s1", "train", "What is old ?", "The queen", "queen"])
        rows.writerow(["s1", "train", "What eats ?", "a red dragon", "nobody knows"])
        rows.writerow(["s2", "valid", "Who eats ?", "the king", "the king"])
    for name in ("vanilla", "vquanda", "paraqa"):
        (data / "full_sentence" / name).mkdir(parents=True)
    said = {"question_id": 1, "question": "who sleeps", "answer": "Ana", "answer_sentence": "Ana sleeps."}
    (data / "full_sentence" / "vanilla" / "train.jsonl").write_text(json.dumps(said) + "\n")
    asked = {"uid": "1", "question": "Who is old?", "verbalized_answer": "[Ana] is old."}
    more = {"uid": "2", "question": "Who is red?", "verbalized_answer": "[Bo] is red."}
    form = {"uid": "3", "question": "Who walks?", "verbalized_answer": "[answer] walk."}
    (data / "full_sentence" / "vquanda" / "train.json").write_text(json.dumps([asked, more, form]))
    twice = {**asked, "verbalized_answer_2": "The old one is [Ana]."}
    (data / "full_sentence" / "paraqa" / "train.json").write_text(json.dumps([twice, form]))
    return data


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writer")
    data = write_sources(folder / "data")
    build(data, folder / "ten")
    letters_tokenizer().save(str(folder / "tokenizer.json"))
    path = folder / "writer.safetensors"
    counts = prepare(data, folder / "ten", folder / "tokenizer.json", path)
    assert counts["left out"] == 0
    again = folder / "again.safetensors"
    prepare(data, folder / "ten", folder / "tokenizer.json", again)
    assert again.read_bytes() == path.read_bytes()
    assert texts_beside(again).read_bytes() == texts_beside(path).read_bytes()
    return path


@pytest.fixture(scope="module")
def columns(made: Path) -> Columns:
    return load_file(made)


def text(columns: Columns, name: str, number: int) -> list[int]:
    starts = columns[f"{name}_starts"]
    tokens: list[int] = columns[f"{name}_tokens"][starts[number] : starts[number + 1]].tolist()
    return tokens


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def of(columns: Columns, source: str) -> list[int]:
    return [number for number, kind in enumerate(columns["source"].tolist()) if SOURCES[kind] == source]


def test_every_squad_question_knows_its_gold_passage_and_answer(columns: Columns) -> None:
    examples = of(columns, "ten-passages")
    assert len(examples) == 36
    assert {bool(columns["answerable"][number]) for number in examples} == {True, False}
    for number in examples:
        gold, answer = int(columns["gold"][number]), int(columns["answers_until"][number])
        first, last = columns["answer_span"][answer].tolist()
        passage = text(columns, "passage", gold)
        assert passage[first : last + 1] == text(columns, "answer", answer)
        begin, end = columns["answer_context"][answer].tolist()
        assert read(passage[begin:end]).endswith("bridges over its river .")
        given = columns["passages"][number].tolist()
        assert (gold in given) == bool(columns["answerable"][number])
        labels = [gold == passage_number for passage_number in given]
        assert labels == [bool(label) for label in columns["relevant"][number]]


def test_a_left_out_gold_passage_is_cut_as_the_library_cuts_it(columns: Columns) -> None:
    examples = of(columns, "ten-passages")
    numbers = {*columns["gold"][examples].tolist(), *columns["passages"][examples].ravel().tolist()} - {-1}
    passages = [tuple(text(columns, "passage", number)) for number in numbers]
    assert len(set(passages)) == len(passages), "the same passage twice: cut in two ways"


def test_sentences_of_validation_are_never_trained_on(columns: Columns, made: Path) -> None:
    for line in lines(texts_beside(made)):
        if line["source"] == "ten-passages":
            assert line["held"] == [line["valid"]] * len(line["sentences"])
    held = columns["sentence_valid"]
    assert held.tolist().count(1) == 1  # of town U; town A's is to be learned from
    assert len(columns["triple_sentence"]) == len(held) == 1 + 1 + 1 + 2 + 1


def test_texts_lie_beside_in_the_order_of_the_examples(columns: Columns, made: Path) -> None:
    texts = lines(texts_beside(made))
    assert [line["example"] for line in texts] == list(range(len(columns["question"])))
    (town,) = [line for line in texts if line["question"] == "How many bridges has town A in part 0?"]
    assert town["answers"] == ["650"]
    assert town["sentences"] == ["Town A has 650 bridges in part 0."]
    for line in texts:
        assert read(text(columns, "question", int(columns["question"][line["example"]]))).startswith(
            line["question"].split()[0].lower()
        )
    passages = lines(passages_beside(made))
    valid = columns["passages"][columns["valid"] == 1]
    assert {line["passage"] for line in passages} >= set(valid[valid >= 0].tolist())


def test_stories_have_passages_with_weak_labels(columns: Columns) -> None:
    first, second, _ = sorted(of(columns, "narrativeqa"), key=lambda number: bool(columns["valid"][number]))
    for number in (first, second):
        given = [passage for passage in columns["passages"][number].tolist() if passage >= 0]
        assert len(given) >= 2
        marked = [
            read(text(columns, "passage", given[k])) for k, on in enumerate(columns["weak"][number][: len(given)]) if on
        ]
        assert marked
        assert all("queen" in texts if number == first else "dragon" in texts for texts in marked)
        assert not columns["relevant"][number].any()
        assert columns["gold"][number] == -1
        assert columns["references"][number] == 2


def test_paraphrases_are_taken_once_and_forms_not_at_all(columns: Columns, made: Path) -> None:
    texts = lines(texts_beside(made))
    assert [line["sentences"] for line in texts if line["source"] == "paraqa"] == [
        ["Ana is old.", "The old one is Ana."]
    ]
    assert [line["sentences"] for line in texts if line["source"] == "vquanda"] == [["Bo is red."]]
    assert all(columns["gold"][number] == -1 for number in of(columns, "paraqa"))


def test_the_report_counts_what_can_be_copied(made: Path) -> None:
    report = alignment(load(made), texts_beside(made))
    assert report["short answers"]["ten-passages"]["from the passages"] == 1.0
    assert report["examples"]["ten-passages, train"]["sentences"] == 1
    # `Town A has 650 bridges in part 0 .`: all of it stands in question or passage
    assert report["sentences"]["train, with passage"]["from the vocabulary alone"] == 0.0
    assert report["sentences"]["train, with passage"]["whole sentences that can be copied"] == 1.0
    assert report["sentences with their short answer"]["ten-passages"]["word for word"] == 1.0
    assert json.loads(json.dumps(report)) == report


def test_all_files_that_it_is_made_of_are_known(made: Path) -> None:
    names = {f"{file.parent.name}/{file.name}" for file in data_files(made.parent / "data")}
    assert {"qa2d/valid.tsv", "narrativeqa/qaps.csv", "narrativeqa/summaries.csv", "paraqa/train.json"} <= names


def test_an_exact_answer_marks_its_passages_and_hides_likely_ones() -> None:
    passages = [whole("a", "A red dragon sleeps."), whole("b", "The dragon is here."), whole("c", "Nobody.")]
    assert weak_labels(passages, ["the dragon"]) == [False, True, False]
    assert weak_labels(passages, ["red dragons or a dragon"]) == [True, False, False]  # two of three words, then one
    assert weak_labels(passages, ["seven wise old giants"]) == [False, False, False]


def test_the_answer_closest_to_a_sentence_is_chosen() -> None:
    answers = [ShortAnswer("in May"), ShortAnswer("in the month of May 1998")]
    assert closest(answers, "It opened in the month of May 1998.") == 1
    assert closest(answers, "It opened in May.") == 0


@pytest.mark.parametrize(
    ("question", "left_out"),
    [
        ("What is photosynthesis?", True),
        ("define photosynthesis", True),
        ("How does a lamp work?", True),
        ("Why is the sky blue?", False),  # a description, without the words
        ("What year did it open?", False),  # numeric
        ("How many bridges are there?", False),
    ],
)
def test_descriptions_of_what_and_how_get_no_synthetic_sentence(question: str, left_out: bool) -> None:
    assert descriptive(question) is left_out


def squad_example(id: str, question: str, answer: str, sentence: str = "", kind: str = "SQuAD") -> Example:
    sentences = (sentence,) if sentence else ()
    return Example(Question(id, question), answers=(answer,), sentences=sentences, kind=kind)


def test_a_sentence_goes_to_the_question_with_its_answer() -> None:
    squad = {
        "train": [squad_example("t1", "Where is it?", "here"), squad_example("t2", "Where is it?", "there")],
        "valid": [squad_example("v1", "Who is it?", "Ana")],
    }
    rows = {
        "train": [
            squad_example("q1", "Where is it ?", "there", "It is there."),
            squad_example("q2", "Who is it ?", "Ana", "It is Ana."),
            squad_example("q3", "When is it ?", "now", "It is now.", "RACE"),
            squad_example("q4", "Where was it ?", "here", "It was here."),
        ],
        "valid": [
            squad_example("q5", "When is it ?", "now", "Now it is.", "RACE"),
            squad_example("q6", "How is it ?", "x", "It is x."),
        ],
    }
    joined, alone = joined_sentences(rows, squad)
    assert {id: [(sentence, held) for _, sentence, held in rows] for id, rows in joined.items()} == {
        "t2": [("It is there.", False)],
        "v1": [("It is Ana.", True)],
    }
    # q3 asks what the held out q5 asks
    assert [(one.id, one.held) for one in alone] == [
        ("valid-q5", [True]),
        ("valid-q6", [True]),
        ("train-q3", [True]),
        ("train-q4", [False]),
    ]


def test_a_vocabulary_with_the_marks_elsewhere_is_refused() -> None:
    tokenizer = Tokenizer.from_str(
        letters_tokenizer().to_str().replace('"[unused1]":2', '"[unused1]":1').replace('"[unused0]":1', '"[unused0]":2')
    )
    with pytest.raises(WherefromError, match="unused1"):
        check_marks(tokenizer)
