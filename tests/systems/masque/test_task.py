"""The trainings of Masque, PREAST-QA and style transfer: the task contract on tiny networks, and every ablation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the material needs tokenizers")

import torch
from safetensors.torch import save_file

from train.contract import TaskContract
from train.writing.tiny_networks import BATCH, COMMON, MASQUE, PREAST, TASK, TRANSFER, WORDS
from train.writing.towns import towns_material
from wherefrom.errors import WherefromError
from wherefrom.systems.masque.network import MasqueSettings, encoder_only
from wherefrom.systems.masque.task import MasqueTask, StyleTransferTask, StyleTransferTaskSettings, word_vectors
from wherefrom.train.loop import LoopSettings, fit
from wherefrom.train.writing.material import WritingMaterial

TRANSFER_TASK = StyleTransferTaskSettings(BATCH, valid_sentences=4, longest=6)


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> WritingMaterial:
    """Few examples; the last twelve towns are validation."""
    return towns_material(tmp_path_factory.mktemp("eight"), 20)


class TestPreast(TaskContract):
    near_zero, steps, learning_rate = 0.4, 120, 0.015

    @pytest.fixture
    def task(self, eight: WritingMaterial) -> MasqueTask:
        return MasqueTask(eight, PREAST, TASK)


class TestMasque(TaskContract):
    near_zero, steps, learning_rate = 0.8, 120, 0.015  # the encoder that plays ELMo's part is random and stays so

    @pytest.fixture
    def task(self, eight: WritingMaterial) -> MasqueTask:
        return MasqueTask(eight, MASQUE, replace(TASK, batch=replace(BATCH, styles="random")), COMMON)


class TestStyleTransfer(TaskContract):
    near_zero, steps, learning_rate = 0.3, 120, 0.015  # one question has three sentences, any of which is right

    @pytest.fixture
    def task(self, eight: WritingMaterial) -> StyleTransferTask:
        return StyleTransferTask(eight, TRANSFER, TRANSFER_TASK)


@pytest.mark.parametrize(
    "network",
    [
        encoder_only(replace(PREAST, p2p=False)),
        replace(PREAST, ranker="gold"),
        replace(PREAST, ranker="none", classifier="none"),
        replace(PREAST, core="rnn", decoder_positions="none"),
    ],
    ids=["encoder only", "gold ranker", "neither", "rnn"],
)
def test_every_ablation_learns(eight: WritingMaterial, network: MasqueSettings, tmp_path: Path) -> None:
    task = MasqueTask(eight, network, TASK)
    loop = LoopSettings(steps=12, learning_rate=0.01, report_every=1, evaluate_every=12, evaluate_first=False)
    losses = [progress.losses["loss"] for progress in fit(task, loop, tmp_path) if progress.losses]
    assert sum(losses[-4:]) < sum(losses[:4])


def test_a_sentence_turned_around_becomes_its_short_answer(eight: WritingMaterial) -> None:
    task = StyleTransferTask(eight, TRANSFER, replace(TRANSFER_TASK, reverse=1.0))
    model = task.model().eval()
    there = {answer.example: answer.target for answer in task.answers(model)}
    back = {answer.example: answer.target for answer in task.answers(model, turned=True)}
    assert there.keys() == back.keys()
    for example, answer in back.items():
        assert answer == tuple(eight.text("answer", int(eight["answers_until"][example])))
        assert there[example] != answer
    assert set(task.loss(model, task.batches(0, 1)[0])[1]) == {"reverse"}


def test_word_vectors_are_principal_components(tmp_path: Path) -> None:
    """All variance lies in two directions: two components keep every distance, up to one factor."""
    plane = torch.randn(WORDS.words, 2) @ torch.randn(2, 9) + 5.0
    save_file({"embeddings.word_embeddings.weight": plane}, tmp_path / "model.safetensors")
    vectors = word_vectors(tmp_path / "model.safetensors", 2)
    assert vectors.std().item() == pytest.approx(0.4, rel=1e-4)
    ours, theirs = (torch.cdist(each[:20].double(), each[:20].double()) for each in (vectors, plane))
    torch.testing.assert_close(ours, ours[0, 1] / theirs[0, 1] * theirs, rtol=1e-3, atol=1e-4)
    save_file({"other": plane}, tmp_path / "model.safetensors")
    with pytest.raises(WherefromError, match="holds no word embeddings"):
        word_vectors(tmp_path / "model.safetensors", 2)
