"""The rows of the paper rankqa, run for real with a reader that needs no network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

from paper_files import HEAD

from train.tiny_articles import library, write_squad
from wherefrom.errors import WherefromError
from wherefrom.papers.rankqa_rows import RankQARows
from wherefrom.papers.results import measured
from wherefrom.papers.runner import reproduce
from wherefrom.papers.table import Paper, load, paper

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
READER = '[rank]\nkind = "none"\n[read]\nkind = "sentence"\n[judge]\nkind = "lexical"\n[rerank]\ncandidates = 8\n'
TRAINED = """
[training.rankqa.task]
groups = ["retrieval", "reading", "aggregation"]
width = 8
held_out = 0.3
[training.rankqa.loop]
epochs = 2
"""


def written(folder: Path, trained: str = TRAINED) -> Paper:
    place = folder / "rankqa"
    (place / "settings").mkdir(parents=True)
    (place / "table.toml").write_text(HEAD + ROW.format(id="drqa") + ROW.format(id="rankqa"))
    (place / "settings" / "drqa.toml").write_text(READER)
    (place / "settings" / "rankqa.toml").write_text(trained + READER)
    return load(place)


def rows(tmp_path: Path) -> RankQARows:
    library(tmp_path).close()
    return RankQARows(write_squad(tmp_path / "data"), tmp_path / "library", tmp_path / "work", say=lambda _: None)


def test_rows_are_measured_on_the_same_questions_and_share_candidates(tmp_path: Path) -> None:
    made = written(tmp_path / "papers")
    summary = reproduce(made, None, tmp_path / "runs", rows(tmp_path))
    reader, ranked = measured(tmp_path / "runs", [made])
    assert (reader.row_id, ranked.row_id) == ("drqa", "rankqa")
    assert reader.metrics["accuracy"] == reader.metrics["em"]
    assert 0.0 < reader.metrics["f1"] <= 1.0
    assert reader.run.data == ranked.run.data
    assert len(summary.saved) == 2
    assert [folder.name for folder in (tmp_path / "work").iterdir()] == ["bm25-sentence-8"]


def test_a_slip_in_a_rows_training_is_named(tmp_path: Path) -> None:
    made = written(tmp_path / "papers", "[training.rankqa.task]\ntopk = 4\n")
    with pytest.raises(WherefromError, match=r"rankqa/settings/.*task.topk is not a setting; did you mean task.top_k"):
        reproduce(made, "rankqa", tmp_path / "runs", rows(tmp_path))


@pytest.mark.parametrize("text", ["training = 3\n", "[training]\nrankqa = 4\n"])
def test_training_is_a_section_a_system(tmp_path: Path, text: str) -> None:
    with pytest.raises(WherefromError, match=r"training holds a section a system"):
        written(tmp_path / "papers", text)


def test_the_shipped_recipes_are_ones_that_can_be_trained() -> None:
    from wherefrom.config import updated
    from wherefrom.systems.rankqa.task import RankQARecipe

    seen = {}
    for row in paper("rankqa").rows:
        assert row.recipe is not None
        if given := row.recipe.training.get("rankqa"):
            seen[row.id] = updated(RankQARecipe(), json.loads(json.dumps(given)))
    assert sorted(seen) == ["no-aggregation", "no-retrieval", "no-tags", "rankqa"]
    assert {recipe.task.top_k for recipe in seen.values()} == {4}
    assert seen["no-tags"].task.chosen == ("retrieval", "reading", "aggregation")
