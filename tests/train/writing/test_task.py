"""Training to write: what is drawn, what validation asks for, what networks start from, what the vocabulary holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the material needs tokenizers")

import torch

from train.letters import MARKS, letters_tokenizer
from train.writing.tiny_networks import BATCH, PREAST, PRETRAINED, TASK
from train.writing.towns import towns_material
from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import Encoder
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.systems.masque.task import MasqueTask
from wherefrom.train.checkpoint import save_weights
from wherefrom.train.seeds import seed_everything
from wherefrom.train.writing.material import WritingMaterial
from wherefrom.train.writing.sampling import WriterSampler
from wherefrom.train.writing.start import start_encoder
from wherefrom.train.writing.vocabulary import counts, names, ordered


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> WritingMaterial:
    return towns_material(tmp_path_factory.mktemp("towns"))


def test_company_changes_no_answer(material: WritingMaterial) -> None:
    task = MasqueTask(material, PREAST, TASK)
    seed_everything(0)
    model = task.model().eval()
    answers = {answer.example: answer for answer in task.answers(model, task.validation_examples("short"), "short")}
    alone = next(iter(answers))
    (again,) = task.answers(model, [alone], "short")
    assert again.tokens == answers[alone].tokens
    assert again.chance == pytest.approx(answers[alone].chance, abs=1e-5)


def test_validation_asks_what_has_an_answer(material: WritingMaterial) -> None:
    task = MasqueTask(material, PREAST, TASK)
    assert len(task.validation_examples("short")) == 12
    assert task.validation_examples("short", 4).tolist() == [108, 111, 114, 117]
    assert task.validation_examples("sentence").tolist() == [108, 112, 116]
    assert len(task.validation_examples("narrative")) == 0  # all stories are for training


def test_sentences_alone_and_a_part_of_the_data(material: WritingMaterial) -> None:
    def styles(shares: Mapping[str, float]) -> set[int]:
        batches = WriterSampler(material, replace(BATCH, styles="sentence", shares=shares)).batches(0, 1)
        return {int(style) for batch in batches for style in batch.style}

    assert styles({}) == {MARKS.sentence, MARKS.narrative}  # stories have no sentences, but a style of their own
    assert styles({"narrativeqa": 0.0}) == {MARKS.sentence}

    def examples(subset: float, epoch: int) -> set[int]:
        batches = WriterSampler(material, replace(BATCH, subset=subset)).batches(epoch, 1)
        return {int(example) for batch in batches for example in batch.example}

    assert examples(0.25, 0) == examples(0.25, 1)
    assert examples(0.25, 0) < examples(1.0, 0)
    assert len(examples(0.25, 0)) == pytest.approx(len(examples(1.0, 0)) / 4, abs=4)


def test_an_encoder_starts_from_a_trained_reader(tmp_path: Path) -> None:
    reader = ReaderNetwork(PRETRAINED)
    save_weights(tmp_path / "reader.safetensors", reader, {})
    encoder = Encoder(PRETRAINED)
    start_encoder(encoder, tmp_path / "reader.safetensors")
    assert torch.equal(encoder.word.weight, reader.encoder.word.weight)
    deeper = Encoder(replace(PRETRAINED, layers=PRETRAINED.layers + 1))
    with pytest.raises(
        SettingsError, match=f"has {PRETRAINED.layers} layers, the writer's encoder {deeper.settings.layers}"
    ):
        start_encoder(deeper, tmp_path / "reader.safetensors")


def test_the_vocabulary_holds_what_cannot_be_copied(material: WritingMaterial) -> None:
    tokenizer = letters_tokenizer()
    lacking, written = counts(material)
    texts = ["The river is old. In Town the people walk. A town is old."] * 3
    order = ordered(lacking, written, names(texts, tokenizer), tokenizer)
    pieces = [tokenizer.id_to_token(piece) for piece in order]
    assert not any(piece.startswith("[unused") for piece in pieces)
    assert pieces.index("is") < pieces.index("7")  # written without being offered, before digits
    assert pieces.index("walk") < pieces.index("town")  # mostly with a capital here: a name
