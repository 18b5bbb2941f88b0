"""The choice of how much shorter spans are preferred: worked out by hand, and over a tiny network."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="a tiny network is made with torch: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

from bench.brevity import BREVITIES, QuestionScores, Scores, best, chosen, halves, main
from bench_data import pack, paragraph

from contracts.material import HARBOUR
from wherefrom.build import build
from wherefrom.config import resolve
from wherefrom.data.squad import load
from wherefrom.types import Candidate, Hit


def of(text: str, score: float, tokens: float) -> Candidate:
    return Candidate(text, HARBOUR, 0, len(text), score, {"tokens": tokens})


def test_the_best_candidate_by_hand() -> None:
    candidates = [of("of the old harbour", -1.0, 4.0), of("harbour", -1.5, 1.0), of("old harbour", -1.4, 2.0)]
    assert 0.5 / math.log(4) == pytest.approx(0.361, abs=1e-3)  # from there on one token beats four
    assert [best(candidates, each) for each in (0.0, 0.3, 0.4, 1.2)] == [*["of the old harbour"] * 2, *["harbour"] * 2]
    assert best([], 0.5) == ""


def test_each_half_is_answered_with_what_is_best_on_the_other() -> None:
    def scored(half: int, right: set[float]) -> QuestionScores:
        em = tuple(float(each in right) for each in BREVITIES)
        return QuestionScores(half, em, tuple(value / 2 for value in em))

    first = [scored(0, {0.2, 0.3}), scored(0, {0.2, 0.3}), scored(0, {0.5})]
    second = [scored(1, {0.5}), scored(1, {0.5, 0.2})]
    choice = chosen([*first, *second])
    assert choice.brevities == (0.5, 0.2)  # 0.2 and 0.3 are equal on the first half: the smaller one
    assert choice.all == Scores(40.0, 20.0)


def test_halves_are_of_whole_articles() -> None:
    assert halves(["b", "a", "b", "c", "a"]) == {"a": 0, "b": 1, "c": 0}


def squad(folder: Path, articles: int, answers: Mapping[str, str] | None = None) -> Path:
    """Four questions an article; `answers` by id stand in place of the right ones."""
    articles_json = [
        {"title": f"T{n}", "paragraphs": [paragraph(100 + n * 10 + m) for m in range(4)]} for n in range(articles)
    ]
    for each in (part for article in articles_json for part in article["paragraphs"]) if answers else ():
        (scored,) = each["qas"]
        answer = answers[scored["id"]]
        scored["answers"] = [{"text": answer, "answer_start": each["context"].index(answer)}]
    pack(folder / "squad" / "valid-v1.1.json.xz", json.dumps({"version": "1.1", "data": articles_json}))
    return folder


def test_a_run_says_what_every_brevity_gives(tiny_reader_weights: Path, tmp_path: Path) -> None:
    """The network's own answers are gold, so that it is always right until shorter ones are preferred."""
    weights, out = Path(shutil.copytree(tiny_reader_weights, tmp_path / "weights")), tmp_path / "out.json"
    reader = build(resolve(overrides=[f"runtime.reader={weights}"]), None).reader
    examples = list(load(squad(tmp_path, 4) / "squad", "valid"))
    read = reader.read([e.question for e in examples], [[Hit(e.passages[0], 1.0)] for e in examples])
    answers = {e.question.id: candidates[0].text for e, candidates in zip(examples, read, strict=True)}
    squad(tmp_path, 4, answers)
    (weights / "settings.toml").write_text("brevity = 5.0\n" + (weights / "settings.toml").read_text())
    options = ["--data", str(tmp_path), "--out", str(out), "--set", f"runtime.reader={weights}"]
    assert main([*options, "--every", "2"]) == 0
    run = json.loads(out.read_text())
    assert (run["questions"], run["articles"], run["every"]) == (8, 4, 2)
    assert (run["settings"]["read"]["brevity"], run["settings"]["read"]["candidates"]) == (False, 40)
    assert run["settings"]["runtime"]["reader"] == str(weights)
    assert list(run["data_sha256"]) == ["valid-v1.1.json.xz"]
    assert [each["brevity"] for each in run["rows"]] == list(BREVITIES)
    right = [each["all"]["em"] for each in run["rows"]]
    assert right[0] == 100.0  # read without what the weights say
    assert right == sorted(right, reverse=True)
    assert right[-1] < 100.0
    for each in run["rows"]:
        assert each["all"]["f1"] == pytest.approx(sum(half["f1"] for half in each["halves"]) / 2, abs=0.01)
    assert run["chosen_on_the_other_half"] == {"brevities": [0.0, 0.0], "all": {"em": 100.0, "f1": 100.0}}


def test_what_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert main(["--data", str(tmp_path / "nowhere"), "--out", str(out)]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main(["--data", str(squad(tmp_path, 1)), "--out", str(out)]) == 2
    assert "two articles" in capsys.readouterr().err
    assert main(["--data", str(tmp_path), "--out", str(out), "--set", "read.kid=drqa"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert not out.exists()
