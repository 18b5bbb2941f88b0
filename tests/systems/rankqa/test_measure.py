"""Rows of a paper that are measured of re-rankers, run for real with a reader that needs no network."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

from train.tiny_articles import library, write_squad
from wherefrom.errors import WherefromError
from wherefrom.papers.faults import RunRefused
from wherefrom.papers.results import measured
from wherefrom.papers.runner import SystemRows, reproduce, resolved
from wherefrom.papers.table import Paper, load, paper

HEAD = 'title = "A Paper"\nauthors = "A. Author"\nsystem = "System"\nsource = "paper.txt"\n'
ROW = """
[[row]]
id = "{id}"
table = "T"
model = "{id}"
dataset = "SQuAD-open"
split = "valid"
reported = {{ accuracy = 31.79 }}
ours = true
settings = "{id}.toml"
"""
RANKED = """
system = "rankqa"
[settings.pipeline]
rank = { kind = "none" }
read = { kind = "sentence" }
judge = { kind = "lexical" }
rerank = { candidates = 8 }
[settings.task]
groups = ["retrieval", "reading", "aggregation"]
width = 8
held_out = 0.3
[settings.loop]
epochs = 2
"""


def written(folder: Path, ranked: str = RANKED, measure: str = "reader") -> Paper:
    place = folder / "sample"
    (place / "settings").mkdir(parents=True)
    (place / "table.toml").write_text(HEAD + ROW.format(id="read") + ROW.format(id="ranked"))
    (place / "settings" / "ranked.toml").write_text(ranked)
    (place / "settings" / "read.toml").write_text(f'base = "ranked.toml"\nmeasure = "{measure}"\n')
    return load(place)


def rows(made: Paper, folder: Path, may_train: bool = True) -> SystemRows:
    library(folder).close()
    given = {"data": write_squad(folder / "data"), "library": folder / "library"}
    return SystemRows(made, given, folder / "work", lambda _: None, may_train)


def test_rows_are_measured_on_the_same_questions_and_share_candidates(tmp_path: Path) -> None:
    made = written(tmp_path / "papers")
    summary = reproduce(made, None, tmp_path / "runs", rows(made, tmp_path))
    reader, ranked = measured(tmp_path / "runs", [made])
    assert (reader.row_id, ranked.row_id) == ("read", "ranked")
    assert reader.metrics["accuracy"] == reader.metrics["em"]
    assert 0.0 < reader.metrics["f1"] <= 1.0
    assert reader.run.data == ranked.run.data
    assert (reader.run.system, reader.run.measure, ranked.run.measure) == ("rankqa", "reader", "")
    assert len(summary.saved) == 2
    (folder,) = (tmp_path / "work" / "rankqa").glob("candidates-*")
    assert reader.run.data[0].name == f"{folder.name}/candidates.jsonl"
    (trained,) = (tmp_path / "work" / "rankqa" / "training").iterdir()
    assert trained.name.startswith("ranked-")


def test_what_is_not_trained_is_refused_unless_it_may_be(tmp_path: Path) -> None:
    made = written(tmp_path / "papers")
    with pytest.raises(RunRefused, match=r"sample ranked: .*ranked-\w+ is not trained; --train does it"):
        reproduce(made, "ranked", tmp_path / "runs", rows(made, tmp_path, may_train=False))


def test_a_slip_in_a_rows_settings_is_named(tmp_path: Path) -> None:
    made = written(tmp_path / "papers", RANKED.replace("width", "widht"))
    with pytest.raises(WherefromError, match=r"task.widht is not a setting; .*sample/settings/ranked.toml"):
        reproduce(made, "ranked", tmp_path / "runs", rows(made, tmp_path))


def test_a_way_of_measuring_that_is_not_known_is_named(tmp_path: Path) -> None:
    made = written(tmp_path / "papers", measure="readers")
    with pytest.raises(WherefromError, match=r"measure is 'reader', or not said for a re-ranker, not 'readers'"):
        reproduce(made, "read", tmp_path / "runs", rows(made, tmp_path))


def test_the_shipped_rows_are_four_re_rankers_over_one_reader() -> None:
    shipped = paper("rankqa")
    settings = {row.id: resolved(shipped, row.recipe.file) for row in shipped.rows if row.recipe}
    assert {row.recipe.measure for row in shipped.rows if row.recipe and row.id != "drqa"} == {""}
    assert {(each.pipeline.read.kind, each.pipeline.retrieve.kind, each.task.top_k) for each in settings.values()} == {
        ("drqa", "tfidf", 4)
    }
    assert settings["no-tags"].task.chosen == ("retrieval", "reading", "aggregation")
    assert {name: len(each.task.chosen) for name, each in settings.items() if name != "drqa"} == {
        "rankqa": 4,
        "no-retrieval": 3,
        "no-aggregation": 3,
        "no-tags": 3,
    }
