"""Fitting the judge: regressions worked out by hand, halves by article, cached reading, honest figures."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="a tiny network is made with torch: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

import numpy

from runtime.tiny_reader import write
from wherefrom.errors import WherefromError
from wherefrom.judge.calibrated import NAMES, CalibratedJudge
from wherefrom.runtime.reader import ReaderSession
from wherefrom.runtime.weights import Weights
from wherefrom.systems.judge.material import Asked, Judged, asked_of
from wherefrom.systems.judge.system import (
    JudgeFitSettings,
    as_json,
    calibrate,
    fit,
    halved,
    left_out,
    measured,
    spread,
    told,
)
from wherefrom.train.errors import TrainingError
from wherefrom.train.logistic import interpolated, isotonic, log_loss, logistic, sigmoid
from wherefrom.train.progress import paced

# Regressions.


def test_a_logistic_without_features_of_use_gives_the_share_of_true_rows() -> None:
    truths = numpy.array([True] * 30 + [False] * 10)
    line = logistic(numpy.zeros((40, 1)), truths)
    assert line.bias == pytest.approx(math.log(3))
    assert line.weights == pytest.approx([0.0])


def test_a_logistic_on_two_groups_by_hand() -> None:
    features = numpy.array([[0.0]] * 40 + [[1.0]] * 40)
    truths = numpy.array([True] * 10 + [False] * 30 + [True] * 30 + [False] * 10)
    line = logistic(features, truths, ridge=1e-9)  # shares 1/4 and 3/4: logits -log 3 and log 3
    assert line.logits(numpy.array([[0.0], [1.0]])) == pytest.approx([-math.log(3), math.log(3)], abs=1e-6)


def test_separable_rows_stay_finite() -> None:
    line = logistic(numpy.array([[0.0], [1.0]] * 20), numpy.array([False, True] * 20))
    assert numpy.isfinite(line.weights).all()
    assert sigmoid(line.logits(numpy.array([[1.0]])))[0] > 0.9


def test_isotonic_pools_violators_by_hand() -> None:
    scores = numpy.array([1.0, 2.0, 3.0, 4.0])
    truths = numpy.array([False, True, False, True])
    # With the made-up ones: 1: 1 of 2, 2: 1 of 1, 3: 0 of 1, 4: 1 of 2, all of which pool but the first.
    knots = isotonic(scores, truths)
    assert knots == ((pytest.approx((1 + 1 + 2 + 3 + 4 + 4) / 6), pytest.approx(0.5)),)
    rising = isotonic(numpy.arange(40.0), numpy.arange(40) >= 20)
    assert [chance for _, chance in rising] == sorted(chance for _, chance in rising)
    assert 0.0 < rising[0][1] < 0.1
    assert 0.9 < rising[-1][1] < 1.0


def test_equal_scores_get_equal_chances() -> None:
    knots = isotonic(numpy.array([0.0, 0.0, 0.0, 1.0, 1.0]), numpy.array([False, True, False, True, True]))
    assert len({score for score, _ in knots}) == len(knots)


def test_log_loss_by_hand() -> None:
    loss = log_loss(numpy.array([0.5, 0.25]), numpy.array([True, False]))
    assert loss == pytest.approx(-(math.log(0.5) + math.log(0.75)) / 2)


# Halves and figures.


def row(number: int, article: str, answerable: bool, value: float, f1: float | None = None) -> Judged:
    features = (value, *[0.0] * (len(NAMES) - 1))
    return Judged(str(number), article, answerable, features, f1 if answerable else None)


def made_up(count: int, chance_of: Callable[[float], float]) -> list[Judged]:
    """Questions on ten articles whose first feature decides how likely they are answerable."""
    draw = random.Random(3)
    values = [draw.uniform(-3.0, 3.0) for _ in range(count)]
    return [
        row(number, f"article {number % 10}", draw.random() < chance_of(value), value, float(value > 0))
        for number, value in enumerate(values)
    ]


def test_halves_are_of_whole_articles_about_equal_and_stay_the_same() -> None:
    questions = [Asked(str(n), f"article {n % 7}", "", (), ()) for n in range(700)]
    half = halved(questions)
    assert 250 <= sum(question.article in half for question in questions) <= 450
    assert half == halved(list(reversed(questions)))
    assert len(spread(questions, 10)) == 10
    assert len(spread(questions, 0)) == 700


def test_a_logistic_is_used_where_it_is_true() -> None:
    rows = made_up(3000, lambda value: 1 / (1 + math.exp(-value)))
    fitted, losses, _ = fit(rows, ridge=1.0)
    assert fitted.knots == ()
    assert losses["logistic"] < losses["isotonic"] < 0.7
    assert fitted.line.weights[0] / fitted.line.scales[0] == pytest.approx(1.0, abs=0.1)


def test_isotonic_is_used_where_chances_do_not_follow_a_logistic() -> None:
    def steps(value: float) -> float:
        return 0.1 if value < -1 else 0.5 if value < 2 else 0.95

    fitted, losses, _ = fit(made_up(3000, steps), ridge=1.0)
    assert losses["isotonic"] < losses["logistic"]
    chances = fitted.chances([row(0, "a", True, value) for value in (-2.5, 0.5, 2.7)])
    assert chances == pytest.approx([0.1, 0.5, 0.95], abs=0.08)
    assert fitted.chances([Judged("", "a", False, None, None)]) == [0.0]


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


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("weights") / "tiny")


def test_questions_know_their_article_and_titles_are_all_or_none(tmp_path: Path) -> None:
    file = write_questions(tmp_path / "valid.jsonl.gz")
    plain = asked_of(file, None)
    assert [question.article for question in plain[:7]] == ["Town_0"] * 6 + ["Town_1"]
    assert {passage.title for question in plain for passage in question.passages} == {""}
    titled = asked_of(file, {"wikipedia:0": "Village"})
    assert {passage.title for passage in titled[0].passages} == {"Village", "", "Town 0"}
    assert plain[2].answers == ()


def test_an_interrupted_fit_goes_on_and_run_time_reads_its_judge(weights: Path, tmp_path: Path) -> None:
    file, work = write_questions(tmp_path / "valid.jsonl.gz"), tmp_path / "work"
    settings = JudgeFitSettings(threads=1)

    def interrupt(done: int, total: int) -> None:
        if done >= 16:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibrate(weights, file, None, work, settings, interrupt)
    (kept,) = work.iterdir()
    with kept.open("a") as lines:
        lines.write('{"id": "23", "art')  # cut off by a kill
    calls: list[tuple[int, int]] = []
    result = calibrate(weights, file, None, work, settings, lambda done, total: calls.append((done, total)))
    assert calls[0] == (16, 24)
    assert calls[-1] == (24, 24)
    assert len(kept.read_text().splitlines()) == 24
    assert json.loads((weights / "judge.json").read_text()) == json.loads(json.dumps(result))
    assert result["fitted"]["questions"] + result["measured"]["questions"] == 24
    assert "judge.min_chance=" in told(result) or "not reached" in told(result)

    judge = CalibratedJudge(ReaderSession(Weights(weights), threads=1))
    (first, *_) = (json.loads(line) for line in kept.read_text().splitlines())
    assert 0.0 <= judge._chance(tuple(first["features"])) <= 1.0


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


def test_too_few_questions_are_refused(weights: Path, tmp_path: Path) -> None:
    file = write_questions(tmp_path / "valid.jsonl.gz")
    with pytest.raises(TrainingError, match="take more questions"):
        calibrate(weights, file, None, tmp_path / "work", JudgeFitSettings(questions=1, threads=1))
    with pytest.raises(WherefromError, match="`wherefrom data ten-passages` builds it"):
        calibrate(weights, tmp_path / "absent.jsonl.gz", None, tmp_path / "work")


def test_progress_tells_rate_and_time_left() -> None:
    said: list[str] = []
    report = paced("judge", said.append, every=0.0)
    report(10, 40)
    report(20, 40)
    report(40, 40)
    assert said[0].startswith("judge: 20 of 40, ")
    assert "/s, " in said[0]
    assert said[0].endswith(" left")
    assert "left" not in said[1]
