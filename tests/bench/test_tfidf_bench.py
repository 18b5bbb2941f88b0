"""The TF-IDF bench: every system on the same passages, and a remedy where scikit-learn is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench_data import make_data

from bench import measure, record, tfidf


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEREFROM_DATA", str(make_data(tmp_path / "data")))


def test_a_run_measures_every_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="the bench needs scikit-learn: pip install -e '.[dev]'")
    first_search = measure.first_search
    monkeypatch.setattr(measure, "first_search", lambda job, _repeats: first_search(job, 1))
    out, work = tmp_path / "tfidf.md", tmp_path / "work"
    assert tfidf.main(["--passages", "200", "--questions", "12", "--out", str(out), "--work", str(work)]) == 0
    text, raw = out.read_text(encoding="utf-8"), json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    for title in tfidf.TITLES.values():
        assert f"| {title} |" in text
    assert list(raw["systems"]) == list(tfidf.TITLES)
    assert record.kind_of(raw) == "tfidf"
    assert [line.baseline for line in record.tfidf_lines(raw)] == [False, False, True, True]
    for measured in raw["systems"].values():
        assert measured["build"]["passages"] == raw["passages"] > 200
        assert measured["build"]["index_bytes"] > 0
        assert len(measured["search"]["cpu_seconds"]) == 12
        # each question's number stands in its own paragraph alone
        assert sum(place > 0 for place in measured["quality"]["first_gold"]) >= 11
    assert list(work.iterdir()) == []


def test_without_scikit_learn_the_remedy_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tfidf.importlib.util, "find_spec", lambda _: None)
    assert tfidf.main(["--out", str(tmp_path / "out.md"), "--work", str(tmp_path)]) == 2
    assert "pip install -e '.[dev]'" in capsys.readouterr().err
    assert not (tmp_path / "out.md").exists()
