"""A system and a paper that the command line has never heard of run through `train` and `reproduce`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from systems.toy_system import write_toy
from wherefrom.cli import wherefrom
from wherefrom.errors import SettingsError
from wherefrom.papers import table as papers
from wherefrom.systems import table as systems


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_toy(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(systems.SYSTEMS, "toy", "toy_package")
    monkeypatch.setattr(papers, "SHELVES", [*papers.SHELVES, tmp_path / "shelf"])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("toy_package")]:
        del sys.modules[name]


def said(*arguments: str | Path) -> str:
    done = CliRunner().invoke(wherefrom, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_its_options_come_from_what_it_says_of_itself(toy: Path) -> None:
    assert "toy" in said("train", "--help")
    text = said("train", "toy", "--help")
    assert "the folder that holds numbers.txt" in text
    assert "[numbers|weights]" in text


def test_it_is_made_in_stages_and_not_made_twice(toy: Path) -> None:
    told = said("train", "toy", "--data", toy / "data", "--out", toy / "out")
    assert f"it is in {toy / 'out' / 'weights'}" in told
    assert json.loads((toy / "out" / "weights" / "mean.json").read_text()) == 20.0
    again = said("train", "toy", "--data", toy / "data", "--out", toy / "out")
    assert "numbers: already made" in again
    assert "weights: already made" in again
    provenance = json.loads((toy / "out" / "weights" / "provenance.json").read_text())
    assert provenance["model"] == "toy"
    assert provenance["stages"]["numbers"]["facts"] == {"numbers": 3}
    assert set(provenance["files"]) == {"mean.json"}


def test_what_changes_is_made_again_and_what_follows_from_it(toy: Path) -> None:
    said("train", "toy", "--data", toy / "data", "--out", toy / "out")
    told = said("train", "toy", "--data", toy / "data", "--out", toy / "out", "--set", "factor=0.5")
    assert "numbers: already made" in told
    assert json.loads((toy / "out" / "weights" / "mean.json").read_text()) == 10.0
    said("train", "toy", "--data", toy / "data", "--out", toy / "out", "--every", "2", "--until", "weights")
    note = json.loads((toy / "out" / "made" / "numbers.json").read_text())
    assert note["facts"] == {"numbers": 2}


def test_a_stage_alone_wants_those_before_it(toy: Path) -> None:
    done = CliRunner().invoke(
        wherefrom, ["train", "toy", "--data", str(toy / "data"), "--out", str(toy / "out"), "--stage", "weights"]
    )
    assert "run the stage numbers first" in str(done.exception)


def test_a_name_that_is_no_setting_is_an_error_that_guesses(toy: Path) -> None:
    arguments = ["train", "toy", "--data", str(toy / "data"), "--out", str(toy / "out")]
    done = CliRunner().invoke(wherefrom, [*arguments, "--set", "rounding.digit=1"])
    assert isinstance(done.exception, SettingsError)
    assert "rounding.digits" in str(done.exception)


def test_a_paper_is_run_with_it(toy: Path) -> None:
    told = said("reproduce", "toy-paper", "--data", toy / "data", "--runs", toy / "runs")
    assert "2 rows run, 0 kept, 0 refused" in told
    lines = [json.loads(line) for line in (toy / "runs" / "toy-paper.jsonl").read_text().splitlines()]
    assert [(line["row_id"], line["metrics"]["em"], line["run"]["seed"]) for line in lines] == [
        ("mean", 0.2, 7),
        ("twice", 0.4, 7),
    ]
    assert lines[1]["run"]["settings"] == {"factor": 2.0}
    assert "0 rows run, 2 kept" in said("reproduce", "toy-paper", "--data", toy / "data", "--runs", toy / "runs")


def test_a_row_whose_inputs_are_missing_is_refused_by_name(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHEREFROM_DATA", raising=False)
    done = CliRunner().invoke(wherefrom, ["reproduce", "toy-paper", "--row", "mean", "--runs", str(toy / "runs")])
    assert "--data is needed" in str(done.exception)
