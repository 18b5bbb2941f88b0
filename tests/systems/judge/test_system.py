"""Fitting the judge: halves by article, honest figures, cached reading, and the judge that run time reads."""

from __future__ import annotations

import gzip
import json
import math
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="a tiny network is made with torch: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

import numpy

from systems.making import Listening, TinyReader
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.features.merits import NAMES as MERITS
from wherefrom.judge.calibrated import CalibratedJudge
from wherefrom.judge.signs import NAMES, OF_READING
from wherefrom.origin import file_hash
from wherefrom.rerank.merits import ORDER
from wherefrom.runtime.reader import ReaderSession
from wherefrom.runtime.weights import SHIPPED, Weights
from wherefrom.systems.contract import settings_of
from wherefrom.systems.judge import system
from wherefrom.systems.judge.about import ABOUT, Inputs
from wherefrom.systems.judge.fit import FITTED, as_json, by_kind, describe, fit, left_out, measured, threshold_for
from wherefrom.systems.judge.material import JudgedQuestion, questions_of
from wherefrom.systems.judge.system import JudgeFitSettings
from wherefrom.train.errors import TrainingError
from wherefrom.train.logistic import interpolated
from wherefrom.train.stages import note_of, read_json, run
from wherefrom.types import Document

# Figures.


def row(number: int, article: str, answerable: bool, value: float, f1: float | None = None) -> JudgedQuestion:
    features = tuple(value if name == "null margin" else 0.0 for name in NAMES)
    return JudgedQuestion(str(number), article, answerable, features, f1 if answerable else None, answerable)


def made_up(count: int, chance_of: Callable[[float], float]) -> list[JudgedQuestion]:
    """Questions on ten articles whose first feature decides how likely they are answerable."""
    draw = random.Random(3)
    values = [draw.uniform(-3.0, 3.0) for _ in range(count)]
    return [
        row(number, f"article {number % 10}", draw.random() < chance_of(value), value, float(value > 0))
        for number, value in enumerate(values)
    ]


def test_a_logistic_is_used_where_it_is_true() -> None:
    rows = made_up(3000, lambda value: 1 / (1 + math.exp(-value)))
    fitted, losses, _ = fit(rows, ridge=1.0)
    assert fitted.knots == ()
    assert losses["logistic"] < losses["isotonic"] < 0.7
    place = FITTED.index("null margin")
    assert fitted.line.weights[place] / fitted.line.scales[place] == pytest.approx(1.0, abs=0.1)


def test_isotonic_is_used_where_chances_do_not_follow_a_logistic() -> None:
    def steps(value: float) -> float:
        return 0.1 if value < -1 else 0.5 if value < 2 else 0.95

    fitted, losses, _ = fit(made_up(3000, steps), ridge=1.0)
    assert losses["isotonic"] < losses["logistic"]
    chances = fitted.chances([row(0, "a", True, value) for value in (-2.5, 0.5, 2.7)])
    assert chances == pytest.approx([0.1, 0.5, 0.95], abs=0.08)
    assert fitted.chances([JudgedQuestion("", "a", False, None, None)]) == [0.0]


def test_figures_by_hand() -> None:
    fitted, _, _ = fit(made_up(400, lambda value: 1 / (1 + math.exp(-3 * value))), ridge=1.0)
    rows = [row(0, "a", True, 3.0, 1.0), row(1, "a", True, 2.5, 0.2), row(2, "a", False, 2.0), row(3, "a", False, -3.0)]
    figures = measured(fitted, rows, {0.9: 0.9, 0.99: None}, right=0.5)
    (half,) = (point for point in figures["thresholds"] if point["threshold"] == 0.5)
    assert (half["answered"], half["precision"], half["recall"]) == (0.75, pytest.approx(2 / 3, abs=1e-4), 1.0)
    assert (half["right"], half["right of all"]) == (0.5, pytest.approx(1 / 3, abs=1e-4))
    assert figures["answerable_f1"] == 1.0
    assert figures["risk by coverage"]["0.1"] == 0.0
    assert figures["risk by coverage"]["1.0"] == 0.75  # one of four was answered rightly
    assert figures["min_chance"]["0.9"]["precision"] == pytest.approx(
        2 / 3, abs=1e-4
    )  # what it did, not what was wanted
    assert figures["min_chance"]["0.99"] is None


def kinds_of(count: int, shares: dict[str, float]) -> list[JudgedQuestion]:
    """Kinds that differ in how often a good answer counts as right; the first sign says how good it is."""
    draw = random.Random(5)
    rows = []
    for kind, share in shares.items():
        for number in range(count):
            value = draw.uniform(-3.0, 3.0)
            right = draw.random() < share / (1 + math.exp(-3 * value))
            features = tuple(value if name == "null margin" else 0.0 for name in NAMES)
            rows.append(JudgedQuestion(f"{kind} {number}", f"{kind} {number % 9}", right, features, None, right, kind))
    return rows


def test_kinds_with_loose_golds_do_not_lower_the_chance() -> None:
    exact = dict.fromkeys(("ten passages", "encyclopedia", "stories"), 1.0)
    alone, _, _ = fit(kinds_of(400, exact), ridge=1.0)
    beside, _, chances = fit(rows := kinds_of(400, exact | {"forum": 0.2, "web": 0.2}), ridge=1.0)
    sure = [row for row in rows if row.features and row.features[NAMES.index("null margin")] > 2.0]
    assert numpy.mean(beside.chances(sure)) == pytest.approx(numpy.mean(alone.chances(sure)), abs=0.05)
    figures = by_kind(chances, rows, threshold_for(chances, rows, 0.85))
    assert figures["stories"]["ece"] < 0.08 < 0.2 < figures["forum"]["ece"]
    assert figures["mean of exact"]["precision"] >= 0.84
    assert figures["mean"]["precision"] < figures["mean of exact"]["precision"]
    assert figures["stories"]["auc"] > 0.9


def test_a_sign_that_points_the_wrong_way_is_not_believed() -> None:
    draw = random.Random(2)
    rows = []
    for number in range(600):
        right = draw.random() < 0.5
        features = tuple({"null margin": float(right), "share": -float(right)}.get(name, 0.0) for name in NAMES)
        rows.append(JudgedQuestion(str(number), f"a {number % 7}", right, features, None, right))
    fitted, _, _ = fit(rows, ridge=1.0)
    weights = dict(zip(FITTED, fitted.line.weights, strict=True))
    assert weights["null margin"] > 0.5
    assert weights["share"] == 0.0


def test_left_out_chances_come_from_other_articles() -> None:
    same = [row(number, "one", True, 1.0) for number in range(20)]
    other = [row(number + 20, "two", False, 1.0) for number in range(20)]
    chances = left_out([*same, *other], ridge=1.0, bent=False)
    assert max(chances[:20]) < 0.1  # the other article has no answerable question
    assert min(chances[20:]) > 0.9


# From a file of questions to judge.json.


def write_questions(path: Path, count: int = 24) -> Path:
    """Four articles; every third question's gold passage is left out."""
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        for number in range(count):
            article = f"Town_{number * 4 // count}"
            gold = {
                "is_selected": 1,
                "passage_text": f"Town {number} has {number} bridges.",
                "url": f"{article}#{number}#0",
            }
            others = [
                {"is_selected": 0, "passage_text": f"Village {n} has a river.", "url": f"wikipedia:{n}#0"}
                for n in range(number, number + 3)
            ]
            answered = number % 3 != 2
            line: dict[str, Any] = {
                "query_id": number,
                "query": f"How many bridges has town {number}?",
                "passages": [*others, gold] if answered else others,
                "answers": [str(number)] if answered else ["No Answer Present."],
            }
            lines.write(json.dumps(line) + "\n")
    return path


@pytest.fixture(scope="session")
def weights(tiny_reader_weights: Path) -> Path:
    return tiny_reader_weights


def test_questions_know_their_article_and_titles_are_all_or_none(tmp_path: Path) -> None:
    file = write_questions(tmp_path / "valid.jsonl.gz")
    plain = questions_of(file, None)
    assert [question.article for question in plain[:7]] == ["Town_0"] * 6 + ["Town_1"]
    assert {passage.title for question in plain for passage in question.passages} == {""}
    titled = questions_of(file, {"wikipedia:0": "Village"})
    assert {passage.title for passage in titled[0].passages} == {"Village", "", "Town 0"}
    assert plain[2].answers == ()


@pytest.fixture
def inputs(weights: Path, tmp_path: Path) -> Inputs:
    """The tiny network's own weights folder, and a set of ten passages without any dataset."""
    shutil.copytree(weights, tmp_path / "weights")
    (tmp_path / "ten").mkdir()
    (tmp_path / "ten" / "ten-passages.json").write_text("{}")
    write_questions(tmp_path / "ten" / "valid.jsonl.gz")
    return Inputs(weights=tmp_path / "weights", data=tmp_path / "none", ten_passages=tmp_path / "ten")


SETTINGS = JudgeFitSettings(titles=False, threads=1, questions=0, kinds="")


def make(
    inputs: Inputs, out: Path, *chosen: str, settings: JudgeFitSettings = SETTINGS, say: Listening | None = None
) -> Listening:
    say = Listening() if say is None else say
    run("judge", system.stages(settings, inputs, out, say), out, chosen or None, say)
    return say


def test_an_interrupted_fit_goes_on_and_run_time_reads_its_judge(inputs: Inputs, tmp_path: Path) -> None:
    out, judged = tmp_path / "out", inputs.weights / "judge.json"
    before = judged.read_text()  # of another fit: it is replaced
    make(inputs, out, "ten-passages", "readings", settings=replace(SETTINGS, questions=16))
    (kept,) = (out / "readings").iterdir()
    first = kept.read_text()
    with kept.open("a") as lines:
        lines.write('{"id": "23", "art')  # cut off by a kill
    said = make(inputs, out)
    assert kept.read_text().startswith(first)
    assert len(first.splitlines()) == 16
    assert len(kept.read_text().splitlines()) == 24
    assert judged.read_text() != before
    judge = read_json(judged)
    assert judge["fitted"]["questions"] + judge["measured"]["questions"] == 24
    assert judge["made_of"] == note_of(out, "judge")["made_of"]
    assert judge["made_of"].keys() >= read_json(SHIPPED / "reader" / "judge.json")["made_of"].keys()
    assert judge["made_of"]["settings"] == {"questions": 0, "ridge": 30.0, "right": 0.5}
    assert note_of(out, "judge")["facts"]["aurc"] == judge["measured"]["aurc"]
    assert "judge.min_chance=" in describe(judge) or "not reached" in describe(judge)
    assert f"judge: {describe(judge).splitlines()[0]}" in "\n".join(said)
    assert str(tmp_path) not in judged.read_text()
    reading = CalibratedJudge(ReaderSession(Weights(inputs.weights), threads=1))
    assert 0.0 <= reading._chance(tuple(json.loads(first.splitlines()[0])["features"])) <= 1.0

    made = [stage for stage in ABOUT.stages if stage not in ("compared", "order")]  # those need manuals
    assert make(inputs, out) == [f"{stage}: already made" for stage in made]
    judged.unlink()
    assert make(inputs, out)[-1] == "judge: made judge.json"
    assert read_json(judged) == judge


def test_other_weights_are_read_anew(inputs: Inputs, tmp_path: Path) -> None:
    make(inputs, tmp_path / "out")
    settings = inputs.weights / "settings.toml"
    settings.write_text(settings.read_text() + "brevity = 0.5\n")
    said = make(inputs, tmp_path / "out", "readings", "judge")
    assert "readings: made readings" in said
    assert "judge: made judge.json" in said
    assert len(list((tmp_path / "out" / "readings").iterdir())) == 2


def test_a_made_reader_gets_a_judge_that_a_library_asks(tiny_reader: TinyReader, tmp_path: Path) -> None:
    given = tiny_reader.inputs
    weights = shutil.copytree(tiny_reader.out / "weights", tmp_path / "weights")
    inputs = Inputs(weights=weights, data=given.data, ten_passages=given.ten_passages)
    make(inputs, tmp_path / "out", settings=replace(SETTINGS, titles=True))
    assert list(read_json(weights / "judge.json")["terms"]) == list(FITTED)
    assert read_json(weights / "provenance.json")["files"]["judge.json"] == file_hash(weights / "judge.json")
    chosen = ["rank.kind=reader", "read.kind=span", "judge.kind=calibrated", f"runtime.reader={weights}"]
    library = Library(tmp_path / "library", resolve(overrides=chosen))
    library.put([Document("memo", "Town A has 12 bridges.", "Town A")])
    answer = library.ask("How many bridges has town A?", min_chance=0.0).answer
    assert answer is not None
    assert 0.0 <= answer.chance <= 1.0


def test_what_run_time_says_is_what_was_fitted(weights: Path, tmp_path: Path) -> None:
    fitted, _, _ = fit(made_up(3000, lambda value: 0.1 if value < -1 else 0.5 if value < 2 else 0.95), ridge=1.0)
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "judge.json").write_text(json.dumps(as_json(fitted)))
    judge = CalibratedJudge(ReaderSession(Weights(folder), threads=1))
    rows = [row(0, "a", True, value) for value in (-9.0, -2.0, -1.0, 0.3, 1.9, 2.2, 9.0)]
    assert [judge._chance(each.features) for each in rows] == pytest.approx(fitted.chances(rows), abs=1e-4)
    assert fitted.knots
    assert interpolated(fitted.knots, numpy.array([99.0]))[0] == fitted.knots[-1][1]


def test_an_older_judge_still_judges_and_an_unknown_one_says_what_to_do(weights: Path, tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    terms = {name: [1.0, 0.0, 1.0] for name in OF_READING}
    (folder / "judge.json").write_text(json.dumps({"bias": 0.5, "terms": terms}))
    judge = CalibratedJudge(ReaderSession(Weights(folder), threads=1))
    features = tuple(0.25 if name in OF_READING else 99.0 for name in NAMES)
    assert judge._chance(features) == pytest.approx(1 / (1 + math.exp(-2.0)))
    (folder / "judge.json").write_text(json.dumps({"bias": 0.5, "terms": {"mood": [1.0, 0.0, 1.0]}}))
    with pytest.raises(WherefromError, match=r"goes by 'mood'.*wherefrom train judge"):
        CalibratedJudge(ReaderSession(Weights(folder), threads=1))._chance(features)


def test_questions_over_manuals_are_one_more_kind(inputs: Inputs, tmp_path: Path) -> None:
    manuals = tmp_path / "manuals.jsonl"
    line = {"collection": "c", "document": "d-6", "title": "Boats", "section": "", "kind": "fact", "near_miss": False}
    lines = [
        line | {"passage": f"Boat {n} has {n} oars.", "question": f"How many oars has boat {n}?", "answer": str(n)}
        for n in range(12)
    ]
    manuals.write_text("".join(json.dumps(each) + "\n" for each in lines))
    unordered = replace(SETTINGS, compared=0)
    said = make(replace(inputs, manuals=manuals), tmp_path / "out", settings=unordered)
    assert "libraries: made libraries" in said
    judge = read_json(inputs.weights / "judge.json")
    assert judge["fitted"]["kinds"]["manuals"] == judge["left out"]["manuals"]["questions"] == 12
    assert judge["says"] == "the chance that the answer is right"
    assert len(list((tmp_path / "out" / "libraries").iterdir())) == 1
    manuals.write_text("".join(json.dumps(each) + "\n" for each in lines[:9]))
    make(replace(inputs, manuals=manuals), tmp_path / "out", settings=unordered)
    assert read_json(inputs.weights / "judge.json")["fitted"]["kinds"]["manuals"] == 9


def test_an_order_is_fitted_before_the_judge_that_goes_by_it(inputs: Inputs, tmp_path: Path) -> None:
    manuals = tmp_path / "manuals.jsonl"
    lines = []
    for n in range(60):  # a fifth of the documents is asked about, and there have to be several
        passage = f"{n + 10} 7 7 7"  # of so few words many spans are right
        line = {"collection": "c", "document": f"d-{n}", "title": "Boats", "passage": passage, "kind": "fact"}
        lines.append(line | {"question": f"Which number has boat {n}?", "answer": "7"})
    manuals.write_text("".join(json.dumps(each) + "\n" for each in lines))
    given, out = replace(inputs, manuals=manuals), tmp_path / "out"
    said = make(given, out)
    assert said.index("order: made order.json") < said.index("readings: made readings")
    order = read_json(inputs.weights / ORDER)
    assert list(order["terms"]) == list(MERITS)
    assert any(line.startswith("order: manuals, left out, ") for line in said)
    assert read_json(inputs.weights / "judge.json")["made_of"]["order"] == file_hash(inputs.weights / ORDER)
    assert "order: already made" in make(given, out)
    (file,) = (out / "compared").iterdir()
    file.write_text(file.read_text() + '{"id": "torn')
    (inputs.weights / ORDER).unlink()
    make(given, out, "order")
    assert read_json(inputs.weights / ORDER)["terms"] == order["terms"]
    file.write_text('{"id": 1}\n')
    (inputs.weights / ORDER).unlink()
    with pytest.raises(TrainingError, match="line 1, is damaged"):
        make(given, out, "order")


def test_too_few_questions_are_refused(inputs: Inputs, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="take more questions"):
        make(inputs, tmp_path / "out", settings=replace(SETTINGS, questions=1))
    with pytest.raises(SettingsError, match="questions and compared must be 0 or above"):
        settings_of(system.DEFAULTS, None, ["questions=-1"])


def test_what_a_stage_needs_is_named(inputs: Inputs, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="run the stage ten-passages first"):
        make(replace(inputs, ten_passages=tmp_path / "absent"), tmp_path / "out", "readings")
    with pytest.raises(TrainingError, match="run the stage readings first"):
        make(inputs, tmp_path / "out", "judge")
    make(inputs, tmp_path / "out", "readings", settings=replace(SETTINGS, questions=16))
    with pytest.raises(TrainingError, match="8 questions have not been read yet"):
        make(inputs, tmp_path / "out", "judge")
