"""The figures in runs/ are whole, the page is what they say, and no figure of quality stands without a baseline."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from bench.runs import RunFault, RunLine

from bench import page, runs

LINE = RunLine(
    topic="short",
    system="wherefrom",
    dataset="squad",
    split="valid",
    over="the gold paragraph",
    n=8367,
    metrics={"em": 72.6072, "p50_ms": 123456.0},
    baseline=False,
    settings={"every": 2},
    seed=None,
    commit="27c5144",
    date="2026-11-17",
    command="wherefrom predict squad",
)
BASE = msgspec.structs.replace(LINE, system="the first sentence", metrics={"em": 0.012}, baseline=True, note="trivial")
TABLES = """
[metrics]
em = ["EM", 1]

[[topic]]
name = "short"
title = "How good?"
columns = ["em"]
text = "Some words."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tables.toml").write_text(TABLES)
    runs.record([LINE, BASE], tmp_path)
    return tmp_path


def topics() -> list[str]:
    return [topic.name for topic in page.tables().topic]


@pytest.mark.parametrize("topic", topics())
def test_every_line_of_the_repository_is_whole(topic: str) -> None:
    for line in runs.read(topic):
        assert line.command, line.key
        assert line.system, line.key
        assert line.over, line.key
        assert line.date.startswith("20"), line.key
        assert line.commit is None or len(line.commit) >= 7, line.key
        assert line.n or line.baseline, line.key
        assert line == runs.rounded(line), line.key


def test_every_table_of_quality_has_a_baseline() -> None:
    assert page.checked() == []


def test_a_table_without_a_baseline_is_named(folder: Path) -> None:
    assert page.checked(folder) == []
    runs.record([msgspec.structs.replace(LINE, over="ten passages")], folder)
    assert page.checked(folder) == ["short: squad, valid, ten passages has no baseline"]


def test_every_metric_that_is_shown_has_a_heading() -> None:
    layout = page.tables()
    shown = {name for topic in layout.topic for name in topic.columns}
    assert shown <= layout.metrics.keys()


def test_a_line_takes_the_place_of_an_earlier_one(folder: Path) -> None:
    better = msgspec.structs.replace(LINE, metrics={"em": 73.0})
    runs.record([better], folder)
    assert runs.read("short", folder) == [better, runs.rounded(BASE)]


def test_figures_are_kept_with_five_digits(folder: Path) -> None:
    assert runs.read("short", folder)[0].metrics == {"em": 72.607, "p50_ms": 123456.0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topic": "other"}, "line 1: is of the topic other"),
        ({"metrics": {}}, "line 1: has no metrics"),
        ({"extra": 1}, "unknown field `extra`"),
        ({"n": "many"}, "Expected `int`"),
    ],
)
def test_a_line_that_is_none_is_named(folder: Path, change: dict[str, object], words: str) -> None:
    line = {**msgspec.to_builtins(LINE), **change}
    (folder / "short.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(RunFault, match=words):
        runs.read("short", folder)


def test_two_lines_of_the_same_are_refused(folder: Path) -> None:
    file = folder / "short.jsonl"
    file.write_text(file.read_text() * 2)
    with pytest.raises(RunFault, match="line 3: a second line of wherefrom on squad, valid, the gold paragraph"):
        runs.read("short", folder)


def test_a_table_shows_baselines_last_and_in_italics() -> None:
    (first, second) = page.grouped([BASE, LINE])[0]
    assert (first.system, second.system) == ("wherefrom", "the first sentence")
    layout = msgspec.convert({"metrics": {"em": ("EM", 1)}, "topic": []}, page.Tables)
    topic = page.Topic(name="short", title="How good?", columns=["em", "f1"], text="")
    assert page.table_of([first, second], topic, layout.metrics).splitlines() == [
        "**squad/valid: the gold paragraph**",
        "",
        "|  | questions | EM | note |",
        "| --- | --: | --: | --- |",
        "| wherefrom | 8,367 | 72.6 |  |",
        "| *the first sentence* | 8,367 | 0.0 | trivial |",
    ]


def test_an_interval_of_a_change_stands_beside_its_value() -> None:
    changed = msgspec.structs.replace(LINE, intervals={"em change": (-1.04, 2.96), "em": (70.0, 75.0)})
    assert page.value_of(changed, "em", 1) == "72.6 (-1.0 to +3.0)"


def test_a_file_that_no_topic_names_is_an_error(folder: Path) -> None:
    (folder / "forgotten.jsonl").write_text("")
    with pytest.raises(RunFault, match=r"runs/tables.toml has no topic for forgotten"):
        page.results_page(folder)


def test_a_topic_without_lines_is_an_error(folder: Path) -> None:
    (folder / "short.jsonl").unlink()
    with pytest.raises(RunFault, match=r"runs/short.jsonl has no lines"):
        page.results_page(folder)
