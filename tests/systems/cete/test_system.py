"""Making CETE from datasets to weights, and rows of its paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("onnx", reason="export needs onnx: pip install 'wherefrom[train]'")

import numpy

from contracts.material import HITS, QUESTIONS
from systems.cete.small import write_data
from train.tiny_inputs import present, write_pretrained
from wherefrom.rank.cete import CeteRanker
from wherefrom.runtime.pairs import PairSession
from wherefrom.runtime.weights import Weights
from wherefrom.systems.cete.about import Inputs
from wherefrom.systems.cete.settings import CeteSettings, ExportSettings, NetworkSettings, TaskSettings
from wherefrom.systems.cete.system import SCORES, learnt_for, measure, stages
from wherefrom.systems.contract import NotTrained, Wanted
from wherefrom.train.loop import LoopSettings
from wherefrom.train.stages import read_json, run

LOOP = LoopSettings(steps=3, learning_rate=0.01, metric="map", evaluate_every=3, report_every=1, checkpoint_every=1)
TUNED = CeteSettings(
    task=TaskSettings(batch=4, classify=1, separate=2, max_tokens=60, max_question=24),
    loop=LOOP,
    export=ExportSettings(precision="fp32"),
)
FEATURES = replace(TUNED, network=NetworkSettings("features", "minilm", heads=2, dropout=0.0))
ALONE = replace(FEATURES, network=replace(FEATURES.network, layer="none"))


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return Inputs(write_data(tmp_path / "data"), pretrained=write_pretrained(tmp_path / "pretrained"))


def made(settings: CeteSettings, inputs: Inputs, out: Path, *chosen: str) -> list[str]:
    said: list[str] = []
    run("cete", stages(settings, inputs, out, said.append, present), out, chosen or None, said.append)
    return said


@pytest.mark.parametrize("encoder", ["minilm", "mpnet"])
def test_the_exported_network_says_what_the_trained_one_does(inputs: Inputs, tmp_path: Path, encoder: str) -> None:
    settings = replace(TUNED, network=NetworkSettings(encoder=encoder))  # type: ignore[arg-type]
    making = stages(settings, inputs, tmp_path / "out", lambda _: None, present)
    run("cete", making, tmp_path / "out", say=lambda _: None)
    assert {stage.name for stage in making} == {"material", "training", "scores", "export"}
    from wherefrom.systems.cete.system import _Making
    from wherefrom.train.loop import trained

    task = _Making(settings, inputs, tmp_path / "out", lambda _: None, present).task()
    questions = task.dev(["wikiqa"])
    expected = task.scores(trained(task, tmp_path / "out" / "training"), questions)
    session = PairSession(Weights(tmp_path / "out" / "weights"), threads=1)
    rows = (inputs.data / "wikiqa" / "WikiQA-dev.tsv").read_text().splitlines()[1:]
    asked = [(row.split("\t")[1], row.split("\t")[5]) for row in rows]
    logits = session.score([question for question, _ in asked], [[text] for _, text in asked])
    ours = [expected[pair] for each in questions for pair in each.pairs]
    assert [logit for (logit,) in logits] == pytest.approx(ours, abs=1e-4)
    assert numpy.std(ours) > 0
    (ranked, *_) = CeteRanker(session, 20).rank(QUESTIONS, HITS)
    assert len(ranked) == len(HITS[0])


def test_stages_are_not_made_twice_and_scores_compare_with_another(inputs: Inputs, tmp_path: Path) -> None:
    made(FEATURES, inputs, tmp_path / "out")
    shared = replace(inputs, pairs=tmp_path / "out" / "pairs.safetensors", states=tmp_path / "out" / "states")
    assert made(FEATURES, inputs, tmp_path / "out").count("states: already made") == 1
    made(ALONE, replace(shared, against=tmp_path / "out"), tmp_path / "alone", "states", "scores")
    scores = read_json(tmp_path / "alone" / SCORES)
    assert scores["against"]["wikiqa"]["questions"] == 2
    made(ALONE, replace(shared, against=tmp_path / "out"), tmp_path / "alone", "figures")
    pictures = {file.name: file.read_text() for file in (tmp_path / "alone" / "figures").iterdir()}
    assert set(pictures) == {"relevant.svg", "irrelevant.svg", "gains.svg"}
    assert "[CLS]" in pictures["relevant.svg"]
    assert pictures["relevant.svg"].count("<rect") == 19 * 20  # [CLS], the letters and signs, [SEP]
    assert "MAP, alone" in pictures["gains.svg"]
    assert set(scores["means"]) == {"trecqa", "trecqa-raw", "trecqa-clean", "wikiqa"}


def test_rows_share_what_they_can_and_are_not_trained_unasked(inputs: Inputs, tmp_path: Path) -> None:
    out = tmp_path / "work"
    row = Wanted("minilm", reported=("map", "mrr"), dataset="WikiQA", split="test, cleaned")

    def measured(settings: CeteSettings, wanted: Wanted) -> dict[str, float]:
        return dict(measure(settings, inputs, wanted, out, lambda _: None, present).metrics)

    with pytest.raises(NotTrained, match="until material"):
        measured(FEATURES, row)
    may = replace(row, may_train=True)
    first = measured(FEATURES, may)
    assert set(first) == {"map", "mrr"}
    folders = sorted(path.name for path in out.glob("minilm-*"))
    assert len(folders) == 1
    assert folders[0].startswith("minilm-wikiqa-")
    assert measured(FEATURES, row) == first  # found again
    raw = replace(row, dataset="TREC-QA", split="test, raw")
    with pytest.raises(NotTrained, match="--train"):
        measured(FEATURES, raw)
    gains = Wanted("alone", reported=("map_gain",), dataset="all", may_train=True, uses={"encoded": FEATURES})
    scores = {
        name: [measured(settings, replace(may, dataset=dataset, split=split))["map"] for settings in (ALONE, FEATURES)]
        for name, dataset, split in (
            ("raw", "TREC-QA", "test, raw"),
            ("clean", "TREC-QA", "test, cleaned"),
            ("wikiqa", "WikiQA", "test, cleaned"),
        )
    }
    alone, encoded = (sum(pair[place] for pair in scores.values()) for place in (0, 1))
    assert measured(ALONE, gains)["map_gain"] == pytest.approx(encoded / alone - 1)
    with pytest.raises(NotTrained, match="has no yahoocqa"):
        measured(FEATURES, replace(may, dataset="YahooCQA", split="test"))


def test_a_forum_is_learnt_from_other_domains() -> None:
    assert learnt_for("semeval16") == ("trecqa", "wikiqa")
    assert learnt_for("trecqa-clean") == ("trecqa",)
    assert learnt_for("wikiqa") == ("wikiqa",)
