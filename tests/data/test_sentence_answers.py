"""Answers written as sentences: QA2D, VANiLLa, VQuAnDa and ParaQA."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dataset_checks import json_lines, sound, text, tsv

from wherefrom.data import paraqa, qa2d, squad, vanilla, vquanda
from wherefrom.data.bracketed import unbracketed
from wherefrom.data.faults import DatasetError

HEADER = list(qa2d.COLUMNS)
MILL = ["SQuAD", "57ab", "Who built the `` old '' mill ?", "Ada Poe", "Ada Poe built the old mill .", "Built Ada Poe ."]
RACE = ["RACE", "12", "Why go ?", "To see .", "One goes to see .", "To see goes ."]


def test_qa2d_keeps_what_people_wrote(tmp_path: Path) -> None:
    tsv(tmp_path / "dev.tsv", [HEADER, MILL, RACE])
    first, second = sound(lambda: qa2d.load(tmp_path, "valid"))
    assert (first.question.id, first.answers, first.sentences, first.kind) == (
        "SQuAD-57ab",
        ("Ada Poe",),
        ("Ada Poe built the old mill .",),
        "SQuAD",
    )
    assert second.kind == "RACE"
    (printed, _) = sound(lambda: qa2d.load(tmp_path, "valid", detokenize=True))
    assert (printed.question.text, printed.sentences) == ('Who built the "old" mill?', ("Ada Poe built the old mill.",))


def test_qa2d_finds_its_squad_passages_by_the_question(tmp_path: Path) -> None:
    context = "The mill was built by Ada Poe."
    questions = [
        {"id": id, "question": question, "answers": [{"text": "Ada Poe", "answer_start": 22}]}
        for id, question in (("x", 'Who built the "old" mill?'), ("y", "Who else?"))
    ]
    article = {"title": "Mill", "paragraphs": [{"context": context, "qas": questions}]}
    text(tmp_path / "train-v1.1.json", json.dumps({"data": [article]}))
    tsv(tmp_path / "train.tsv", [HEADER, MILL, RACE, ["SQuAD", "99", "Unknown ?", "a", "b", "c"]])
    (example,) = sound(lambda: qa2d.on_squad(qa2d.load(tmp_path, "train"), squad.load(tmp_path, "train")))
    assert (example.question.id, example.passages[0].text) == ("x", context)
    assert (example.answers, example.sentences) == (("Ada Poe",), ("Ada Poe built the old mill .",))


def test_wrong_qa2d_says_what_and_where(tmp_path: Path) -> None:
    tsv(tmp_path / "train.tsv", [HEADER, [*MILL[:4], " ", MILL[5]]])
    with pytest.raises(DatasetError, match="line 2: turker_answer: expected some text"):
        list(qa2d.load(tmp_path, "train"))
    tsv(tmp_path / "train.tsv", [HEADER, MILL[:5]])
    with pytest.raises(DatasetError, match="line 2: expected 6 fields"):
        list(qa2d.load(tmp_path, "train"))


def test_vanilla_repeats_some_ids(tmp_path: Path) -> None:
    record = {"question_id": 7, "question": "who sang ", "answer": "Bo", "answer_sentence": "Bo sang."}
    json_lines(tmp_path / "train.jsonl", [record, record | {"answer_sentence": "It was Bo who sang."}])
    first, second = sound(lambda: vanilla.load(tmp_path, "train"))
    assert (first.question.id, second.question.id) == ("7", "7~2")
    assert (first.question.text, first.answers, first.sentences) == ("who sang", ("Bo",), ("Bo sang.",))
    text(tmp_path / "Vanilla_Dataset_Test.json", json.dumps([record]))
    assert len(sound(lambda: vanilla.load(tmp_path, "test"))) == 1
    json_lines(tmp_path / "train.jsonl", [record | {"answer": None}])
    with pytest.raises(DatasetError, match=r"line 1: Expected `str`, got `null` - at `\$\.answer`"):
        list(vanilla.load(tmp_path, "train"))


@pytest.mark.parametrize(
    ("verbalised", "sentence", "answer"),
    [
        ("The mills are [Old Mill, New Mill].", "The mills are Old Mill, New Mill.", "Old Mill, New Mill"),
        ("[Bo] sang  it.", "Bo sang it.", "Bo"),
        ("No brackets here.", "No brackets here.", ""),
        ("[Bo] and [Al] sang.", "Bo and Al sang.", ""),
        ("Prizes are [Gold, see ''[[#Prizes].", "Prizes are Gold, see ''#Prizes.", "#Prizes"),
        ("", "", ""),
    ],
)
def test_brackets_hold_the_answer(verbalised: str, sentence: str, answer: str) -> None:
    assert unbracketed(verbalised) == (sentence, answer)


def test_vquanda_forms_are_no_sentences(tmp_path: Path) -> None:
    records = [
        {"uid": "1", "question": "Who sang?", "verbalized_answer": "[Bo] sang.", "query": "SELECT"},
        {"uid": "2", "question": "Who not?", "verbalized_answer": "Those are [answer].", "query": "SELECT"},
        {"uid": "3", "question": "Why?", "verbalized_answer": "", "query": "SELECT"},
    ]
    text(tmp_path / "train.json", json.dumps(records))
    examples = sound(lambda: vquanda.load(tmp_path, "train"))
    assert [(one.answers, one.sentences) for one in examples] == [(("Bo",), ("Bo sang.",)), ((), ()), ((), ())]
    text(tmp_path / "train.json", json.dumps([records[0], records[0]]))
    with pytest.raises(DatasetError, match="record 2: uid '1' came before"):
        list(vquanda.load(tmp_path, "train"))


def test_paraqa_gives_all_paraphrases_of_a_sentence_but_not_of_a_form(tmp_path: Path) -> None:
    records = [
        {
            "uid": "1",
            "question": "Who sang?",
            "verbalized_answer": "[Bo] sang.",
            "verbalized_answer_2": "The singer was [Bo].",
            "verbalized_answer_3": "[Bo] sang.",
            "verbalized_answer_4": "",
        },
        {"uid": 2, "question": "Who not?", "verbalized_answer": "Are [answer].", "verbalized_answer_2": "Are [more]."},
    ]
    text(tmp_path / "train.json", json.dumps(records))
    sung, form = sound(lambda: paraqa.load(tmp_path, "train"))
    assert (sung.answers, sung.sentences) == (("Bo",), ("Bo sang.", "The singer was Bo."))
    assert (form.answers, form.sentences) == ((), ())
