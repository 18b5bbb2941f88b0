"""The bench of growing libraries: documents that repeat, sizes that are predicted, a run that goes on where it was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bench.corpus import find_source
from bench.workers import IngestTimes
from bench_data import make_data

from bench import made, record, scale, scale_child, segments


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEREFROM_DATA", str(make_data(tmp_path / "data")))


def test_made_documents_are_the_same_whichever_are_asked_for() -> None:
    made_of = made.SentencePool([f"In {word} there was Athens and Rome of old." for word in "abcdefgh"], ["T"], [0, 8])
    some = list(made.documents(made_of, 0, 6, seed=5))
    assert some[4:] == list(made.documents(made_of, 4, 2, seed=5))
    assert some != list(made.documents(made_of, 0, 6, seed=6))
    assert len({id for id, _, _ in some}) == 6


def test_ever_more_names_are_new() -> None:
    made_of = made.SentencePool(["We saw Athens and Sparta and Corinth today."] * 8, ["T"], [0, 8])
    names: set[str] = set()
    grown = []
    for id, _, text in made.documents(made_of, 0, 400, seed=5):
        names |= set(re.findall(r"[A-Z][a-z]{4,}", text))
        if id in ("made-99", "made-399"):
            grown.append(len(names))
    assert grown[0] * 1.5 < grown[1] < grown[0] * 4.5


def test_different_numbers_are_spelt_differently() -> None:
    assert len({made.spelt(number) for number in range(30_000)}) == 30_000


def test_a_power_law_is_found_and_followed() -> None:
    sizes = [{"passages": n, **{field: 3.0 * n**0.5 for field, _ in scale.GROWING.values()}} for n in (100, 400)]
    assert scale.exponent(sizes, "index_mb") == pytest.approx(0.5)
    assert scale.predictions(sizes, 900)["index_mb"] == pytest.approx(90.0)
    assert scale.predictions(sizes[:1], 900) == {}


def test_a_run_grows_from_size_to_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "DOCUMENTS_A_FILE", 20)
    monkeypatch.setattr(made, "_LEAST_SENTENCES", 1)
    monkeypatch.setattr(scale, "_AT_A_TIME", 1)
    out, work = tmp_path / "scale.md", tmp_path / "work"
    arguments = ["--searched", "6", "--asked", "2", "--out", str(out), "--work", str(work), "--keep"]
    assert scale.main(["--passages", "20", *arguments]) == 0
    assert scale.main(["--passages", "20", "200", *arguments]) == 0  # the first size is not measured again
    report = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    small, large = report["sizes"]
    assert small["passages"] < large["passages"]
    assert large["last_passages"] == large["passages"] - small["passages"]
    assert record.kind_of(report) == "scale"
    assert large["cpu_seconds"] > small["cpu_seconds"] > 0
    assert large["segments"] >= 1
    lines = record.scale_lines(report)
    assert [line.metrics["index_mb"] > 0 for line in lines] == [True, True]
    assert find_source().squad.name in " ".join(lines[0].files)


def test_an_index_is_searched_at_each_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "BATCH", 5)
    (tmp_path / "made-00000.jsonl").write_text(
        "".join(json.dumps({"title": "T", "text": f"The house number {n} is old."}) + "\n" for n in range(60))
    )
    out = tmp_path / "segments.md"
    arguments = ["--files", str(tmp_path), "--questions", "3", "--out", str(out), "--passages", "12", "30"]
    assert segments.main(arguments) == 0
    report = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    assert [each["passages"] for each in report["by_segments"]] == [12, 30]
    assert record.kind_of(report) == "segments"
    small, large = record.segments_lines(report)
    assert small.metrics["segments"] >= 1
    assert min(large.metrics.values()) > 0


def test_the_time_before_an_interruption_counts(tmp_path: Path) -> None:
    file, kept = tmp_path / "some.jsonl", tmp_path / "so-far"
    file.write_text('{"id": "a", "text": "The garden opens at nine."}\n', encoding="utf-8")
    kept.write_text('{"seconds": 1000.0, "cpu_seconds": 900.0}', encoding="utf-8")
    built = scale_child._ingest({"library": str(tmp_path / "library"), "files": [str(file)], "so_far": str(kept)})
    assert built["passages"] == 1
    assert built["seconds"] > 1000
    assert built["cpu_seconds"] > 900
    assert json.loads(kept.read_text(encoding="utf-8"))["seconds"] > 1000


def test_the_least_time_is_that_of_whatever_cannot_be_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    times = [IngestTimes(workers, 0.0, 10.0, 40.0, 1, 0.0).least for workers in (1, 2, 8)]
    assert times == [40.0, 25.0, 25.0]  # one worker's reading; then both cores, which have all there is to do
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    assert IngestTimes(8, 0.0, 10.0, 40.0, 1, 0.0).least == 10.0  # the writer, whoever reads
