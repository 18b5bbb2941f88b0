"""QUASAR-T."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from dataset_checks import json_lines, sound

from wherefrom.data import quasar
from wherefrom.data.faults import DatasetError

QUESTIONS = [
    {"uid": "s3q1", "question": "Which metal is liquid ?", "answer": "mercury", "tags": ["1tok", "yes-answer-short"]},
    {"uid": "s3q2", "question": "Who dug the canal ?", "answer": "Ana Poe", "tags": []},
]
CONTEXTS = [
    {"uid": "s3q1", "contexts": [[0.9, "Mercury , a metal , is mercury ."], [0.5, "Mercurial people ."]]},
    {"uid": "s3q2", "contexts": [[0.1, "A canal was dug ."]]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def packed(name: str, records: list[dict[str, object]]) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))

    packed("questions/dev_questions.json.gz", QUESTIONS)
    packed("contexts/short/dev_contexts.json.gz", CONTEXTS)
    packed("contexts/long/dev_contexts.json.gz", [record | {"contexts": [[1, "Long."]]} for record in CONTEXTS])
    return tmp_path


def test_questions_and_contexts_run_in_step(folder: Path) -> None:
    first, second = sound(lambda: quasar.load(folder, "dev"))
    assert (first.question.id, first.answers) == ("s3q1", ("mercury",))
    assert [passage.text for passage in first.passages] == ["Mercury , a metal , is mercury .", "Mercurial people ."]
    assert (first.relevant, first.answerable) == ((), None)  # nobody labelled them
    assert len(second.passages) == 1


def test_long_contexts_lie_beside_short_ones(folder: Path) -> None:
    assert [example.passages[0].text for example in quasar.load(folder, "dev", length="long")] == ["Long.", "Long."]


def test_pseudo_labels_look_for_the_answer(folder: Path) -> None:
    first, second = sound(lambda: quasar.load(folder, "dev", pseudo=True))
    assert (first.relevant, first.answerable) == ((True, False), True)
    assert [(span.start, span.text, span.sure) for span in first.spans] == [
        (0, "Mercury", False),
        (23, "mercury", False),
    ]
    assert (second.relevant, second.answerable, second.spans) == ((False,), False, ())


def test_files_out_of_step_are_errors(tmp_path: Path) -> None:
    json_lines(tmp_path / "dev_questions.json", QUESTIONS)
    json_lines(tmp_path / "dev_contexts.json", CONTEXTS[::-1])
    with pytest.raises(DatasetError, match=r"line 1: uid: expected 's3q2' as in .*dev_contexts\.json, not 's3q1'"):
        list(quasar.load(tmp_path, "dev"))
    json_lines(tmp_path / "dev_contexts.json", CONTEXTS[:1])
    with pytest.raises(DatasetError, match=r"dev_contexts\.json ends before .*dev_questions\.json"):
        list(quasar.load(tmp_path, "dev"))
    json_lines(tmp_path / "dev_contexts.json", [{"uid": "s3q1", "contexts": [["text", 1]]}])
    with pytest.raises(DatasetError, match=r"Expected `float`, got `str` - at `\$\.contexts\[0\]\[0\]`"):
        list(quasar.load(tmp_path, "dev"))
