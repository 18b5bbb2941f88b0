"""CETE's trainings: the task contract for both networks, and what they learn."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="wordpieces are cut by tokenizers: pip install 'wherefrom[train]'")

import torch

from systems.cete.small import write_material
from systems.colours import TINY
from train.contract import TaskContract
from train.tiny_inputs import write_pretrained
from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import Encoder, EncoderSettings
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.systems.cete.figures import compared, means, rankings
from wherefrom.systems.cete.pairs import PairMaterial
from wherefrom.systems.cete.settings import CeteSettings, NetworkSettings, TaskSettings
from wherefrom.systems.cete.states import EncoderStates, StaticVectors, write_states
from wherefrom.systems.cete.task import FeatureTask, PairTask
from wherefrom.train.checkpoint import save_weights
from wherefrom.train.errors import TrainingError
from wherefrom.train.loop import LoopSettings, fitted, trained
from wherefrom.train.seeds import seed_everything

SMALL = TaskSettings(batch=8, classify=1, separate=2, max_tokens=40, max_question=16)


@pytest.fixture
def material(tmp_path: Path) -> Path:
    return write_material(tmp_path / "pairs.safetensors")


@pytest.fixture
def pair_task(material: Path, tmp_path: Path) -> PairTask:
    folder = write_pretrained(tmp_path / "pretrained") / "minilm"
    shape = EncoderSettings.from_config(folder / "config.json")
    return PairTask(material, folder / "model.safetensors", shape, SMALL)


@pytest.fixture
def feature_task(material: Path) -> FeatureTask:
    network = NetworkSettings("features", "static", heads=2, dropout=0.0)
    return FeatureTask(material, StaticVectors(PairMaterial(material), SMALL), network, SMALL)


def test_a_reader_is_gone_on_from_without_its_heads(pair_task: PairTask, tmp_path: Path) -> None:
    reader = ReaderNetwork(pair_task.shape)
    save_weights(tmp_path / "reader.safetensors", reader, {})
    folder = tmp_path / "pretrained" / "minilm"
    started = PairTask(
        tmp_path / "pairs.safetensors",
        folder / "model.safetensors",
        pair_task.shape,
        SMALL,
        start=tmp_path / "reader.safetensors",
    ).model()
    assert torch.equal(started.encoder.word.weight, reader.encoder.word.weight)
    assert started.head.weight.abs().sum() > 0


class TestPairs(TaskContract):
    """PairTask is a Task."""

    near_zero = 0.12

    @pytest.fixture
    def task(self, pair_task: PairTask) -> PairTask:
        return pair_task


class TestFeatures(TaskContract):
    """FeatureTask is a Task."""

    learning_rate = 0.01

    @pytest.fixture
    def task(self, feature_task: FeatureTask) -> FeatureTask:
        return feature_task


def test_training_ranks_the_right_candidate_first(feature_task: FeatureTask, tmp_path: Path) -> None:
    before = feature_task.evaluate(feature_task.model().eval())
    loop = LoopSettings(steps=80, learning_rate=0.01, weight_decay=0.0, metric="map", evaluate_every=40)
    fitted(feature_task, loop, tmp_path / "training", say=lambda _: None)
    after = feature_task.evaluate(trained(feature_task, tmp_path / "training"))
    assert after["map"] == after["wikiqa mrr"] == after["trecqa-clean map"] == 1.0 > before["map"]


def test_states_are_those_of_the_encoder_for_each_text_alone(material: Path, tmp_path: Path) -> None:
    seed_everything("states")
    encoder = Encoder(TINY).eval()
    read = PairMaterial(material)
    write_states(tmp_path / "states.npy", encoder, read, SMALL, None, "cpu", lambda done, total: None)
    states = EncoderStates(tmp_path / "states.npy", read, SMALL)
    for text in (0, read.texts - 1):
        tokens = torch.tensor([[1, *read.text(text).tolist(), 2]])
        expected = encoder(tokens, torch.ones_like(tokens, dtype=torch.bool))[0]
        vectors, mask = states.of([text])
        assert bool(mask.all())
        assert vectors[0].flatten().tolist() == pytest.approx(expected.flatten().tolist(), abs=2e-3)


def test_states_of_another_material_are_refused(material: Path, tmp_path: Path) -> None:
    read = PairMaterial(material)
    write_states(tmp_path / "states.npy", Encoder(TINY), read, SMALL, None, "cpu", lambda done, total: None)
    write_material(tmp_path / "other.safetensors", questions=3)
    with pytest.raises(TrainingError, match="of another material"):
        EncoderStates(tmp_path / "states.npy", PairMaterial(tmp_path / "other.safetensors"), SMALL)


def test_a_set_is_ranked_by_hand(material: Path) -> None:
    read = PairMaterial(material)
    questions = read.questions(True, ["wikiqa"])
    labels = read.column("pair_label")
    scores = {pair: float(labels[pair]) for asked in questions for pair in asked.pairs}
    assert means(rankings(read, questions, scores))["wikiqa"] == {"questions": 4, "map": 1.0, "mrr": 1.0, "p_1": 100.0}
    turned = {pair: -score for pair, score in scores.items()}
    worst = means(rankings(read, questions, turned))["wikiqa"]
    assert worst["map"] == worst["mrr"] == 0.25  # one right candidate of four, and it comes last


def test_two_rankers_are_compared_question_by_question() -> None:
    ours = {"questions": {"wikiqa": {"a": [1.0, 1.0], "b": [0.5, 0.5], "c": [1.0, 1.0]}}}
    theirs = {"questions": {"wikiqa": {"a": [0.5, 1.0], "b": [0.25, 0.5], "c": [0.25, 1.0], "d": [1.0, 1.0]}}}
    test = compared(ours, theirs)["wikiqa"]
    assert test["questions"] == 3
    assert test["map"]["gain"] == pytest.approx(0.5)
    # d = 0.5, 0.25, 0.75: t = 0.5 / (0.25 / sqrt 3) = 3.4641 with two degrees of freedom, p = 0.0742
    assert test["map"]["p"] == pytest.approx(0.0742, abs=1e-4)
    assert test["mrr"] == {"gain": 0.0, "p": 1.0}


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingsError, match="way=features"):
        NetworkSettings(encoder="static")
    with pytest.raises(SettingsError, match="knows no moon"):
        TaskSettings(sources=("moon",))  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="squad"):
        CeteSettings(network=NetworkSettings("features"), task=TaskSettings(sources=("squad",)))
