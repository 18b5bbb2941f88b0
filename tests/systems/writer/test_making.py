"""Making a writer stage by stage, with a tiny network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the writer's material needs tokenizers")

from train.letters import MARKS, letters_tokenizer
from train.writing.test_task import BATCH, COMMON, JOINT, PRETRAINED
from train.writing.towns import towns_material
from wherefrom.errors import SettingsError
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.runtime.search import SearchSettings
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import Task, WriterSession
from wherefrom.systems.writer.system import (
    DEFAULT,
    STAGES,
    Places,
    Stage,
    TrainingSettings,
    WriterMaker,
    WriterSettings,
    writer_settings,
)
from wherefrom.train.checkpoint import save_weights
from wherefrom.train.errors import TrainingError
from wherefrom.train.settings import LoopSettings
from wherefrom.train.writing.material import load, with_synthetic
from wherefrom.train.writing.task import WriterTaskSettings
from wherefrom.types import Passage

LOOP = LoopSettings(steps=40, learning_rate=0.01, report_every=20, evaluate_every=40, evaluate_first=False)
TASK = WriterTaskSettings(batch=BATCH, valid_passages=4, valid_short=2, valid_sentences=2, longest=6)
SETTINGS = WriterSettings(
    TrainingSettings(LOOP, replace(TASK, passages=False, triples=1.0, told=1.0, valid_short=0)),
    TrainingSettings(replace(LOOP, steps=4, evaluate_every=4), replace(TASK, batch=replace(BATCH, styles="every"))),
    synthesis_tokens=2000,
)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    out, encoder = tmp_path / "out", tmp_path / "pretrained" / "minilm"
    out.mkdir()
    encoder.mkdir(parents=True)
    towns_material(out, 40)
    (out / "common.json").write_text(json.dumps(COMMON))
    letters_tokenizer().save(str(encoder / "tokenizer.json"))
    save_weights(tmp_path / "reader.safetensors", ReaderNetwork(PRETRAINED), {})
    return Places(tmp_path, out, tmp_path / "ten", tmp_path / "pretrained", tmp_path / "reader.safetensors")


def maker(places: Places, said: list[str]) -> WriterMaker:
    network = replace(JOINT, vocabulary=30)
    return WriterMaker(
        SETTINGS, places, lambda *_: None, say=said.append, fetch=lambda name, folder: folder / name, network=network
    )


def test_from_material_to_weights(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    from wherefrom.systems.writer import export as export_writer

    made = export_writer.WriterExport
    monkeypatch.setattr(export_writer, "WriterExport", lambda **given: made(**given, marks=MARKS))
    said: list[str] = []
    maker(places, said).make()
    assert with_synthetic(load(places.material), places.synthetic)["synthetic"].max() >= -1
    session = WriterSession(Weights(places.weights), threads=1)
    passage = Passage("p", "d", "The river is old. Town 5 has 57 bridges.", 0, 40)
    (answers,) = session.write([Task("How many bridges has town 5?", (passage,))], "short", SearchSettings())
    assert answers.written
    provenance = json.loads((places.weights / "provenance.json").read_text())
    assert provenance["writer"]["finished"]
    assert provenance["transfer"]["steps"] == 40

    again: list[str] = []
    maker(places, again).make([stage for stage in STAGES if stage != "export"])
    assert again == [
        "material: already made",
        "vocabulary: already made",
        "transfer: already trained",
        "augment: already made",
        "writer: already trained",
    ]


@pytest.mark.parametrize(("stage", "needed"), [("augment", "transfer"), ("writer", "augment"), ("export", "augment")])
def test_a_stage_too_early_names_the_one_before(places: Places, stage: Stage, needed: str) -> None:
    with pytest.raises(TrainingError, match=f"--stage {needed}"):
        maker(places, []).make([stage])


def test_the_shipped_recipe_can_be_read(tmp_path: Path) -> None:
    assert writer_settings(DEFAULT).writer.loop.steps == 3500
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[writer.loop]\nstep = 3\n")
    with pytest.raises(SettingsError, match=r"writer\.loop\.steps"):
        writer_settings(wrong)
