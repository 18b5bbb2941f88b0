"""Questions over manuals: what a line means, which documents are held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dataset_checks import json_lines

from wherefrom.data import manuals
from wherefrom.data.faults import DatasetError

LINE: dict[str, Any] = {
    "collection": "pages",
    "document": "rsync.1.txt",
    "title": "rsync(1)",
    "section": "OPTIONS",
    "passage": "--update\n    skips files that\n    are newer on the receiver",
    "question": "rsync skip newer files",
    "answer": "skips files that are newer",
    "kind": "keywords",
    "others": [["rsync(1)", "", "--delete removes files"]],
}


def loaded(tmp_path: Path, **changed: Any) -> Any:
    file = tmp_path / "manuals.jsonl"
    json_lines(file, [{**LINE, **changed}])
    (example,) = manuals.load(file)
    return example


def test_the_answer_is_at_its_place_whatever_the_line_breaks(tmp_path: Path) -> None:
    example = loaded(tmp_path)
    (span,) = example.spans
    assert example.passages[0].text[span.start : span.end].split() == LINE["answer"].split()
    assert example.passages[0].section == "OPTIONS"
    assert example.relevant == (True, False)
    assert example.article == "pages/rsync.1.txt"


def test_a_near_miss_has_no_answer_and_yes_has_no_place(tmp_path: Path) -> None:
    missed = loaded(tmp_path, answer=None, kind="near-miss")
    assert (missed.answerable, missed.answers, missed.relevant) == (False, (), (False, False))
    decided = loaded(tmp_path, answer="yes", kind="yes-no", evidence="skips files")
    assert (decided.answerable, decided.answers, decided.spans) == (True, ("yes",), ())


def test_an_answer_that_is_not_there_is_an_error_that_says_where(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"manuals\.jsonl, line 1: answer: 'older' does not stand in the passage"):
        loaded(tmp_path, answer="older")


def test_whole_documents_are_held_out(tmp_path: Path) -> None:
    held = {name: manuals.is_held_out(loaded(tmp_path, document=name)) for name in map(str, range(60))}
    assert 3 <= sum(held.values()) <= 24
    assert all(manuals.is_held_out(loaded(tmp_path, document=name, question="why?")) == held[name] for name in held)
