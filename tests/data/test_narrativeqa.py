"""NarrativeQA."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from dataset_checks import sound, text

from wherefrom.data import narrativeqa
from wherefrom.data.faults import DatasetError
from wherefrom.errors import SettingsError

QAPS = "document_id,set,question,answer1,answer2,question_tokenized,answer1_tokenized,answer2_tokenized".split(",")
SUMMARIES = "document_id,set,summary,summary_tokenized".split(",")
LONG = " ".join(
    f"In year {year} the keeper of the lighthouse wrote one more line into her book ." for year in range(60)
)


def table(*rows: list[str]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text(
        tmp_path / "summaries.csv",
        table(SUMMARIES, ["s1", "train", ' The keeper, "Ada", wrote.\n\nShe slept. ', ""], ["s2", "valid", LONG, ""]),
    )
    text(
        tmp_path / "qaps.csv",
        table(
            QAPS,
            ["s1", "train", "Who wrote ?", "Ada", "the keeper", "", "", ""],
            ["s1", "train", "Who wrote ?", "She , Ada .", "ADA", "", "", ""],
            ["s2", "valid", "What was written ?", "lines", "a book", "", "", ""],
        ),
    )
    return tmp_path


def test_questions_come_with_the_summary_and_two_answers(folder: Path) -> None:
    first, second = sound(lambda: narrativeqa.load(folder, "train"))
    assert (first.question.id, second.question.id) == ("s1-1", "s1-2")
    assert first.answers == ("Ada", "the keeper")
    assert [passage.text for passage in first.passages] == ['The keeper, "Ada", wrote.\n\nShe slept.']
    assert first.article == second.article == "s1"


def test_ten_passages_are_pieces_of_the_summary(folder: Path) -> None:
    (example,) = sound(lambda: narrativeqa.load(folder, "dev", passages="ten"))
    assert len(example.passages) == 10
    for passage in example.passages:
        assert LONG[passage.start : passage.end] == passage.text
        assert (passage.document_id, len(passage.text.split()) <= 130) == ("s2", True)


def test_text_can_be_put_together(folder: Path) -> None:
    _, second = sound(lambda: narrativeqa.load(folder, "train", detokenize=True))
    assert (second.question.text, second.answers[0]) == ("Who wrote?", "She, Ada.")


def test_packed_files_are_read(folder: Path) -> None:
    plain = list(narrativeqa.load(folder, "train"))
    (folder / "qaps.csv.gz").write_bytes(gzip.compress((folder / "qaps.csv").read_bytes()))
    (folder / "qaps.csv").unlink()
    assert list(narrativeqa.load(folder, "train")) == plain


def test_wrong_settings_and_files_are_errors(folder: Path) -> None:
    with pytest.raises(SettingsError, match="passages knows no 'tenn'; did you mean ten"):
        narrativeqa.load(folder, "train", passages="tenn")
    with pytest.raises(DatasetError, match="expected the folder"):
        narrativeqa.load(folder / "qaps.csv", "train")
    text(folder / "qaps.csv", table(QAPS, ["s9", "train", "Who?", "a", "b", "", "", ""]))
    with pytest.raises(DatasetError, match=r"line 2: document_id: expected a story of the set train .* not 's9'"):
        list(narrativeqa.load(folder, "train"))
    text(folder / "qaps.csv", table(QAPS, ["s1", "trian", "Who?", "a", "b", "", "", ""]))
    with pytest.raises(DatasetError, match="line 2: set: expected train, valid, test, not 'trian'"):
        list(narrativeqa.load(folder, "train"))
    (folder / "summaries.csv").unlink()
    with pytest.raises(DatasetError, match=r"holds no summaries\.csv"):
        narrativeqa.load(folder, "train")
