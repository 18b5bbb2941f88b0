"""Running rows: what is saved, kept, refused and told when it fails."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from paper_files import HEAD, PLANNED, PRIOR, result, sample, write

from wherefrom import __version__
from wherefrom.errors import NotFound
from wherefrom.origin import commit_of
from wherefrom.papers.faults import ResultFault, RunFailed, RunRefused
from wherefrom.papers.results import measured, save
from wherefrom.papers.runner import SystemRows, reproduce
from wherefrom.papers.table import Paper, Row, load, papers
from wherefrom.systems.contract import Scores

GOOD = {"first": {"em": 0.5, "f1": 0.6}, "second": {"map": 0.7}}


class Scripted:
    """Runs rows by giving back what it was told, or raising it; remembers what it ran."""

    def __init__(self, script: Mapping[str, Mapping[str, float] | BaseException] = GOOD, **more: Any) -> None:
        self.script = script
        self.more = more
        self.ran: list[str] = []

    def __call__(self, row: Row) -> Scores:
        self.ran.append(row.id)
        scripted = self.script[row.id]
        if isinstance(scripted, BaseException):
            raise scripted
        return Scores(scripted, seed=13, **self.more)


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    return sample(tmp_path / "papers")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def files_in(runs: Path) -> list[str]:
    return sorted(path.relative_to(runs).as_posix() for path in runs.rglob("*") if path.is_file())


def test_runs_the_rows_that_can_run_and_saves_each(paper: Paper, runs: Path) -> None:
    scripted = Scripted()
    summary = reproduce(paper, None, runs, scripted)
    assert scripted.ran == ["first", "second"]
    assert files_in(runs) == ["sample.jsonl"]
    assert measured(runs, [paper]) == list(summary.saved)
    assert [refusal.row.id for refusal in summary.refused] == ["later"]
    assert "needs settings that do not exist" in summary.refused[0].reason
    assert (summary.kept, summary.failed) == ((), ())


def test_a_saved_result_says_how_it_came_about(paper: Paper, runs: Path, tmp_path: Path) -> None:
    data = tmp_path / "squad" / "train.json"
    data.parent.mkdir()
    data.write_bytes(b"{}")
    reproduce(paper, "first", runs, Scripted(files=(data,)))
    (saved,) = map(json.loads, (runs / "sample.jsonl").read_text().splitlines())
    assert saved["metrics"] == {"em": 0.5, "f1": 0.6}
    run = saved["run"]
    assert (run["seed"], run["settings_file"], run["wherefrom"]) == (13, "real.toml", __version__)
    assert (run["system"], run["measure"], run["settings"]) == ("rankqa", "", {"pipeline": {"retrieve": {"k": 7}}})
    assert run["data"] == [{"name": "squad/train.json", "sha256": hashlib.sha256(b"{}").hexdigest()}]
    assert run["date"].endswith("+00:00")
    assert run["seconds"] >= 0
    assert str(tmp_path) not in json.dumps(saved)  # no path of this machine


def test_a_row_with_a_stand_in_is_as_printed_only_when_the_run_says_so(paper: Paper, runs: Path) -> None:
    reproduce(paper, None, runs, Scripted())
    assert [result.run.as_printed for result in measured(runs, [paper])] == [True, False]
    reproduce(paper, "second", runs, Scripted(as_printed=True), again=True)
    assert [result.run.as_printed for result in measured(runs, [paper])] == [True, True]


def test_results_are_kept_and_a_stopped_reproduction_goes_on(paper: Paper, runs: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        reproduce(paper, None, runs, Scripted({**GOOD, "second": KeyboardInterrupt()}))
    assert [result.row_id for result in measured(runs, [paper])] == ["first"]
    scripted = Scripted()
    summary = reproduce(paper, None, runs, scripted)
    assert scripted.ran == ["second"]
    assert [result.row_id for result in summary.kept] == ["first"]
    assert [result.row_id for result in summary.saved] == ["second"]


def test_again_runs_anew_and_replaces(paper: Paper, runs: Path) -> None:
    reproduce(paper, "first", runs, Scripted())
    reproduce(paper, "first", runs, Scripted({"first": {"em": 0.1, "f1": 0.2}}), again=True)
    assert [result.metrics for result in measured(runs, [paper])] == [{"em": 0.1, "f1": 0.2}]


def test_a_failing_row_leaves_no_result_and_the_others_are_tried(paper: Paper, runs: Path) -> None:
    scripted = Scripted({**GOOD, "first": MemoryError("no room")})
    with pytest.raises(RunFailed) as raised:
        reproduce(paper, None, runs, scripted)
    assert scripted.ran == ["first", "second"]
    assert [result.row_id for result in measured(runs, [paper])] == ["second"]
    assert "1 of 2 rows failed and have no new result" in str(raised.value)
    assert "sample first: MemoryError: no room" in str(raised.value)
    assert [result.row_id for result in raised.value.summary.saved] == ["second"]
    assert raised.value.exit_code != 0
    assert isinstance(raised.value.__cause__, MemoryError)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"em": 0.5}, "f1 is reported but was not measured"),
        ({"em": 0.5, "f1": math.nan}, "f1 cannot be nan"),
        ({"em": 0.5, "f1": 60.25}, "f1 cannot be 60.25; shares are fractions from 0 to 1"),
        ({"em": 0.5, "f1": 0.6, "acuracy": 0.1}, "acuracy is not a measure; did you mean accuracy?"),
    ],
)
def test_numbers_that_cannot_be_are_a_failure(
    paper: Paper, runs: Path, metrics: Mapping[str, float], message: str
) -> None:
    with pytest.raises(RunFailed) as raised:
        reproduce(paper, "first", runs, Scripted({"first": metrics}))
    assert message in str(raised.value)
    assert files_in(runs) == []


def test_a_missing_data_file_is_a_failure(paper: Paper, runs: Path, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="FileNotFoundError"):
        reproduce(paper, "first", runs, Scripted(files=(tmp_path / "gone.json",)))
    assert files_in(runs) == []


def test_a_failed_repetition_keeps_the_earlier_result(paper: Paper, runs: Path) -> None:
    reproduce(paper, "first", runs, Scripted())
    with pytest.raises(RunFailed):
        reproduce(paper, "first", runs, Scripted({"first": OSError("disk")}), again=True)
    assert [result.metrics for result in measured(runs, [paper])] == [GOOD["first"]]


def test_a_file_that_cannot_be_finished_is_not_there(paper: Paper, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = result(paper.row("first"), em=0.5, f1=0.6)
    save(runs, paper, old)

    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)  # the disk itself has no front door
    with pytest.raises(OSError, match="no space"):
        save(runs, paper, result(paper.row("first"), em=0.1, f1=0.1))
    assert files_in(runs) == ["sample.jsonl"]
    assert measured(runs, [paper]) == [old]


def test_what_a_killed_writer_leaves_is_not_taken_for_a_result(paper: Paper, runs: Path) -> None:
    (runs / "unfinished-77").mkdir(parents=True)
    (runs / "unfinished-77" / "sample.jsonl").write_text("{")
    (runs / "speed.jsonl").write_text('{"milliseconds": 7}\n')  # results of another kind may lie there too
    assert measured(runs, [paper]) == []


def test_a_planned_row_is_refused_naming_the_settings(paper: Paper, runs: Path) -> None:
    scripted = Scripted()
    with pytest.raises(RunRefused) as raised:
        reproduce(paper, "later", runs, scripted)
    assert str(raised.value) == (
        "sample later: cannot run yet; sample/settings/planned.toml needs settings that do not exist: "
        "masque.ranker, masque.p2p"
    )
    assert scripted.ran == []
    assert not runs.exists()


def test_prior_work_is_refused(paper: Paper, runs: Path) -> None:
    with pytest.raises(RunRefused, match="sample prior: Others is not ours to run; its numbers are reported only"):
        reproduce(paper, "prior", runs, Scripted())


def test_a_paper_of_which_no_row_can_run_is_refused(tmp_path: Path, runs: Path) -> None:
    waiting = sample(tmp_path / "waiting", HEAD + PRIOR + PLANNED)
    with pytest.raises(RunRefused, match=r"no row can run yet; .*: masque.p2p, masque.ranker"):
        reproduce(waiting, None, runs, Scripted())
    others = sample(tmp_path / "others", HEAD + PRIOR)
    with pytest.raises(RunRefused, match="no row is ours to run"):
        reproduce(others, None, runs, Scripted())


def test_an_unknown_row_suggests(paper: Paper, runs: Path) -> None:
    with pytest.raises(NotFound, match=r"did you mean first\?"):
        reproduce(paper, "firsd", runs, Scripted())


def test_without_something_that_runs_rows_nothing_is_made_up(paper: Paper, runs: Path) -> None:
    for row_id in ("first", None):
        with pytest.raises(RunRefused, match="sample first: nothing here trains and scores rows yet"):
            reproduce(paper, row_id, runs)
    assert files_in(runs) == []


def test_what_runs_a_row_may_refuse_it_and_the_others_are_run(paper: Paper, runs: Path) -> None:
    summary = reproduce(paper, None, runs, Scripted({**GOOD, "first": RunRefused("first is not trained")}))
    assert [result.row_id for result in summary.saved] == ["second"]
    assert {refusal.row.id: refusal.reason for refusal in summary.refused}["first"] == "first is not trained"
    again = reproduce(paper, None, runs, Scripted({"first": RunRefused("first is not trained")}))
    assert [result.row_id for result in again.kept] == ["second"]


def test_every_shipped_row_is_refused_as_long_as_its_settings_are_planned(runs: Path) -> None:
    rows = [row for each in papers() for row in each.rows if row.recipe]
    waiting = {row.paper for row in rows if row.recipe and row.recipe.planned}
    assert waiting.isdisjoint(row.paper for row in rows if row.recipe and row.recipe.system)  # a paper waits as a whole
    assert {row.paper for row in rows} - waiting == {
        "rankqa",
        "masque",
        "preast",
        "cete",
        "qasa",
        "bertsum",
        "pqsum",
    }  # their systems are there
    for each in papers():
        if each.slug in waiting:
            with pytest.raises(RunRefused, match="do not exist"):
                reproduce(each, None, runs, Scripted())
            for row in each.rows:
                with pytest.raises(RunRefused) as raised:
                    reproduce(each, row.id, runs, Scripted())
                if row.recipe:
                    assert all(name in str(raised.value) for name in row.recipe.planned)
    assert not runs.exists()


def test_a_row_whose_system_is_not_there_or_cannot_be_measured_is_told(tmp_path: Path, runs: Path) -> None:
    pytest.importorskip("torch", reason="loads a system: pip install 'wherefrom[train]'")
    made = sample(tmp_path / "papers")
    with pytest.raises(RunRefused, match=r"sample first: --data is needed"):
        reproduce(made, "first", runs, SystemRows(made, {}, tmp_path / "work"))
    for system, raised, message in (
        ("rankq", RunFailed, r"there is no system 'rankq'; did you mean rankqa\?"),
        ("tagger", RunRefused, "sample first: tagger cannot be measured for a row of a paper"),
    ):
        (tmp_path / system).mkdir()
        folder = write(tmp_path / system)
        (folder / "settings" / "real.toml").write_text(f'system = "{system}"\n')
        changed = load(folder)
        with pytest.raises(raised, match=message):
            reproduce(changed, "first", runs, SystemRows(changed, {"data": tmp_path}, tmp_path / "work"))


def test_no_runs_are_no_results(paper: Paper, runs: Path) -> None:
    assert measured(runs, [paper]) == []
    assert measured(runs) == []


def of_another_paper(path: Path) -> None:
    path.write_text(path.read_text().replace('"paper":"sample"', '"paper":"masque"'))


def of_a_lost_row(path: Path) -> None:
    path.write_text(path.read_text().replace('"row_id":"first"', '"row_id":"frist"'))


def twice(path: Path) -> None:
    path.write_text(path.read_text() * 2)


def of_a_lost_paper(path: Path) -> None:
    path.rename(path.with_name("smple.jsonl"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def mistyped(path: Path) -> None:
    path.write_text(path.read_text().replace('"seed":13', '"seed":"thirteen"'))


def without_a_number(path: Path) -> None:
    path.write_text(path.read_text().replace('"f1"', '"accuracy"'))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (of_another_paper, "sample.jsonl, line 1: holds a result of masque; it was moved or renamed"),
        (of_a_lost_row, "line 1: sample no longer has a row 'frist', take the line out; did you mean first?"),
        (twice, "sample.jsonl, line 2: a second result of first; take one of them out"),
        (of_a_lost_paper, "smple.jsonl: there is no paper 'smple', move the file away; did you mean sample?"),
        (cut, "sample.jsonl, line 1: is not a result"),
        (mistyped, "sample.jsonl, line 1: is not a result: Expected `int`, got `str`"),
        (without_a_number, "sample.jsonl, line 1: f1 is reported but was not measured"),
    ],
)
def test_results_that_fit_no_row_are_refused_by_name(
    paper: Paper, runs: Path, harm: Callable[[Path], None], message: str
) -> None:
    reproduce(paper, "first", runs, Scripted())
    harm(runs / "sample.jsonl")
    with pytest.raises(ResultFault) as raised:
        measured(runs, [paper])
    assert message in str(raised.value)


def test_a_kept_result_that_is_malformed_is_told(paper: Paper, runs: Path) -> None:
    reproduce(paper, None, runs, Scripted())
    cut(runs / "sample.jsonl")
    with pytest.raises(RunFailed, match=r"sample\.jsonl, line 1: is not a result"):
        reproduce(paper, None, runs, Scripted())


def test_the_commit_is_that_of_the_checkout_which_tracks_the_files(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *identity, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    tracked, foreign = tmp_path / "tracked", tmp_path / "foreign"
    for folder in (tracked, foreign):
        folder.mkdir()
        (folder / "module.py").write_text("1\n")
    assert commit_of(tracked) == (None, False)
    git("init", "-q")
    git("add", "tracked")
    git("commit", "-q", "-m", "first")
    assert commit_of(tracked) == (git("rev-parse", "HEAD"), False)
    (tracked / "module.py").write_text("2\n")
    assert commit_of(tracked) == (git("rev-parse", "HEAD"), True)
    assert commit_of(foreign) == (None, False)
