"""Predicting: where passages come from, going on after an interruption, official formats."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evaluate.small_data import write_squad
from wherefrom import Library
from wherefrom.build import build
from wherefrom.config import Settings, resolve
from wherefrom.data import squad
from wherefrom.data.examples import Example, whole
from wherefrom.evaluate.predict import (
    PredictError,
    PredictionRun,
    export,
    facts_of_data,
    given_hits,
    predict,
    read_traces,
    resolved,
    weights_of,
)
from wherefrom.evaluate.predictions import read_predictions
from wherefrom.pipeline import Pipeline
from wherefrom.types import Document, Question


@pytest.fixture
def examples(tmp_path: Path) -> list[Example]:
    return list(squad.load(write_squad(tmp_path / "valid-v1.1.json"), "valid"))


@pytest.fixture
def pipeline() -> Pipeline:
    return build(Settings(), None)


@pytest.fixture
def run(tmp_path: Path, examples: list[Example]) -> PredictionRun:
    file = tmp_path / "valid-v1.1.json"
    return PredictionRun("squad", file.name, facts_of_data(file), "given", "short", 0.0, None, resolved(Settings()))


def test_a_trace_for_every_question(
    examples: list[Example], pipeline: Pipeline, run: PredictionRun, tmp_path: Path
) -> None:
    out = tmp_path / "traces.jsonl"
    assert predict(examples, pipeline, run, out) == 5
    traces = {trace.question.id: trace for trace in read_traces(out)}
    assert list(traces) == [example.question.id for example in examples]
    answer = traces["h2"].answer
    assert answer is not None
    assert answer.text == "Ines Moreau"
    assert json.loads(Path(f"{out}.run.json").read_text())["dataset"] == "squad"


def test_an_interrupted_run_is_gone_on_with(
    examples: list[Example], pipeline: Pipeline, run: PredictionRun, tmp_path: Path
) -> None:
    whole_run, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    predict(examples, pipeline, run, whole_run)
    predict(examples[:2], pipeline, run, cut)
    with cut.open("ab") as file:
        file.write(b'{"question": {"id": "h3", "te')  # killed in mid-line
    counts: list[int] = []
    assert predict(examples, pipeline, run, cut, counts.append) == 5
    assert counts == [5]

    def answers(path: Path) -> list[object]:
        return [replace(trace, timings={}) for trace in read_traces(path)]

    assert answers(cut) == answers(whole_run)


def test_two_different_runs_do_not_mix(
    examples: list[Example], pipeline: Pipeline, run: PredictionRun, tmp_path: Path
) -> None:
    out = tmp_path / "traces.jsonl"
    predict(examples, pipeline, run, out)
    with pytest.raises(PredictError, match="was made with style = 'short', not 'sentence'"):
        predict(examples, pipeline, replace(run, style="sentence"), out)
    Path(f"{out}.run.json").unlink()
    with pytest.raises(PredictError, match=r"exists without a readable traces.jsonl.run.json"):
        predict(examples, pipeline, run, out)


def test_a_limit_takes_the_first_questions(
    examples: list[Example], pipeline: Pipeline, run: PredictionRun, tmp_path: Path
) -> None:
    assert predict(examples, pipeline, replace(run, limit=2), tmp_path / "out.jsonl") == 2


def test_every_second_question_is_a_sample(
    examples: list[Example], pipeline: Pipeline, run: PredictionRun, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    assert predict(examples, pipeline, replace(run, every=2), out) == 3
    assert [trace.question.id for trace in read_traces(out)] == [example.question.id for example in examples[::2]]


def test_a_run_knows_its_networks() -> None:
    lexical = resolve(None, ["rank.kind=none", "read.kind=sentence", "judge.kind=lexical", "write.kind=verbatim"])
    assert set(weights_of(build(lexical, None))) >= {"yes-no/polarity.json", "yes-no/truth.json"}
    quoting = resolve(None, ["write.kind=verbatim", "write.yes_no=false"])
    read = {f"reader/{name}" for name in ("first.onnx", "model.onnx", "judge.json", "order.json", "settings.toml")}
    assert set(weights_of(build(quoting, None))) >= read
    assert {"reader/model.onnx", "writer/step.onnx", "writer/words.npy"} <= set(weights_of(build(Settings(), None)))


def test_a_writers_graphs_and_tables_count_as_weights(tmp_path: Path) -> None:
    for name in ("step.onnx", "words.npy", "tokenizer.json", "provenance.json"):
        (tmp_path / name).write_text(name)
    pipeline = replace(build(Settings(), None), weights=(tmp_path,))
    assert set(weights_of(pipeline)) == {f"{tmp_path.name}/step.onnx", f"{tmp_path.name}/words.npy"}


def test_gold_passages_are_those_labelled_or_those_with_the_answer() -> None:
    passages = (whole("a", "one"), whole("b", "two"), whole("c", "three"))
    labelled = Example(Question("1", "?"), passages, relevant=(False, True, False))
    assert [hit.passage.id for hit in given_hits(labelled, "gold")] == ["b"]
    assert [hit.passage.id for hit in given_hits(labelled, "given")] == ["a", "b", "c"]
    scores = [hit.score for hit in given_hits(labelled, "given")]
    assert scores == sorted(scores, reverse=True)


def test_passages_can_come_from_a_library(examples: list[Example], run: PredictionRun, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    library.put([Document(example.passages[0].id, example.passages[0].text) for example in examples])
    out = tmp_path / "out.jsonl"
    predict(examples, library.pipeline(), replace(run, passages_from="library"), out)
    first = next(read_traces(out))
    assert first.hits[0].passage.document_id == examples[0].passages[0].id


@pytest.mark.parametrize("format", ["squad", "msmarco"])
def test_official_answers_say_what_the_traces_say(
    examples: list[Example], pipeline: Pipeline, run: PredictionRun, tmp_path: Path, format: str
) -> None:
    traces, out = tmp_path / "traces.jsonl", tmp_path / "official.json"
    predict(examples, pipeline, replace(run, min_chance=0.6), traces)
    export(read_traces(traces), format, out)  # type: ignore[arg-type]
    ours, official = read_predictions(traces), read_predictions(out)
    assert {id: prediction.text for id, prediction in official.items()} == {
        id: prediction.text for id, prediction in ours.items()
    }


def test_a_trec_run_ranks_what_the_traces_rank(
    examples: list[Example], pipeline: Pipeline, run: PredictionRun, tmp_path: Path
) -> None:
    traces, out = tmp_path / "traces.jsonl", tmp_path / "run.trec"
    predict(examples, pipeline, run, traces)
    export(read_traces(traces), "trec", out)
    first = out.read_text().splitlines()[0].split()
    assert [*first[:4], first[5]] == ["h1", "Q0", "Harbour#0", "1", "wherefrom"]
    assert 0.0 < float(first[4]) < 1.0
    written, traced = read_predictions(out)["h1"].ranking, read_predictions(traces)["h1"].ranking
    assert [(id, pytest.approx(score, rel=1e-6)) for id, score in written] == list(traced)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ('{"question": {"id": "1", "text": "?"}, "hits": 3}\n', "line 1: not a trace"),
        ('{"query_id": 1, "answers": ["a", "b"]}\n', "expected one answer at most, found 2"),
        ('{"query_id": 1}\n', "not a line of MS MARCO"),
        ('{"a": 1}', "is neither traces, nor"),
        ("q1 Q0 p1 1 0.5\n", "a line of a TREC run has 6 fields, this one has 5"),
        ("q1 Q0 p1 1 high tag\n", "score: expected a number, found 'high'"),
        ("q1 Q0 p1 1 0.5 tag\nq1 Q0 p1 2 0.4 tag\n", "is ranked twice"),
        ('{"query_id": 1, "answers": []}\n{"query_id": 1, "answers": []}\n', "answers question '1' twice"),
    ],
)
def test_predictions_that_cannot_be_read_are_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "predictions"
    path.write_text(content)
    with pytest.raises(PredictError, match=message.replace("{", "\\{")):
        read_predictions(path)
