"""The benchmark measures every system on the same passages and says honestly what it found."""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench_data import make_data

from bench import corpus, library, measure, record, report, running

METRICS = [
    "passages/s, wall",
    "seconds, CPU",
    "peak memory while building",
    "peak memory while searching",
    "index on disk",
    "everything on disk",
    "open + first search",
    "as a whole process",
    "index search p50, CPU",
    "index search p95, CPU",
    "index search p50, wall",
    "index search p95, wall",
    "search with texts p50, CPU",
    "search with texts p95, CPU",
    "search with texts p50, wall",
    "search with texts p95, wall",
    "hit@1",
    "hit@10",
    "`wherefrom --help`",
    "`python -c pass`",
]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_data(tmp_path / "data")
    monkeypatch.setenv("WHEREFROM_DATA", str(folder))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[report.Run]:
    """One tiny run of everything; its work folder is empty afterwards."""
    work = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHEREFROM_DATA", str(make_data(tmp_path_factory.mktemp("data"))))
        plan = report.Plan(passages=200, questions=12, fts5_questions=6, first_searches=1, help_runs=1)
        yield library.bench(plan, work)
    assert list(work.iterdir()) == []


def test_a_run_measures_every_system_and_metric(run: report.Run, tmp_path: Path) -> None:
    out = tmp_path / "results" / "tiny.md"
    running.write(out, report.markdown(run), report.as_json(run))

    text, raw = out.read_text(encoding="utf-8"), json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    for name in ("wherefrom", "raw tantivy", "bm25s", "SQLite FTS5"):
        assert f"| {name} |" in text
    for metric in METRICS:
        assert metric in text
    assert list(raw["systems"]) == ["wherefrom", "tantivy", "bm25s", "fts5"]
    for measured in raw["systems"].values():
        assert measured["build"]["passages"] == raw["passages"] == raw["wikipedia_passages"] + 12
        assert measured["build"]["folder_bytes"] >= measured["build"]["index_bytes"] > 0
        assert measured["build"]["memory"]["total"] > 1_000_000
        assert measured["search"]["memory"]["total"] > 1_000_000
        assert len(measured["first"]["process_seconds"]) == 1
    assert len(raw["index_search"]["cpu_seconds"]) == 12
    assert raw["systems"]["fts5"]["search"]["asked"] == [0, 2, 4, 6, 8, 10]
    assert raw["data_sha256"].keys() == {"wikipedia/AA-0.txt.xz", "wikipedia/AA-1.txt.xz", "squad/valid-v1.1.json.xz"}
    assert raw["facts"]["versions"].keys() >= {"wherefrom", "tantivy", "bm25s", "SQLite"}
    assert sorted(path.name for path in out.parent.iterdir()) == ["tiny.json", "tiny.md"]


def test_every_system_finds_a_paragraph_that_alone_has_the_words(run: report.Run) -> None:
    for measured in run.systems.values():
        assert set(measured.quality.first_gold) == {1}


def test_results_tell_no_paths(run: report.Run) -> None:
    told = report.markdown(run) + json.dumps(report.as_json(run))
    assert str(measure.ROOT) not in told
    assert str(Path(sys.executable).parent) not in told


def test_a_missed_target_is_called_failed(run: report.Run) -> None:
    own = run.systems["wherefrom"]
    slow = replace(own, build=replace(own.build, seconds=own.build.passages / 4_999.0))
    found = replace(run, systems={**run.systems, "wherefrom": slow})

    verdict = report.verdicts(found)[0]
    assert verdict == report.Verdict("whole ingest", "at least 5,000 passages/s", "4,999 passages/s", met=False)
    assert "## Asked / measured / verdict" in report.markdown(found)
    assert "| 4,999 passages/s | **FAILED** |" in report.markdown(found)
    assert report.as_json(found)["verdicts"][0]["met"] is False


def test_searches_are_compared_on_the_questions_that_both_were_asked(run: report.Run) -> None:
    # Ours takes 1 ms for the six questions that FTS5 is asked and 9 ms for the others; FTS5 takes 25 ms.
    ours = replace(run.index_search, cpu_seconds=(0.001, 0.009) * 6)
    fts5 = run.systems["fts5"]
    theirs = replace(fts5, search=replace(fts5.search, cpu_seconds=(0.025,) * 6))
    found = replace(run, index_search=ours, systems={**run.systems, "fts5": theirs})

    verdict = next(verdict for verdict in report.verdicts(found) if "FTS5" in verdict.asked)
    assert (verdict.what, verdict.measured, verdict.met) == ("index search, p50", "25.0×", True)


def test_the_work_files_hold_just_enough_articles(data: Path, tmp_path: Path) -> None:
    prepared = corpus.prepare(corpus.find_source(), tmp_path, passages=200, questions=5)

    files = json.loads((tmp_path / corpus.FILES).read_text())
    assert [Path(file).name for file in files] == ["AA-0.txt.xz", "articles.txt.xz", "squad.jsonl"]
    texts = list(corpus.texts(tmp_path))
    assert len(texts) == len(prepared.ids) == prepared.wikipedia_passages + 12
    assert texts[0].startswith("Ardholm 0\nThe mill of Ardholm 0")
    articles = lzma.decompress(Path(files[1]).read_bytes()).decode()
    last = prepared.ids[prepared.wikipedia_passages - 1].partition("#")[0]
    assert f'<doc id="{last}"' in articles
    assert f'<doc id="{int(last) + 1}"' not in articles
    assert articles.endswith("</doc>\n")
    assert prepared.wikipedia_passages - 200 < 10  # less than an article too many


def test_every_nth_question_is_asked_with_the_passage_that_answers_it(data: Path, tmp_path: Path) -> None:
    prepared = corpus.prepare(corpus.find_source(), tmp_path, passages=10, questions=5)
    # Of 12: 0, 2.4, 4.8, 7.2, 9.6.
    assert [question.text[-4:-1] for question in prepared.questions] == ["100", "102", "104", "107", "109"]
    assert prepared.questions[1].gold == {"squad-0-2#0"}
    assert prepared.left_out == 0


def test_asking_for_more_passages_than_there_are_takes_all(data: Path, tmp_path: Path) -> None:
    prepared = corpus.prepare(corpus.find_source(), tmp_path, passages=1_000_000, questions=5)
    assert prepared.documents == 72
    assert len(json.loads((tmp_path / corpus.FILES).read_text())) == 3


def test_an_unset_data_folder_is_said_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("WHEREFROM_DATA", raising=False)
    assert library.main(["--out", str(tmp_path / "out.md")]) == 2
    said = capsys.readouterr().err
    assert "WHEREFROM_DATA is not set; set it to a folder that holds wikipedia/*.txt.xz" in said
    assert list(tmp_path.iterdir()) == []


def test_a_missing_data_folder_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("WHEREFROM_DATA", str(tmp_path / "nowhere"))
    assert library.main(["--out", str(tmp_path / "out.md")]) == 2
    assert "nowhere, which is not a folder" in capsys.readouterr().err


def test_a_data_folder_without_a_file_is_said_with_its_name(
    data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (data / "squad" / "valid-v1.1.json.xz").unlink()
    assert library.main(["--out", str(tmp_path / "out.md")]) == 2
    said = capsys.readouterr().err
    assert "lacks squad/valid-v1.1.json.xz (SQuAD 1.1); put the files there" in said
    assert "wikipedia" not in said


def test_a_broken_data_file_is_an_error(data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = data / "wikipedia" / "AA-0.txt.xz"
    broken.write_bytes(broken.read_bytes()[:-200])
    assert library.main(["--out", str(tmp_path / "out.md"), "--work", str(tmp_path / "work")]) == 2
    assert "AA-0.txt.xz cannot be used" in capsys.readouterr().err


def test_a_failed_measurement_is_an_error_and_no_number(tmp_path: Path) -> None:
    job = measure.Job("build", "tantivy", str(tmp_path), 10)  # there is no passages file
    with pytest.raises(measure.MeasureFailed, match="tantivy: build failed"):
        measure.build(job, tmp_path, tmp_path)


def test_ctrl_c_leaves_no_files(data: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "results" / "out.md", tmp_path / "work"
    command = [sys.executable, "-m", "bench.library", "--passages", "200", "--out", str(out), "--work", str(work)]
    with subprocess.Popen(
        command, cwd=measure.ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "building" in line:
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does
                break
        said = process.stderr.read()
    assert process.returncode == 130
    assert "interrupted; no results were written" in said
    assert not out.parent.exists()
    assert list(work.iterdir()) == []


def test_hits_are_counted_by_the_place_of_the_first_gold_passage() -> None:
    quality = report.Quality((1, 0, 4, 1))
    assert quality.hit_at(1) == 50.0
    assert quality.hit_at(3) == 50.0
    assert quality.hit_at(10) == 75.0


def test_a_difference_of_hits_comes_with_its_standard_error() -> None:
    # Of 10 questions 3 are hit by the first alone and 1 by the second alone: 2 / 10, sqrt(4 - 4 / 10) / 10.
    one = report.Quality((1, 2, 3, 0, 9, 9, 0, 0, 0, 0))
    other = report.Quality((0, 0, 0, 4, 9, 9, 0, 0, 0, 0))
    assert report.hit_difference(one, other, 10) == (pytest.approx(20.0), pytest.approx(18.9737, abs=1e-4))


def test_percentiles_are_of_the_nearest_rank() -> None:
    values = [float(number) for number in range(20, 0, -1)]
    assert measure.percentile(values, 50) == 10.0
    assert measure.percentile(values, 95) == 19.0
    assert measure.percentile([7.0], 95) == 7.0


def test_folder_bytes_counts_files_at_every_depth(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"123")
    (tmp_path / "a" / "b" / "two").write_bytes(b"4567")
    assert measure.folder_bytes(tmp_path) == 7


def test_a_run_becomes_lines_of_figures(run: report.Run) -> None:
    raw = json.loads(json.dumps(report.as_json(run)))
    assert record.kind_of(raw) == "library"
    lines = {line.system: line for line in record.library_lines(raw)}
    assert list(lines) == ["wherefrom", "raw tantivy", "bm25s", "SQLite FTS5"]
    assert [line.baseline for line in lines.values()] == [False, True, True, True]
    assert lines["wherefrom"].metrics["top_1"] == 100.0
    assert lines["SQLite FTS5"].note == "asked 6 of 12 questions"
