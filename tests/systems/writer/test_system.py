"""The writer made from datasets to weights, stage by stage, with a tiny network."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the material needs tokenizers")
pytest.importorskip("onnxscript", reason="torch exports through onnxscript: pip install 'wherefrom[train]'")

import torch

from train.letters import MARKS, letters_tokenizer
from train.writing.test_corpus import write_sources
from train.writing.tiny_networks import PRETRAINED, WRITER, WRITER_TASK
from wherefrom.errors import SettingsError
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.runtime.search import SearchSettings
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import WriterSession, WritingTask
from wherefrom.systems.contract import settings_of
from wherefrom.systems.writer import system
from wherefrom.systems.writer.about import ABOUT, Inputs
from wherefrom.systems.writer.settings import WriterMeasure, WriterSettings, WriterTraining
from wherefrom.train.checkpoint import save_weights
from wherefrom.train.errors import TrainingError
from wherefrom.train.settings import LoopSettings
from wherefrom.train.stages import read_json, run
from wherefrom.train.writing.material import load, with_synthetic
from wherefrom.types import Passage

LOOP = LoopSettings(steps=4, learning_rate=0.01, report_every=2, evaluate_every=4, evaluate_first=False)
TASK = replace(WRITER_TASK, valid_short=2, valid_sentences=2)
SETTINGS = WriterSettings(
    network=WRITER,
    transfer=WriterTraining(LOOP, replace(TASK, passages=False, triples=1.0, answer_given=1.0, valid_short=0)),
    synthesis_tokens=2000,
    writer=WriterTraining(LOOP, TASK),
    measure=WriterMeasure(most=2, threads=1),
)
STAGES = ["ten-passages", "material", "vocabulary", "transfer", "augment", "writer", "export"]


@dataclass(frozen=True, slots=True)
class TinyWriter:
    """A writer in a folder."""

    inputs: Inputs
    out: Path

    def make(self, *chosen: str, settings: WriterSettings = SETTINGS) -> list[str]:
        """Run the chosen stages, or all that are not extra; gives what was said."""
        lines: list[str] = []
        stages = system.stages(settings, self.inputs, self.out, lines.append, lambda name, folder: folder / name)
        run("writer", stages, self.out, chosen or None, lines.append)
        return lines


def begun(folder: Path) -> TinyWriter:
    """Datasets and a reader to start from; nothing is made yet."""
    encoder = folder / "pretrained" / "minilm"
    encoder.mkdir(parents=True)
    letters_tokenizer().save(str(encoder / "tokenizer.json"))
    reader = folder / "reader.safetensors"
    save_weights(reader, ReaderNetwork(PRETRAINED), {})
    inputs = Inputs(write_sources(folder / "data"), folder / "ten", folder / "pretrained", reader)
    return TinyWriter(inputs, folder / "out")


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> TinyWriter:
    torch.set_num_threads(1)
    made = begun(tmp_path_factory.mktemp("writer"))
    made.make()
    return made


def test_the_result_writes(writer: TinyWriter) -> None:
    session = WriterSession(Weights(writer.out / "weights"), threads=1)
    passage = Passage("p", "d", "The river is old. Town A has 650 bridges.", 0, 41)
    (answers,) = session.write([WritingTask("How many bridges has town A?", (passage,))], "short", SearchSettings())
    assert answers.written
    material = load(writer.out / "material" / "writer.safetensors")
    assert with_synthetic(material, writer.out / "synthetic.safetensors")["synthetic"].max() >= -1


def test_its_history_lies_beside_it(writer: TinyWriter) -> None:
    provenance = read_json(writer.out / "weights" / "provenance.json")
    assert provenance["model"] == "writer"
    assert list(provenance["stages"]) == STAGES
    assert provenance["stages"]["transfer"]["facts"]["steps"] == 4
    assert provenance["stages"]["writer"]["facts"]["task"]["data"].keys() == {"writer.safetensors", "synthetic"}
    assert {"step.onnx", "words.npy", "settings.toml"} <= provenance["files"].keys()
    assert json.loads((writer.out / "writer" / "settings.json").read_text())["vocabulary"] == WRITER.vocabulary


def test_nothing_is_made_twice(writer: TinyWriter) -> None:
    assert writer.make() == [f"{stage}: already made" for stage in STAGES]


def test_what_can_be_copied_is_reported_when_it_is_asked_for(writer: TinyWriter) -> None:
    assert not (writer.out / "report.json").exists()
    writer.make("report")
    report = read_json(writer.out / "report.json")
    assert report["short answers"]["ten-passages"]["from the passages"] == 1.0


def test_the_result_is_measured_alone(writer: TinyWriter) -> None:
    lines = writer.make("measure")
    figures = read_json(writer.out / "measured.json")
    assert figures["short"]["examples"] == 2
    assert 0 <= figures["short"]["f1"] <= 100
    assert figures["narrative"]["examples"] == 1
    assert any(line.startswith("measure: short: ") for line in lines)


def test_stages_too_early_name_the_one_before(tmp_path: Path) -> None:
    early = begun(tmp_path)
    for stage, before in (("material", "ten-passages"), ("vocabulary", "material"), ("augment", "transfer")):
        with pytest.raises(TrainingError, match=f"--stage {before}"):
            early.make(stage)


def test_the_shipped_recipe_can_be_read(tmp_path: Path) -> None:
    settings = settings_of(system.DEFAULTS, ABOUT.recipe)
    assert (settings.writer.loop.steps, settings.writer.task.fused) == (3500, True)
    assert settings.network.words.styles == {"short": MARKS.short, "sentence": MARKS.sentence, "narrative": 5}
    assert settings.writer.task.batch.shares == {"vanilla": 0.4, "vquanda": 0.5, "paraqa": 0.5}
    assert ABOUT.stages == (*STAGES, "report", "measure")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[writer.loop]\nstep = 3\n")
    with pytest.raises(SettingsError, match=r"writer\.loop\.steps"):
        settings_of(system.DEFAULTS, wrong)


def test_training_needs_nothing_that_a_bare_gpu_machine_lacks() -> None:
    code = (
        "import sys, wherefrom.systems.masque.system, wherefrom.systems.writer.system\n"
        "lacking = {'tokenizers', 'msgspec', 'tantivy', 'onnxruntime', 'tomli_w', 'wherefrom.data', 'rich'}\n"
        "print(sorted(lacking & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
