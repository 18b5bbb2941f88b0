"""The writer's training: the task contract, style transfer among the passages, short answers given or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the material needs tokenizers")

import numpy
import torch

from train.contract import TaskContract
from train.letters import MARKS, read
from train.writing.tiny_networks import COMMON, WRITER, WRITER_TASK
from train.writing.towns import towns_material
from wherefrom.errors import SettingsError
from wherefrom.systems.writer.task import WriterTask, WriterTaskSettings, paired
from wherefrom.train.loop import LoopSettings, fit, trained
from wherefrom.train.seeds import seed_everything
from wherefrom.train.writing.batches import PaddedTexts
from wherefrom.train.writing.material import WritingMaterial, with_synthetic
from wherefrom.train.writing.synthesis import holds, save_sentences, synthesise


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> WritingMaterial:
    return towns_material(tmp_path_factory.mktemp("towns"))


class TestWriter(TaskContract):
    near_zero, steps, learning_rate = 0.4, 130, 0.015  # some of its loss is answers that nothing was given of

    @pytest.fixture
    def task(self, tmp_path: Path) -> WriterTask:
        (tmp_path / "eight").mkdir()
        settings = replace(WRITER_TASK, triples=1.0, answer_given=1.0)
        return WriterTask(towns_material(tmp_path / "eight", 20), WRITER, settings, COMMON)


def test_style_transfer_and_passages_are_mixed_evenly(material: WritingMaterial) -> None:
    task = WriterTask(material, WRITER, replace(WRITER_TASK, triples=1.5, triple_tokens=400), COMMON)
    kinds = [type(batch).__name__ for batch in task.batches(0, 1)]
    assert set(kinds) == {"WriterBatch", "TransferBatch"}
    half = len(kinds) // 2
    assert abs(kinds[:half].count("TransferBatch") - kinds[half:].count("TransferBatch")) <= 2


def test_an_answer_that_is_not_given_is_not_seen(material: WritingMaterial) -> None:
    """The same question and passages; only the answer given differs, and only where it is given."""
    task = WriterTask(material, WRITER, WRITER_TASK, COMMON)
    seed_everything(0)
    model = task.model().eval()
    batch = task.batches(0, 1)[0]
    texts = material.on(torch.device("cpu"))
    memory = model.encode(task.reading(texts, batch))
    every = torch.ones(len(batch.row), dtype=torch.bool)
    given = task.rows(model, memory, texts, batch, every).sources[1]
    none = task.rows(model, memory, texts, batch, ~every).sources[1]
    answers = [read(material.text("target", int(number))) for number in batch.answer]
    assert [read(row[mask].tolist()) for row, mask in zip(given.tokens, given.mask, strict=True)] == answers
    assert {read(row[mask].tolist()) for row, mask in zip(none.tokens, none.mask, strict=True)} == {"[CLS]"}


def test_sentences_alone_are_given_their_answer(material: WritingMaterial) -> None:
    task = WriterTask(material, WRITER, replace(WRITER_TASK, answer_given=1.0), COMMON)
    for batch in task.batches(0, 1):
        assert torch.equal(task.given(batch), batch.style == MARKS.sentence)
    never = WriterTask(material, WRITER, replace(WRITER_TASK, answer_given=0.0), COMMON)
    assert not never.given(never.batches(0, 1)[0]).any()


def test_what_was_learnt_is_written(material: WritingMaterial, tmp_path: Path) -> None:
    """Trained on style transfer alone, it makes sentences of answers it was not trained on."""
    settings = replace(WRITER_TASK, passages=False, triples=1.0, valid_short=0, longest=24)
    task = WriterTask(material, WRITER, settings, COMMON)
    loop = LoopSettings(steps=80, learning_rate=0.015, report_every=80, evaluate_every=80, evaluate_first=False)
    *_, last = fit(task, loop, tmp_path)
    assert {name for name in last.metrics if name.endswith("rouge")} == {"given_rouge"}
    model = trained(task, tmp_path)
    made = list(synthesise(task, model, model.words))
    assert {sentence.example for sentence in made} <= set(numpy.flatnonzero(material["valid"] == 0).tolist())
    assert any("bridges" in read(list(sentence.tokens)) for sentence in made)
    done: list[tuple[int, int]] = []
    facts = save_sentences(tmp_path / "made.safetensors", task, model, model.words, lambda *counts: done.append(counts))
    assert facts["written"] == len(made) == len(done)
    augmented = with_synthetic(material, tmp_path / "made.safetensors", descriptive=True)
    assert (augmented["synthetic"] >= 0).sum() == facts["saved"]


def test_a_sentence_holds_its_answer_in_a_row() -> None:
    assert holds((1, 2, 3), (2, 3))
    assert not holds((1, 2, 3), (1, 3))
    assert not holds((1,), (1, 2))


def test_pairs_of_texts() -> None:
    first = PaddedTexts(torch.tensor([[11, 12], [13, 0]]), torch.tensor([[True, True], [True, False]]))
    second = PaddedTexts(torch.tensor([[21, 22], [0, 0]]), torch.tensor([[True, True], [False, False]]))
    pairs = paired(first, second, MARKS)
    c, s = MARKS.classify, MARKS.separate
    assert pairs.tokens[0, :7].tolist() == [c, 11, 12, s, 21, 22, s]
    assert pairs.tokens[0][pairs.copyable[0]].tolist() == [21, 22]
    assert pairs.tokens[1][pairs.mask[1]].tolist() == [c, 13, s]
    assert not pairs.copyable[1].any()


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingsError, match="answer_given is a share"):
        WriterTaskSettings(answer_given=1.5)
    with pytest.raises(SettingsError, match="triples"):
        WriterTaskSettings(passages=False)
