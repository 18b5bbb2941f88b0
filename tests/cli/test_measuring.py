"""predict, score, report and data from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluate.small_data import write_squad, write_ten_passage_sources, write_wikiqa


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wherefrom", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    return write_squad(tmp_path / "valid-v1.1.json")


def test_predict_score_report(squad: Path, tmp_path: Path) -> None:
    out, scores, page = tmp_path / "p.jsonl", tmp_path / "scores.json", tmp_path / "page.html"
    done = run("predict", "squad", squad, "--from", "gold", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "5 predictions" in done.stdout
    scored = run("score", "squad", squad, out, "--out", scores)
    assert scored.returncode == 0, scored.stderr
    assert {line.split("\t")[0] for line in scored.stdout.splitlines()} >= {"em", "f1", "recall"}
    flat = json.loads(run("score", "squad", squad, out, "--json").stdout)
    assert 0.0 <= flat["em"] <= flat["f1"] <= 100.0
    assert json.loads(scores.read_text())["run"]["passages_from"] == "gold"
    assert run("report", scores, "--out", page).returncode == 0
    assert "<svg" in page.read_text()


def test_a_file_with_wrong_offsets_is_scored_with_a_warning(squad: Path, tmp_path: Path) -> None:
    predictions = tmp_path / "p.json"
    predictions.write_text(json.dumps({"h1": "1908"}))
    before = run("score", "squad", squad, predictions, "--json")
    shifted = json.loads(squad.read_text())
    for article in shifted["data"]:
        for record in article["paragraphs"][0]["qas"]:
            record["answers"][0]["answer_start"] += 1
    squad.write_text(json.dumps(shifted))
    after = run("score", "squad", squad, predictions, "--json")
    assert after.returncode == 0, after.stderr
    assert before.stderr == ""
    assert after.stderr.startswith(f"wherefrom: warning: {squad}: ")
    assert "answers do not stand at their answer_start" in after.stderr
    assert json.loads(after.stdout)["em"] == json.loads(before.stdout)["em"] > 0.0


def test_official_formats_score_like_traces(squad: Path, tmp_path: Path) -> None:
    traces, official = tmp_path / "p.jsonl", tmp_path / "p.json"
    run("predict", "squad", squad, "--from", "gold", "--out", traces)
    run("predict", "squad", squad, "--from", "gold", "--out", official, "--format", "squad")
    assert set(json.loads(official.read_text())) == {"h1", "h2", "h3", "g1", "g2"}
    ours = json.loads(run("score", "squad", squad, traces, "--json").stdout)
    theirs = json.loads(run("score", "squad", squad, official, "--json").stdout)
    assert (ours["em"], ours["f1"]) == (theirs["em"], theirs["f1"])


def test_a_ranking_is_scored_and_compared(tmp_path: Path) -> None:
    wikiqa = write_wikiqa(tmp_path / "WikiQA-dev.tsv")
    in_order, ranked = tmp_path / "given.trec", tmp_path / "ranked.trec"
    run("predict", "wikiqa", wikiqa, "--format", "trec", "--out", in_order, "--set", "rank.kind=none")
    run("predict", "wikiqa", wikiqa, "--format", "trec", "--out", ranked, "--set", "rank.kind=overlap")
    before = json.loads(run("score", "wikiqa", wikiqa, in_order, "--json").stdout)
    after = json.loads(run("score", "wikiqa", wikiqa, ranked, "--json").stdout)
    assert (before["map"], after["map"]) == (0.5, 1.0)


def test_against_another_system(squad: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps({"h1": "1908", "h2": "Ines Moreau", "h3": "dawn", "g1": "412", "g2": "dusk"}))
    bad.write_text(json.dumps({"h1": "1908", "h2": "x", "h3": "y", "g1": "412", "g2": "dusk"}))
    done = run("score", "squad", squad, good, "--against", bad)
    assert "em: 100.00 against 60.00, difference +40" in done.stdout


def test_two_styles_of_one_system(squad: Path, tmp_path: Path) -> None:
    for style in ("short", "sentence"):
        out = tmp_path / f"{style}.jsonl"
        more = ("--set", "write.kind=verbatim", "--style", style)
        assert run("predict", "squad", squad, "--from", "gold", "--out", out, *more).returncode == 0
    command = ("score", "squad", squad, tmp_path / "sentence.jsonl", "--against", tmp_path / "short.jsonl")
    assert "sentence against short: 5 questions answered in both, 0 in sentence alone" in run(*command).stdout
    styles = json.loads(run(*command, "--json").stdout)["styles"]
    assert (styles["agrees"], styles["zero_overlap"], styles["contradicts"]) == (100.0, 0.0, 0.0)
    assert styles["words_one"] > styles["words_other"]
    same = ("score", "squad", squad, tmp_path / "short.jsonl", "--against", tmp_path / "short.jsonl", "--json")
    assert "styles" not in json.loads(run(*same).stdout)


def test_from_the_library(squad: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    (tmp_path / "notes.txt").write_text("The lighthouse was built by Ines Moreau.")
    run("ingest", tmp_path / "notes.txt", "--library", library)
    done = run("predict", "squad", squad, "--from", "library", "--library", library, "--out", tmp_path / "p.jsonl")
    assert done.returncode == 0, done.stderr
    assert json.loads(run("score", "squad", squad, tmp_path / "p.jsonl", "--json").stdout)["top_1"] == 20.0


def test_mistakes_are_named(squad: Path, tmp_path: Path) -> None:
    wrong = run("predict", "sqad", squad, "--out", tmp_path / "p")
    assert wrong.returncode == 2
    assert "squad" in wrong.stderr
    missing = run("predict", "squad", tmp_path / "nothing.json", "--out", tmp_path / "p")
    assert missing.returncode == 1
    assert "nothing.json" in missing.stderr
    (tmp_path / "broken.json").write_text('{"data": [{"title": "T"}]}')
    broken = run("predict", "squad", tmp_path / "broken.json", "--out", tmp_path / "q")
    assert broken.returncode == 1
    assert "broken.json" in broken.stderr
    assert "paragraphs" in broken.stderr
    for done in (wrong, missing, broken):
        assert "Traceback" not in done.stderr


def test_data_lists_and_builds(tmp_path: Path) -> None:
    names = [row["name"] for row in json.loads(run("data", "list", "--json").stdout)]
    assert {"squad", "msmarco", "ten-passages", "trecqa"} <= set(names)
    data = write_ten_passage_sources(tmp_path / "data")
    done = run("data", "ten-passages", "--out", tmp_path / "ten", "--limit", "5", WHEREFROM_DATA=str(data))
    assert done.returncode == 0, done.stderr
    assert "valid: 5 questions" in done.stdout
    out = tmp_path / "p.jsonl"
    assert run("predict", "ten-passages", tmp_path / "ten", "--out", out).returncode == 0
    scores = json.loads(run("score", "ten-passages", tmp_path / "ten", out, "--json").stdout)
    assert {"rouge_l", "bleu_1", "map", "mrr"} <= set(scores)


def test_the_passages_of_a_dataset_become_documents(squad: Path, tmp_path: Path) -> None:
    out = tmp_path / "passages.jsonl"
    assert run("data", "passages", "squad", squad, "--out", out).returncode == 0
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == ["Harbour#0", "Harbour#1", "Garden#0"]
    library = tmp_path / "library"
    assert run("ingest", out, "--library", library).returncode == 0
    trace = json.loads(run("search", "--json", "--library", library, "Who built the lighthouse?").stdout)
    assert trace["hits"][0]["passage"]["document_id"] == "Harbour#0"


def test_reproduce_lists_reported_beside_measured(tmp_path: Path) -> None:
    lines = run("reproduce", "--list", "--runs", tmp_path).stdout.splitlines()
    assert len(lines) > 300
    assert all(line.endswith("not run") for line in lines)
    rows = json.loads(run("reproduce", "rankqa", "--list", "--json", "--runs", tmp_path).stdout)
    assert len(rows) == 5
    assert "26.25" in json.dumps(rows)


def test_a_row_whose_inputs_are_missing_is_refused(tmp_path: Path) -> None:
    whole = run("reproduce", "pqsum", "--runs", tmp_path, WHEREFROM_DATA="")
    assert (whole.returncode, "t4-5-ext: --data is needed" in whole.stderr) == (2, True), whole.stderr
    missing = run("reproduce", "rankqa", "--runs", tmp_path, "--data", tmp_path, WHEREFROM_LIBRARY="")
    assert (missing.returncode, "rankqa drqa: --library is needed" in missing.stderr) == (2, True), missing.stderr
    for refused in (whole, missing):
        assert "Traceback" not in refused.stderr
    assert not list(tmp_path.rglob("*.json*"))
    assert run("reproduce", "rnkqa", "--list").returncode == 5
    assert run("reproduce").returncode == 2


def test_predict_says_yes_or_no_only_where_gold_answers_are_no_quotations(squad: Path, tmp_path: Path) -> None:
    def yes_no(dataset: str, *more: str) -> bool:
        out = tmp_path / f"{dataset}{len(more)}.jsonl"
        assert run("predict", dataset, squad, "--from", "gold", "--limit", 1, "--out", out, *more).returncode == 0
        return bool(json.loads(Path(f"{out}.run.json").read_text())["settings"]["write"]["yes_no"])

    assert not yes_no("squad")
    assert yes_no("squad", "--set", "write.yes_no=true")
