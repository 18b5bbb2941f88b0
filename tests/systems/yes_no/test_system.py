"""Fitting what decides between Yes and No."""

from __future__ import annotations

import json
import lzma
import os
from pathlib import Path
from typing import Any

import numpy
import pytest

from wherefrom.data.examples import Example, whole
from wherefrom.errors import NotFound
from wherefrom.features.polarity import NAMES
from wherefrom.lab import lab_file
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.systems.yes_no import system as polarity
from wherefrom.systems.yes_no.about import Inputs
from wherefrom.train.logistic import logistic
from wherefrom.train.stages import read_json, run, write_json
from wherefrom.types import Question


def test_labels_are_one_a_question() -> None:
    rows = [line.split("\t") for line in lab_file(polarity.LABELS).read_text().splitlines()]
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
    chances = polarity.left_out(seen, yes, articles, ridge=3.0)
    assert chances[0] > 0.5 > chances[1]
    assert chances[30] > 0.5 > chances[31]


def test_what_is_written_is_what_the_writer_reads(tmp_path: Path) -> None:
    from wherefrom.runtime.weights import Weights
    from wherefrom.write.yes_no import POLARITY, read_line

    random = numpy.random.default_rng(3)
    seen = random.normal(size=(60, len(NAMES)))
    line = logistic(seen, seen[:, 0] + random.normal(size=60) > 0, polarity.DEFAULTS.ridge)
    write_json(tmp_path / POLARITY, line.saved(NAMES))
    read = read_line(Weights(tmp_path))
    assert [read.logit(row) for row in seen.tolist()] == pytest.approx(line.logits(seen).tolist(), abs=1e-4)


def question(text: str, id: str, passage: str) -> dict[str, Any]:
    return {"context": passage, "qas": [{"id": id, "question": text, "answers": [{"text": "mill", "answer_start": 4}]}]}


def write_data(folder: Path) -> Path:
    """Questions under ids that are labelled, whose passages say it, and a few of MultiRC and MS MARCO."""
    labels = [line.split("\t") for line in lab_file(polarity.LABELS).read_text().splitlines()[:24]]
    files: dict[str, Any] = {}
    for split, some in (("train", labels[:18]), ("valid", labels[18:])):
        paragraphs = [
            question("Is the mill open?", id, f"The mill is {'open' if label == 'yes' else 'not open'} in May.")
            for id, label in some
        ]
        articles = [{"title": f"{split} {n}", "paragraphs": [each]} for n, each in enumerate(paragraphs)]
        files[f"squad/{split}-v1.1.json.xz"] = {"version": "1.1", "data": articles}
    read = "Paragraph- Sent 1: The mill is open.\nQuestion: Is the mill open?"
    files["more_reading/multirc.jsonl.xz"] = {"input": read, "target": ["Yes, it is"]}
    passage = {"passage_text": ["The mill is not open."], "is_selected": [1]}
    asked = {"query_id": 1, "query": "is the mill open", "passages": passage, "answers": ["No"]}
    files["msmarco_sample/ms_marco_sample.json.xz"] = [asked]
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(lzma.compress(json.dumps(content).encode(), preset=0))
    return folder


def test_it_is_fitted_on_what_the_shipped_reader_points_to(tmp_path: Path) -> None:
    inputs, out = Inputs(data=write_data(tmp_path / "data")), tmp_path / "out"
    said: list[str] = []

    def make(settings: polarity.YesNoSettings = polarity.DEFAULTS) -> None:
        said.clear()
        run("yes-no", polarity.stages(settings, inputs, out, said.append), out, say=said.append)

    make()
    fitted = read_json(out / "weights" / "polarity.json")
    assert list(fitted["terms"]) == list(NAMES)
    assert fitted["terms"]["negation"][0] < 0
    note = read_json(out / "weights" / "provenance.json")["stages"]["fit"]
    assert note["made_of"]["reader"]["model.onnx"] == file_hash(SHIPPED / "reader" / "model.onnx")
    assert note["facts"]["left out"]["squad/train"]["questions"] == 18
    assert note["facts"]["left out"]["all"]["questions"] == 26
    assert note["facts"]["fitted on squad/train alone"]["all"]["questions"] == 8
    make()
    assert said == ["fit: already made"]
    make(polarity.YesNoSettings(only="squad/train"))
    assert read_json(out / "weights" / "polarity.json") != fitted
    with pytest.raises(NotFound, match="only takes one of squad/train, squad/valid, multirc, msmarco"):
        make(polarity.YesNoSettings(only="squad"))


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
