"""The training questions over real documents: a sound file, joined with its passages, apart from the benchmark."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from bench.real import fetch
from bench.real.training import build as training

from wherefrom.data import manuals

QUESTIONS = training.load()
PAPERS = {
    paper["document"]: paper
    for line in training.PRIVATE.read_text("utf-8").splitlines()
    for paper in [json.loads(line)]
}


def test_the_file_is_sound() -> None:
    known = {*fetch.collections(training.COLLECTIONS), "private"}
    assert {question.collection for question in QUESTIONS} == known
    assert len({(question.collection, question.document, question.question) for question in QUESTIONS}) == len(
        QUESTIONS
    )
    for question in QUESTIONS:
        assert question.question.strip()
        assert (question.answer is None) == (question.kind == "near-miss")
        assert (question.evidence is not None) == (question.kind == "yes-no")
        if question.kind == "yes-no":
            assert question.answer in manuals.YES_NO


def test_there_are_as_many_of_each_sort_as_the_readme_says() -> None:
    kinds = Counter(question.kind for question in QUESTIONS)
    assert len(QUESTIONS) == 31233
    assert (kinds["near-miss"], kinds["yes-no"], kinds["keywords"]) == (5401, 4050, 3790)
    yes = sum(question.answer == "yes" for question in QUESTIONS if question.kind == "yes-no")
    assert 0.4 < yes / kinds["yes-no"] < 0.6


def test_no_package_of_the_benchmark_is_learnt_from() -> None:
    def names(collections: dict[str, fetch.Collection]) -> set[str]:
        return {
            name.partition("=")[0].rpartition("@")[0] or name.partition("=")[0]
            for collection in collections.values()
            for package in collection.packages
            for name in package.names
        }

    assert not names(fetch.collections()) & names(fetch.collections(training.COLLECTIONS))


def test_answers_over_private_papers_stand_in_them() -> None:
    for question in QUESTIONS:
        if question.collection == "private":
            text = " ".join(PAPERS[question.document]["text"].split())
            quote = question.evidence or question.answer
            assert quote is None or quote in text


def test_questions_are_joined_with_their_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [question for question in QUESTIONS if question.collection == "private"][:40]
    monkeypatch.setattr(training, "load", lambda: few)
    out = tmp_path / "manuals.jsonl"
    assert training.main([str(tmp_path / "docs"), "--out", str(out)]) == 0
    examples = list(manuals.load(out))
    assert len(examples) == len(few)
    for question, example in zip(few, examples, strict=True):
        assert example.question.text == question.question
        assert example.answerable == (question.answer is not None)
        if example.spans:
            assert example.spans[0].text.split() == (question.answer or "").split()
            assert all(question.answer not in " ".join(other.text.split()) for other in example.passages[1:])


def test_collections_that_are_missing_are_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        training, "load", lambda: [question for question in QUESTIONS if question.collection == "pages"]
    )
    assert training.main([str(tmp_path), "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "bench.real.fetch" in capsys.readouterr().err
