"""What written summaries are worth beside trivial ones: from saved trainings, without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.focused import main

DOCUMENT = "The harbour froze. The mayor closed the bridge in March."
QUERY = "When was the bridge closed?"
GOLD = "The bridge was closed in March."


def saved(folder: Path, written: str) -> None:
    folder.mkdir(parents=True)
    summaries = [{"document": DOCUMENT, "query": QUERY, "summary": GOLD, "written": written}] * 3
    (folder / "scores.json").write_text(json.dumps({"summaries": summaries}))


def test_ours_stands_beside_the_first_sentence_and_the_query(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path / "bertsum" / "bidirectional-qa2d-0-abc", GOLD)
    saved(tmp_path / "bertsum" / "no-query-qa2d-0-abc", "The harbour froze.")
    assert main(["--work", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    rouge = {line.split(": ")[1]: float(line.partition("rouge_l ")[2].split(",")[0]) for line in lines}
    assert rouge["QR-BERTSUM-TL"] == 100.0
    assert rouge["the query, copied"] > rouge["the document's first sentence"] == rouge["... without the query"]


def test_an_ablation_of_other_questions_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its figures would not be of the same questions."""
    saved(tmp_path / "bertsum" / "bidirectional-qa2d-0-abc", GOLD)
    saved(tmp_path / "bertsum" / "vanilla-qa2d-0-abc", GOLD)
    saved(tmp_path / "bertsum" / "vanilla-qa2d-1-abc", GOLD)  # twice as many
    main(["--work", str(tmp_path)])
    assert "without transfer" not in capsys.readouterr().out


def test_sets_of_documents_bring_their_own_trivial_summaries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {f"rouge_{kind}_f": 0.25 for kind in ("1", "2", "l")}
    source = {"sets": 4, "ours": figures, "TextRank": {**figures, "p": 0.5}}
    folder = tmp_path / "pqsum" / "no-weak-supervision-abc"
    folder.mkdir(parents=True)
    (folder / "scores.json").write_text(json.dumps({"sources": {"qmsum": source}}))
    main(["--work", str(tmp_path)])
    out = capsys.readouterr().out
    assert "qmsum: PQSUM, sentences ranked by CETE: rouge_1 25" in out
    assert "qmsum: TextRank: rouge_1 25" in out
