"""The bench beside peers: one protocol, one judgement, nothing lost when it is interrupted. No peer is needed."""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pytest
from bench.facts import Facts
from bench.peers import models, report, run, scoring, sets
from bench.peers.configurations import CONFIGURATIONS, Configuration
from bench.peers.process import Process, SystemFailed
from bench.peers.sets import Asked

FAKE = Configuration("fake", "a fake", "", "fake_peer")
PASSAGES = (
    {"key": "p1", "title": "Harbour", "text": "a night at the quay costs 12"},
    {"key": "p2", "title": "", "text": "the pump was mended in June"},
)
QUESTIONS = (
    Asked("q1", "tune", "town", "what does a night at the quay cost", "number", ("12",)),
    Asked("q2", "tune", "town", "when was the pump mended", "fact", ("May",)),
    Asked("q3", "test", "town", "who conducts", "fact", ()),
    Asked("q4", "test", "town", "the mended pump", "fact", (), near_miss=True),
)
FACTS = Facts("abc", False, {}, "a processor", 2, 1, "3.11", "Linux", 0.0)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> run.Plan:
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}:{run.ROOT / 'src'}:{run.ROOT}")
    folder = tmp_path / "sets" / "real"
    folder.mkdir(parents=True)
    (folder / "town.jsonl").write_text("".join(json.dumps(line) + "\n" for line in PASSAGES))
    (folder / sets.QUESTIONS).write_text("".join(json.dumps(asdict(question)) + "\n" for question in QUESTIONS))
    return run.Plan(tmp_path, None)


def test_every_question_is_answered_once_however_often_it_is_interrupted(plan: run.Plan) -> None:
    failing = Configuration("fake", "a fake", "", "fake_peer", {"fails_at": QUESTIONS[2].question})
    with pytest.raises(SystemFailed, match="no answer to this"):
        run.answer(plan, failing, "real", say=lambda _: None)
    file = plan.answers("real", FAKE)
    with file.open("a") as out:
        out.write('{"id": "q3", "te')  # the machine went down while this was written
    run.answer(plan, FAKE, "real", say=lambda _: None)
    run.answer(plan, FAKE, "real", say=lambda _: None)
    lines = run.kept(file)
    assert [line["id"] for line in lines if "id" in line] == ["q1", "q2", "q3", "q4"]
    assert sum("ingested" in line for line in lines) == 2
    assert lines[-1]["high_water_bytes"] > 1e6


def test_the_table_and_the_lines_say_what_was_answered(plan: run.Plan) -> None:
    run.answer(plan, FAKE, "real", say=lambda _: None)
    sizes = {"": {"install_mb": 7.0}}
    (result,) = report.results(plan, [FAKE], sizes)
    tune = scoring.figures(result.parts["tune"])
    assert (tune["right_share"], tune["precision"], tune["exact_source"]) == (50.0, 50.0, 100.0)
    test = scoring.figures(result.parts["test"])
    assert (test["absent_declined"], test["near_declined"]) == (50.0, 0.0)
    assert "right_share" not in test
    assert result.costs["passages"] == 2
    told = report.table(plan, [FAKE], sizes)
    assert "| a fake | 2 | 50.0 (0-100) | 50.0" in told
    assert "Declining below" in told
    first, second = report.lines(plan, [FAKE], sizes, FACTS)
    assert (first.topic, first.split, first.n, first.over) == ("peers", "tune", 2, "2 passages")
    assert second.metrics["absent_declined"] == 50.0
    assert first.metrics["install_mb"] == 7.0


def test_a_place_is_exact_only_where_the_quote_stands_there() -> None:
    texts = scoring.texts_of(PASSAGES)
    answer = {"text": "12", "quote": "12", "key": "p1", "start": 34, "end": 36, "shown": ["p1"], "seconds": 0, "cpu": 0}
    assert texts["p1"][34:36] == "12"
    assert scoring.scored(QUESTIONS[0], answer, texts).exact
    moved = scoring.scored(QUESTIONS[0], {**answer, "start": 33}, texts)
    assert (moved.exact, moved.in_source) == (False, True)
    elsewhere = scoring.scored(QUESTIONS[0], {**answer, "key": "p2", "shown": ["p2"]}, texts)
    assert (elsewhere.exact, elsewhere.in_source) == (False, False)
    written = {"text": "It costs 12.", "shown": ["p1"], "seconds": 0, "cpu": 0}
    judged = scoring.scored(QUESTIONS[0], written, texts)
    assert (judged.right, judged.exact, judged.in_source) == (True, False, False)


def _rows(*told: tuple[str | None, float | None, bool]) -> list[scoring.Scored]:
    """What was said with which score; whether the question can be answered at all (with "x")."""
    return [
        scoring.scored(
            Asked(str(place), "tune", "town", "?", "fact", ("x",) if able else ()),
            {"text": text, "score": score, "seconds": 0.0, "cpu": 0.0},
            {},
        )
        for place, (text, score, able) in enumerate(told)
    ]


def test_the_threshold_makes_most_questions_come_out_right() -> None:
    told = (
        ("x", 0.9, True),
        ("y", 0.8, False),
        ("x", 0.7, True),
        ("x", 0.7, True),
        ("y", 0.3, False),
        ("y", 0.2, True),
    )
    rows = _rows(*told)
    threshold = scoring.best_threshold(rows)
    assert threshold == 0.7
    assert [row.text for row in scoring.at(rows, threshold)] == ["x", "y", "x", "x", None, None]
    assert scoring.best_threshold(_rows(("x", None, True))) is None
    assert scoring.best_threshold(_rows(("y", 0.9, False))) == float("inf")


def test_questions_are_drawn_evenly_and_always_the_same() -> None:
    drawn = sets.spread(range(100), 10)
    assert [each // 10 for each in drawn] == list(range(10))
    assert drawn == sets.spread(range(100), 10)
    assert sets.spread([1, 2], 10) == [1, 2]


def test_a_process_that_ends_says_why(tmp_path: Path) -> None:
    options = {"threads": 1}
    with (
        pytest.raises(SystemFailed, match="no_such_module"),
        Process(Path(sys.executable), "no_such_module", options, tmp_path / "log.txt") as process,
    ):
        process.tell("ask", question="?")


def test_our_reader_has_the_names_that_transformers_give() -> None:
    import numpy

    layer = "encoder.layers.3"
    ours = {
        f"{layer}.query_key_value.bias": numpy.arange(6),
        f"{layer}.attention_norm.weight": numpy.ones(2),
        "encoder.word.weight": numpy.ones((3, 2)),
        "encoder.norm.bias": numpy.ones(2),
        "span.weight": numpy.ones((2, 2)),
        "no_answer.bias": numpy.ones(1),
        "relevance.bias": numpy.ones(1),
    }
    theirs = models.as_bert(ours)
    assert theirs["bert.encoder.layer.3.attention.self.key.bias"].tolist() == [2, 3]
    assert set(theirs) == {
        *(f"bert.encoder.layer.3.attention.self.{part}.bias" for part in ("query", "key", "value")),
        "bert.encoder.layer.3.attention.output.LayerNorm.weight",
        "bert.embeddings.word_embeddings.weight",
        "bert.embeddings.LayerNorm.bias",
        "qa_outputs.weight",
        "no_answer.bias",
    }


def test_the_runner_imports_no_peer() -> None:
    """Only the modules that run in a peer's environment know it, and these import it when they are used."""
    peers = {"haystack", "haystack_integrations", "txtai", "llama_index", "transformers"}
    for file in (run.ROOT / "bench" / "peers").glob("*.py"):
        assert not _imported(ast.walk(ast.parse(file.read_text(encoding="utf-8")))) & peers, file.name
    for file in (run.ROOT / "bench" / "peers" / "systems").glob("*.py"):
        if file.name != "exported.py":
            assert not _imported(ast.parse(file.read_text(encoding="utf-8")).body) & peers, file.name
    project = tomllib.loads((run.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = json.dumps([project["dependencies"], project["optional-dependencies"]["dev"]])
    assert not any(name in needed for name in ("haystack", "txtai", "llama-index-llms", "transformers"))


def _imported(nodes: Iterable[ast.AST]) -> set[str]:
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def test_every_peer_has_pinned_versions() -> None:
    for configuration in CONFIGURATIONS.values():
        if configuration.environment:
            file = run.ROOT / "bench" / "peers" / "requirements" / f"{configuration.environment}.txt"
            lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
            assert lines
            assert all("==" in line for line in lines)
