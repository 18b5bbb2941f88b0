"""The re-ranking benchmark measures real re-rankers and says honestly what it found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch", reason="candidates are read by training code: pip install 'wherefrom[train]'")

from bench import rerank
from rerank.tiny_reranker import write as write_reranker
from wherefrom.data.examples import whole
from wherefrom.runtime.weights import Weights
from wherefrom.systems.rankqa.material import KeptCandidate, KeptQuestion


def candidates(folder: Path, questions: int, count: int = 40) -> Path:
    text = " ".join(f"word{number}" for number in range(60))
    places = tuple(
        KeptCandidate(0, number, number + 6, -float(number), {"read": -float(number)}) for number in range(count)
    )
    line = KeptQuestion("q", "What is it?", "a", ("word1",), (whole("p#0", text),), places)
    file = folder / "candidates.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(replace(line, id=str(n))) + b"\n" for n in range(questions)))
    return file


def run(tmp_path: Path, questions: int = 8) -> rerank.Run:
    weights = Weights(write_reranker(tmp_path / "weights", {"rank": -1.0, "sum_span": 0.5}))
    return rerank.bench(candidates(tmp_path, questions), weights, Weights(tmp_path / "no-tagger"), 100)


def test_every_question_but_the_first_few_is_timed(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert (found.questions, found.candidates, found.tagged) == (3, 40, False)
    assert set(found.times) == {"rankqa", "vote"}
    assert all(len(times.cpu) == len(times.wall) == 3 for times in found.times.values())
    assert "| rankqa |" in rerank.markdown(found)


def test_a_target_that_is_missed_says_so(tmp_path: Path) -> None:
    found = run(tmp_path)
    slow = replace(found, times={**found.times, "rankqa": rerank.Times((9.0,), (9.0,))})
    quick = replace(found, times={**found.times, "rankqa": rerank.Times((9.0,), (1.0,))})
    assert not rerank.verdict(slow).met
    assert rerank.verdict(quick).met
    assert "Missed: re-ranking 40 candidates under 5 ms: 9.00 ms CPU" in rerank.markdown(slow)


def test_too_few_questions_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = candidates(tmp_path, 3)
    weights = write_reranker(tmp_path / "weights", {"rank": -1.0})
    out = tmp_path / "rerank.md"
    assert rerank.main(["--candidates", str(file), "--weights", str(weights), "--out", str(out)]) == 2
    assert "holds 3 questions with 40 candidates" in capsys.readouterr().err
    assert not out.exists()


def test_results_are_written_for_people_and_programs(tmp_path: Path) -> None:
    file, out = candidates(tmp_path, 8), tmp_path / "rerank.md"
    weights = write_reranker(tmp_path / "weights", {"rank": -1.0})
    assert rerank.main(["--candidates", str(file), "--weights", str(weights), "--out", str(out)]) == 0
    assert json.loads(out.with_suffix(".json").read_text())["questions"] == 3
    assert out.read_text().startswith("# Re-ranking")
