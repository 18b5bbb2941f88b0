"""The writers' training: the task contract on tiny networks, style transfer, synthetic sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the writer's material needs tokenizers")

import numpy
import torch

from train.contract import TaskContract
from train.letters import MARKS, VOCABULARY, letters_tokenizer, read
from train.writing.towns import towns_material
from wherefrom.errors import SettingsError
from wherefrom.evaluate.token_scores import Said, token_scores
from wherefrom.networks.encoder import Encoder, EncoderSettings
from wherefrom.networks.masque import MasqueSettings, encoder_only, joint, masque, preast
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.systems.masque import run as writer_run
from wherefrom.systems.masque.style_transfer import StyleTransferSettings
from wherefrom.systems.masque.transfer_task import StyleTransferTask, StyleTransferTaskSettings
from wherefrom.train.checkpoint import save_weights
from wherefrom.train.loop import LoopSettings, fit, trained
from wherefrom.train.seeds import seed_everything
from wherefrom.train.writing.batches import Texts, WriterBatchSettings
from wherefrom.train.writing.material import NARRATIVEQA, Material, save_synthetic, with_synthetic
from wherefrom.train.writing.task import (
    WriterTask,
    WriterTaskSettings,
    paired,
    start_encoder,
    synthesise,
    word_settings,
)
from wherefrom.train.writing.vocabulary import names, needed, ordered

WORDS = word_settings(MARKS, len(dict.fromkeys(VOCABULARY)))
PRETRAINED = EncoderSettings(
    "bert",
    words=WORDS.words,
    width=16,
    layers=2,
    heads=2,
    inner=24,
    positions=96,
    types=2,
    dropout=0.0,
    attention_dropout=0.0,
)
SMALL: dict[str, Any] = {
    "words": WORDS,
    "width": 16,
    "heads": 2,
    "inner": 24,
    "decoder_layers": 1,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "dual_dropout": 0.0,
    "embedding_dropout": 0.0,
    "highway_dropout": 0.0,
    "positive_label": 1.0,
}
APART: dict[str, Any] = {"embedding": 12, "shared_layers": 1, "passage_layers": 1, "question_layers": 1}
JOINT = joint(**SMALL, pretrained=PRETRAINED, answer_source=True)
BATCH = WriterBatchSettings(
    passages=3, max_tokens=90, max_passage=80, tokens=4000, marks=MARKS, title_dropout=0.0, quota=None, removed=0.0
)
TASK = WriterTaskSettings(batch=BATCH, valid_passages=4, valid_short=4, valid_sentences=4, longest=6)
COMMON = list(range(9, 60))


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return towns_material(tmp_path_factory.mktemp("writer"))


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """Few examples; the last twelve towns are validation."""
    return towns_material(tmp_path_factory.mktemp("eight"), 20)


class TestJoint(TaskContract):
    near_zero, steps, learning_rate = 0.25, 220, 0.01  # some of its loss is answers that nothing was told of

    @pytest.fixture
    def task(self, eight: Material) -> WriterTask:
        settings = replace(TASK, batch=replace(BATCH, styles="every"), triples=1.0, told=1.0)
        return WriterTask(eight, JOINT, settings)


class TestPreast(TaskContract):
    near_zero, steps, learning_rate = 0.3, 200, 0.01

    @pytest.fixture
    def task(self, eight: Material) -> WriterTask:
        return WriterTask(eight, preast(**SMALL, **APART), TASK)


class TestMasque(TaskContract):
    near_zero, steps, learning_rate = 0.6, 200, 0.01  # the encoder that plays ELMo's part is random and stays so

    @pytest.fixture
    def task(self, eight: Material) -> WriterTask:
        settings = masque(**SMALL, **APART, pretrained=PRETRAINED, vocabulary=30, passages=4)
        return WriterTask(eight, settings, replace(TASK, batch=replace(BATCH, styles="random")), COMMON)


class TestStyleTransfer(TaskContract):
    near_zero, steps, learning_rate = 0.25, 200, 0.01  # one question has three sentences, any of which is right

    @pytest.fixture
    def task(self, eight: Material) -> StyleTransferTask:
        return StyleTransferTask(eight, TRANSFER, StyleTransferTaskSettings(BATCH, valid_sentences=4, longest=6))


TRANSFER = StyleTransferSettings(
    words=WORDS,
    embedding=12,
    shared_layers=1,
    passage_layers=(1, 1),
    question_layers=(1, 1),
    answer_layers=(1, 1),
    decoder_layers=1,
    width=16,
    heads=2,
    inner=24,
    attention_dropout=0.0,
    dual_dropout=0.0,
    embedding_dropout=0.0,
)


@pytest.mark.parametrize(
    "settings",
    [
        encoder_only(preast(**SMALL, **APART, p2p=False)),
        preast(**SMALL, **APART, ranker="gold"),
        preast(**SMALL, **APART, ranker="none", classifier="none"),
        preast(**{**SMALL, "width": 16}, **APART, core="rnn", decoder_positions="none"),
        joint(**SMALL, pretrained=PRETRAINED, ranker="pair", tie_embeddings=False),
    ],
    ids=["encoder only", "gold ranker", "neither", "rnn", "joint pair untied"],
)
def test_every_ablation_learns(material: Material, settings: MasqueSettings, tmp_path: Path) -> None:
    task = WriterTask(material, settings, TASK)
    loop = LoopSettings(steps=12, learning_rate=0.01, report_every=1, evaluate_every=12, evaluate_first=False)
    losses = [progress.losses["loss"] for progress in fit(task, loop, tmp_path) if progress.losses]
    assert sum(losses[-4:]) < sum(losses[:4])


def test_style_transfer_and_passages_are_mixed_evenly(material: Material) -> None:
    task = WriterTask(material, JOINT, replace(TASK, triples=1.5, triple_tokens=400))
    batches = task.batches(0, 1)
    kinds = [type(batches[place]).__name__ for place in range(len(batches))]
    assert set(kinds) == {"WriterBatch", "TransferBatch"}
    half = len(kinds) // 2
    assert abs(kinds[:half].count("TransferBatch") - kinds[half:].count("TransferBatch")) <= 2


def test_triples_need_somewhere_to_put_the_answer(material: Material) -> None:
    with pytest.raises(SettingsError, match="answer_source"):
        WriterTask(material, preast(**SMALL, **APART), replace(TASK, triples=1.0))


def test_an_answer_that_is_not_told_is_not_seen(material: Material) -> None:
    """The same question and passages; only the answer told differs, and only where it is told."""
    task = WriterTask(material, JOINT, replace(TASK, batch=replace(BATCH, styles="every")))
    seed_everything(0)
    model = task.model().eval()
    batch = task.batches(0, 1)[0]
    texts = material.on(torch.device("cpu"))
    memory = model.encode(task.reading(texts, batch))
    told = task._rows(model, memory, texts, batch, torch.ones(len(batch.row), dtype=torch.bool)).sources[1]
    none = task._rows(model, memory, texts, batch, torch.zeros(len(batch.row), dtype=torch.bool)).sources[1]
    answers = [
        read(task.material["target_tokens"][a:b].tolist())
        for a, b in (task.material["target_starts"][int(number) : int(number) + 2] for number in batch.answer)
    ]
    assert [read(row[mask].tolist()) for row, mask in zip(told.tokens, told.mask, strict=True)] == answers
    assert {read(row[mask].tolist()) for row, mask in zip(none.tokens, none.mask, strict=True)} == {"[CLS]"}


def test_padding_changes_nothing_where_there_is_no_answer(material: Material) -> None:
    task = WriterTask(material, JOINT, TASK)
    seed_everything(0)
    model = task.model().eval()
    said = {one.example: one for one in task.say(model, task.asked("short"), "short")}
    alone = next(iter(said))
    (again,) = task.say(model, [alone], "short")
    assert again.tokens == said[alone].tokens
    assert again.chance == pytest.approx(said[alone].chance, abs=1e-5)


def test_what_was_learnt_is_said(material: Material, tmp_path: Path) -> None:
    """Trained on every style and told the answers, it makes sentences of answers it was not trained on."""
    task = WriterTask(material, JOINT, replace(TASK, passages=False, triples=1.0, valid_short=0, longest=24))
    loop = LoopSettings(steps=120, learning_rate=0.01, report_every=60, evaluate_every=120, evaluate_first=False)
    list(fit(task, loop, tmp_path))
    model = trained(task, tmp_path)
    made = list(synthesise(task, model))
    assert {example for example, _, _ in made} <= set(numpy.flatnonzero(material["valid"] == 0).tolist())
    assert any("bridges" in read(list(tokens)) for _, tokens, _ in made)
    path = tmp_path / "made.safetensors"
    save_synthetic(path, [example for example, _, _ in made], [tokens for _, tokens, _ in made])
    assert (with_synthetic(material, path, descriptive=True)["synthetic"] >= 0).sum() == len(made)


def test_sentences_alone_and_a_part_of_the_data(material: Material) -> None:
    def styles(shares: Mapping[int, float]) -> set[int]:
        settings = replace(TASK, batch=replace(BATCH, styles="sentence", shares=shares))
        batches = WriterTask(material, JOINT, settings).batches(0, 1)
        return {int(style) for place in range(len(batches)) for style in batches[place].style}

    assert styles({}) == {MARKS.sentence, MARKS.narrative}  # stories have no sentences, but a style of their own
    assert styles({NARRATIVEQA: 0.0}) == {MARKS.sentence}

    def examples(subset: float, epoch: int) -> set[int]:
        found = WriterTask(material, JOINT, replace(TASK, batch=replace(BATCH, subset=subset))).batches(epoch, 1)
        return {int(one) for place in range(len(found)) for one in found[place].example}

    assert examples(0.25, 0) == examples(0.25, 1)
    assert examples(0.25, 0) < examples(1.0, 0)
    assert len(examples(0.25, 0)) == pytest.approx(len(examples(1.0, 0)) / 4, abs=4)


def test_pairs_of_texts() -> None:
    first = Texts(torch.tensor([[11, 12], [13, 0]]), torch.tensor([[True, True], [True, False]]))
    second = Texts(torch.tensor([[21, 22], [0, 0]]), torch.tensor([[True, True], [False, False]]))
    found = paired(first, second, MARKS)
    c, s = MARKS.classify, MARKS.separate
    assert found.tokens[0, :7].tolist() == [c, 11, 12, s, 21, 22, s]
    assert found.tokens[0][found.copyable[0]].tolist() == [21, 22]
    assert found.tokens[1][found.mask[1]].tolist() == [c, 13, s]
    assert not found.copyable[1].any()


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


def test_scores_in_wordpieces() -> None:
    right = Said(0, "short", (1, 2), (1, 2), True, 0.9, (0.1, 0.8), (False, True))
    wrong = Said(1, "short", (1, 3), (1, 2), True, 0.4, (0.7, 0.2), (False, True))
    none = Said(2, "short", None, None, False, 0.5, (0.7,), (False,))
    scores = token_scores([right, wrong, none], "short")
    assert scores["short_em"] == 50
    assert scores["short_f1"] == 75
    assert scores["p_1"] == 50
    assert scores["map"] == 75
    assert scores["answerable_f1"] == pytest.approx(80)  # all three called answerable


def test_the_vocabulary_holds_what_cannot_be_copied(material: Material) -> None:
    tokenizer = letters_tokenizer()
    lacking, said = needed(material)
    texts = ["The river is old. In Town the people walk. A town is old."] * 3
    found = names(texts, tokenizer)
    order = ordered(lacking, said, found, tokenizer)
    pieces = [tokenizer.id_to_token(piece) for piece in order]
    assert not any(piece.startswith("[unused") for piece in pieces)
    assert pieces.index("is") < pieces.index("7")  # said without being offered, before digits
    assert pieces.index("walk") < pieces.index("town")  # mostly with a capital here: a name


@pytest.mark.parametrize("preset", ["preast", "transfer"])
def test_the_commands(material: Material, tmp_path: Path, preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """fit, say and augment, as they are called on another machine."""
    monkeypatch.setattr(writer_run, "word_settings", lambda _marks: WORDS)
    monkeypatch.setattr(writer_run, "WriterBatchSettings", lambda **given: replace(BATCH, **_batch(given)))
    common, start = tmp_path / "common.json", tmp_path / "reader.safetensors"
    common.write_text(json.dumps(COMMON))
    save_weights(start, ReaderNetwork(PRETRAINED), {})
    small = {name: value for name, value in SMALL.items() if name in ("width", "heads", "inner", "decoder_layers")}
    network = {**small, "embedding": 12, "shared_layers": 1}
    more = {"valid_short": 4, "valid_passages": 4} if preset == "preast" else {"reverse": 0.5}
    task = {"valid_sentences": 4, "longest": 4, **more}
    loop = {"steps": 2, "precision": "fp32", "report_every": 1, "evaluate_first": False}
    given = [
        "--material",
        str(material.path),
        "--common",
        str(common),
        "--start",
        str(start),
        "--preset",
        preset,
        "--out",
        str(tmp_path / "run"),
        "--network",
        json.dumps(network),
        "--task",
        json.dumps(task),
        "--loop",
        json.dumps(loop),
    ]
    writer_run.main(["fit", *given])
    writer_run.main(["say", *given, "--said", str(tmp_path / "said.jsonl")])
    lines = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    wanted = {"short", "sentence", "short of sentence"} if preset == "preast" else {"told", "reverse"}
    assert {line["asked"] for line in lines} == wanted
    if preset == "transfer":
        writer_run.main(["augment", *given, "--synthetic-out", str(tmp_path / "made.safetensors")])
        with_synthetic(material, tmp_path / "made.safetensors")


def _batch(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in ("tokens", "size")}


def test_a_stage_without_its_file_is_refused(material: Material, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="told is a share"):
        WriterTaskSettings(told=1.5)
    with pytest.raises(SettingsError, match="triples"):
        WriterTaskSettings(passages=False)
