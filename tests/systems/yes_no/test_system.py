"""Fitting what decides between Yes and No."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

from wherefrom.data.examples import Example, whole
from wherefrom.errors import NotFound
from wherefrom.features.polarity import NAMES
from wherefrom.systems.yes_no import system as polarity
from wherefrom.train.logistic import logistic
from wherefrom.types import Question


def test_labels_are_one_a_question() -> None:
    rows = [line.split("\t") for line in polarity.LABELS.read_text().splitlines()]
    assert len({id for id, _ in rows}) == len(rows) > 500
    assert {label for _, label in rows} == {"yes", "no"}


def test_takes_the_questions_whose_answers_agree() -> None:
    passage = whole("p", "The mill is open.")

    def example(*answers: str) -> Example:
        return Example(Question("q", "Is it open?"), (passage,), (True,), answers=answers)

    given = [
        example("Yes."),
        example("No, never.", "Closed."),
        example("yes", "no"),
        example("Nobody"),
        example("Open"),
    ]
    assert [row.yes for row in polarity._answered("x", iter(given))] == [True, False]


def test_accuracy_and_what_is_gained_by_saying_less() -> None:
    chances = numpy.array([0.9, 0.8, 0.55, 0.2])
    found = polarity.measured(chances, numpy.array([True, True, False, False]), ["a", "a", "b", "b"])
    assert found["a"]["accuracy"] == 1.0
    assert found["b"]["accuracy"] == 0.5
    assert found["b"]["always yes"] == 0.0
    assert found["all"]["questions"] == 4
    assert found["sure"]["0.5"] == {"answered": 1.0, "accuracy": 0.75}
    assert found["sure"]["0.7"] == {"answered": 0.75, "accuracy": 1.0}


def test_a_row_is_judged_by_a_line_that_has_not_seen_its_article() -> None:
    # In each article the label is the opposite of what the others say: only a line that had seen it could know.
    seen = numpy.array([[1.0], [0.0]] * 16)
    yes = numpy.array([True, False] * 15 + [False, True])
    articles = [str(number // 2) for number in range(32)]
    chances = polarity.left_out(seen, yes, articles)
    assert chances[0] > 0.5 > chances[1]
    assert chances[30] > 0.5 > chances[31]


def test_what_is_written_is_what_the_writer_reads(tmp_path: Path) -> None:
    from wherefrom.runtime.weights import Weights
    from wherefrom.write.yes_no import POLARITY, read_line

    random = numpy.random.default_rng(3)
    seen = random.normal(size=(60, len(NAMES)))
    line = logistic(seen, seen[:, 0] + random.normal(size=60) > 0, polarity.RIDGE)
    (tmp_path / POLARITY).write_text(polarity.json.dumps(line.saved(NAMES)))
    read = read_line(Weights(tmp_path))
    assert [read.logit(row) for row in seen.tolist()] == pytest.approx(line.logits(seen).tolist(), abs=1e-4)


def test_missing_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"train-v1\.1\.json\.xz is not there; --data names"):
        polarity.labelled(tmp_path)


@pytest.mark.skipif(not os.environ.get("WHEREFROM_DATA"), reason="needs the datasets (WHEREFROM_DATA)")
def test_every_label_has_its_question() -> None:
    rows = polarity.labelled(Path(os.environ["WHEREFROM_DATA"]))
    sources = [row.source for row in rows]
    assert {source: sources.count(source) for source in set(sources)} == {
        "squad/train": 559,
        "squad/valid": 39,
        "multirc": 181,
        "msmarco": 13,
    }
