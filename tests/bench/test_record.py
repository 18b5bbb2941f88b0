"""Scores and reports become lines of runs/."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import baselines, record, runs
from wherefrom.data.examples import Example, whole
from wherefrom.types import Question

SCORES = {
    "dataset": "squad",
    "examples": 4,
    "em": 75.0,
    "f1": 80.0,
    "intervals": {"em": [50.0, 100.0]},
    "lengths": {"all": 2.0},
    "run": {
        "file": "squad",
        "data_sha256": "aa",
        "passages_from": "gold",
        "min_chance": 0.0,
        "every": 2,
        "settings": {"read": {"kind": "drqa", "candidates": 10}, "rank": {"keep": 20}},
        "weights": {"drqa/model.onnx": "bb"},
        "commit": "27c5144",
        "date": "2026-11-16",
    },
}


def kept(file: Path, values: object, *options: str) -> list[runs.RunLine]:
    """What the command leaves of a JSON file."""
    file.write_text(json.dumps(values))
    assert record.main([str(file), "--runs", str(file.parent / "runs"), *options]) == 0
    return [line for path in (file.parent / "runs").iterdir() for line in runs.read(path.stem, path.parent)]


def test_scores_are_kept_with_what_made_them(tmp_path: Path) -> None:
    options = ["--topic", "short", "--system", "DrQA", "--over", "the gold paragraph", "--command", "predict"]
    (line,) = kept(tmp_path / "scores.json", SCORES, *options)
    assert line.metrics == {"em": 75.0, "f1": 80.0}
    assert line.n == 4
    assert line.settings == {"passages_from": "gold", "every": 2, "read.kind": "drqa"}  # what is default is left out
    assert line.files == {"squad": "aa", "drqa/model.onnx": "bb"}
    assert (line.commit, line.date, line.intervals) == ("27c5144", "2026-11-16", {"em": (50.0, 100.0)})


def test_numbers_of_any_file_are_taken_by_their_path(tmp_path: Path) -> None:
    report = {"measured": {"f1": 0.898, "of": [1, 0.5]}, "commit": "27c5144"}
    take = ["--take", "answerable_f1=100*measured.f1", "--take", "half=measured.of.1", "--set", "titles=true"]
    options = ["--topic", "judging", "--system", "wherefrom", "--dataset", "ten", "--n", "9", *take]
    (line,) = kept(tmp_path / "judge.json", report, *options)
    assert line.metrics == {"answerable_f1": pytest.approx(89.8), "half": 0.5}
    assert (line.n, line.commit, line.settings) == (9, "27c5144", {"titles": "true"})


def test_a_report_of_bench_says_itself_what_it_is(tmp_path: Path) -> None:
    facts = {"commit": "27c5144", "cpu": "some", "cores": 2, "load_before": 0.12}
    times = {"vote": {"wall": [1.0, 2.0, 3.0], "cpu": [1.0, 1.0, 4.0]}}
    report = {"facts": facts, "date": "2026-11-15", "questions": 3, "candidates": 40, "candidates_sha256": "cc"}
    (line,) = kept(tmp_path / "rerank.json", {**report, "tagged": False, "times": times})
    assert (line.topic, line.system, line.over) == ("speed", "votes", "40 candidates put in order")
    assert line.metrics == {"p50_ms": 2.0, "cpu_ms": 1.0}
    assert line.settings == {"cpu": "some", "cores": 2, "load_before": 0.1}


def test_what_is_no_report_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.json"
    file.write_text("{}")
    assert record.main([str(file), "--runs", str(tmp_path / "runs")]) == 2
    assert "say what it is" in capsys.readouterr().err


# The trivial systems.

EXAMPLE = Example(
    Question("1", "When did the Berlin Wall fall?"),
    (whole("p", "The Berlin Wall divided a city. Günter Schabowski spoke. It fell in November 1989, at night."),),
    answers=("November 1989",),
)


def test_trivial_systems_say_what_their_names_promise() -> None:
    assert baselines.first_name(EXAMPLE) == "Günter Schabowski"  # the question has the Berlin Wall
    assert baselines.opening(EXAMPLE) == "The Berlin Wall divided a city."
    assert baselines.copied(EXAMPLE) == "When did the Berlin Wall fall ."
    assert baselines.holding(EXAMPLE) == "It fell in November 1989, at night."
    assert baselines.nearest()(EXAMPLE) == "The Berlin Wall divided a city."


def test_bm25_puts_the_passage_with_the_questions_words_first() -> None:
    passages = (whole("a", "Trees are green."), whole("b", "The Berlin Wall fell in 1989."))
    order = baselines.bm25_order([Example(EXAMPLE.question, passages)])["1"]
    assert dict(order)["a"] == 0.0
    assert dict(order)["b"] > 0.0


def test_written_scores_of_the_gold_itself_are_full() -> None:
    assert baselines.written_scores([("It fell in 1989 .", "It fell in 1989 .")]) == {
        "rouge_l": 100.0,
        "bleu_1": pytest.approx(100.0),
        "bleu_4": pytest.approx(100.0),
    }
