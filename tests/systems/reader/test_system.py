"""A whole reader, made of tiny inputs: every stage, what is skipped, what goes on, and mistakes in the settings."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file, save_file

from systems.making import Listening, TinyReader
from train.tiny_inputs import present, write_data
from wherefrom.errors import NotFound, SettingsError, WherefromError
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.systems.contract import settings_of
from wherefrom.systems.reader.about import ABOUT, Inputs
from wherefrom.systems.reader.settings import ReaderSettings, ReaderTrainingSettings
from wherefrom.systems.reader.system import DEFAULTS, student_task
from wherefrom.systems.reader.task import ReaderTaskSettings
from wherefrom.train.encoders import Encoders
from wherefrom.train.errors import TrainingError
from wherefrom.train.log import read_log
from wherefrom.train.material import SOURCES
from wherefrom.train.settings import LoopSettings
from wherefrom.train.stages import plain

assert ABOUT.recipe is not None
RECIPES = ABOUT.recipe.parent
ONLY_WHERE_GIVEN = ("manuals", "earlier", "start")  # stages for inputs that most trainings are not given
AFTER_TEACHER = ("student", "export", "weights", "fp32", "measure", "measured")  # parts that follow from a teacher


def test_the_result_is_a_folder_of_weights_with_all_of_its_history(tiny_reader: TinyReader) -> None:
    out, weights = tiny_reader.out, tiny_reader.out / "weights"
    assert {file.name for file in weights.iterdir()} == {
        "model.onnx",
        "tokenizer.json",
        "settings.toml",
        "provenance.json",
    }
    provenance = tiny_reader.provenance()
    assert provenance["model"] == "reader"
    assert provenance["files"]["model.onnx"] == file_hash(weights / "model.onnx")
    history = provenance["stages"]
    assert list(history) == [stage for stage in ABOUT.stages if stage not in ONLY_WHERE_GIVEN]
    assert history["material"]["sha256"] == file_hash(tiny_reader.material)
    assert "squad/train-v1.1.json.xz" in history["material"]["made_of"]["data"]
    assert history["material"]["facts"]["examples"] > 0
    assert "splits" in history["ten-passages"]["facts"]
    assert history["export"]["facts"]["pretrained"]["minilm"]["licence"].startswith("Apache")
    for training in ("teacher", "student"):
        assert history[training]["facts"]["finished"]
        assert history[training]["facts"]["seed"] == 1
        assert "f1" in history[training]["facts"]["metrics"]
    figures = history["measure"]["facts"]
    assert figures.keys() == {"questions", "int8", "fp32"}
    assert json.loads((out / "measured.json").read_text()) == figures
    assert list(history["student"]["facts"]["task"]["data"]) == ["reader.safetensors", "teacher"]
    assert str(out) not in (weights / "provenance.json").read_text()


def test_what_was_interrupted_went_on(tiny_reader: TinyReader) -> None:
    steps = [row["step"] for row in read_log(tiny_reader.out / "teacher" / "log.jsonl")]
    assert sorted(set(steps)) == steps == list(range(7))
    skipped = ("ten-passages", "material", "teacher", "student", "export")
    assert tiny_reader.said[:5] == tuple(f"{stage}: already made" for stage in skipped)
    assert tiny_reader.said[5] == "fp32: made fp32"
    assert not [path for path in tiny_reader.out.iterdir() if path.name.startswith("unfinished")]


def test_what_is_finished_is_skipped(tiny_reader: TinyReader) -> None:
    weights = tiny_reader.out / "weights"
    before = {file: file.stat().st_mtime_ns for file in weights.iterdir() if file.name != "provenance.json"}
    assert tiny_reader.make() == [f"{stage}: already made" for stage in ABOUT.stages if stage not in ONLY_WHERE_GIVEN]
    assert before == {file: file.stat().st_mtime_ns for file in before}


def test_how_much_shorter_spans_are_preferred_is_shipped_with_the_weights(
    tiny_reader: TinyReader, tmp_path: Path
) -> None:
    assert "brevity" not in (tiny_reader.out / "weights" / "settings.toml").read_text()
    export = replace(tiny_reader.settings.export, brevity=0.5)
    brief = replace(tiny_reader.copied(tmp_path / "out"), settings=replace(tiny_reader.settings, export=export))
    said = brief.make("export", "fp32", "measure")
    assert {"export: made weights", "fp32: made fp32", "measure: made measured.json"} <= set(said)
    for folder in ("weights", "fp32"):
        assert tomllib.loads((brief.out / folder / "settings.toml").read_text())["brevity"] == 0.5
    provenance, before = brief.provenance(), tiny_reader.provenance()
    assert provenance["stages"]["export"]["made_of"]["brevity"] == 0.5
    assert provenance["files"]["model.onnx"] == before["files"]["model.onnx"]
    measured = provenance["stages"]["measure"]["made_of"]["models"]["int8"]
    assert measured["settings.toml"] == provenance["files"]["settings.toml"]


def test_a_deeper_student_goes_on_from_an_earlier_one(tiny_reader: TinyReader, tmp_path: Path) -> None:
    start, settings = tiny_reader.student, tiny_reader.settings
    grown = replace(settings, student=replace(settings.student, task=replace(settings.student.task, layers=(0, 0, 0))))
    deeper = replace(tiny_reader.copied(tmp_path / "out", *AFTER_TEACHER, start=start), settings=grown)
    assert deeper.inputs.pretrained is not None
    encoders = Encoders(deeper.inputs.pretrained, present)
    task = student_task(grown.student, (deeper.material,), deeper.teacher, encoders, start)
    begun, before = task.model().state_dict(), load_file(start)
    for number in range(3):
        name = f"encoder.layers.{number}.widen.weight"
        assert torch.equal(begun[name], before["encoder.layers.0.widen.weight"])
    assert torch.equal(begun["span.weight"], before["span.weight"])
    deeper.make("student", "export")
    history = deeper.provenance()["stages"]
    assert history["student"]["facts"]["task"]["data"]["start"] == file_hash(start)
    assert tomllib.loads((deeper.out / "weights" / "settings.toml").read_text())["encoder"]["layers"] == 3
    assert deeper.make("student") == ["student: already made"]

    last = tiny_reader.copied(tmp_path / "last", *AFTER_TEACHER, start=deeper.student)
    last.make("student", "export")  # goes on as deep as it starts
    assert tomllib.loads((last.out / "weights" / "settings.toml").read_text())["encoder"]["layers"] == 3
    chain = last.provenance()["stages"]["student"]["facts"]["start"]
    assert chain["training"]["task"]["settings"]["layers"] == [0, 0, 0]
    third = tiny_reader.copied(tmp_path / "third", *AFTER_TEACHER, start=last.student)
    assert third.inputs.start is not None
    with pytest.raises(KeyboardInterrupt):
        third.make("student", say=Listening("student: step 0/"))
    noted = json.loads((third.out / "student" / "start.json").read_text())
    assert noted["start"]["training"]["task"]["settings"]["layers"] == [0, 0, 0]
    without = replace(deeper, inputs=replace(deeper.inputs, start=None))
    with pytest.raises(TrainingError, match="data differ"):  # without it is another training
        without.make("student")


def test_a_student_is_not_continued_under_another_teacher(tiny_reader: TinyReader, tmp_path: Path) -> None:
    copied = tiny_reader.copied(tmp_path / "out")
    weights = load_file(copied.teacher)
    weights["span.bias"] += 1.0
    save_file(weights, copied.teacher, metadata={"about": "{}"})
    with pytest.raises(TrainingError, match=r"begun with another task or other data \(data differ\)"):
        copied.make("student")


def test_other_settings_than_the_folder_was_begun_with_are_named(tiny_reader: TinyReader) -> None:
    longer = replace(tiny_reader.settings.teacher, loop=replace(tiny_reader.settings.teacher.loop, steps=7))
    with pytest.raises(SettingsError, match=r"loop\.steps is 7, but .* was begun with 6"):
        replace(tiny_reader, settings=replace(tiny_reader.settings, teacher=longer)).make("teacher")


def test_a_stage_says_which_one_must_come_first(tiny_reader: TinyReader, tmp_path: Path) -> None:
    inputs = replace(tiny_reader.inputs, ten_passages=tmp_path / "ten")
    empty = replace(tiny_reader, out=tmp_path / "out", inputs=inputs)
    for stage, first in (
        ("material", "ten-passages"),
        ("teacher", "material"),
        ("student", "teacher"),
        ("export", "student"),
        ("fp32", "student"),
        ("measure", "export"),
    ):
        with pytest.raises(TrainingError, match=f"run the stage {first} first"):
            empty.make(stage)


def test_a_start_that_is_not_there_is_named(tiny_reader: TinyReader, tmp_path: Path) -> None:
    missing = replace(tiny_reader, inputs=replace(tiny_reader.inputs, start=tmp_path / "none.safetensors"))
    with pytest.raises(NotFound, match=r"none\.safetensors is not there; --start names it"):
        missing.make("student")


def test_a_missing_dataset_shows_before_anything_is_made(tmp_path: Path) -> None:
    data, out = write_data(tmp_path / "data"), tmp_path / "out"
    shutil.rmtree(data / "nq_oracle")
    with pytest.raises(WherefromError, match="nq_oracle does not exist"):
        TinyReader(Inputs(data=data), out).make()
    assert not list(out.iterdir())


def test_material_that_was_put_there_is_taken_as_it_is(tiny_reader: TinyReader, tmp_path: Path) -> None:
    copied = replace(tiny_reader, out=tmp_path / "out")
    copied.out.mkdir()
    shutil.copy(tiny_reader.material, copied.material)
    shutil.copytree(tiny_reader.out / "teacher", copied.out / "teacher")
    said = copied.make("material", "teacher")
    assert "taken as it is" in said[0]
    assert "teacher: already trained" in said


# Settings.


def recipe(name: str) -> ReaderSettings:
    settings: ReaderSettings = settings_of(DEFAULTS, RECIPES / name)
    return settings


def trained_with(training: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a saved training; it may be older than a setting, and older ones number their sources."""
    task = {**plain(asdict(ReaderTaskSettings())), **training["task"]["settings"]}
    task["shares"] = {
        SOURCES[int(source)] if source.isdigit() else source: share for source, share in task["shares"].items()
    }
    return {"loop": {**plain(asdict(LoopSettings())), **training["settings"], "checkpoint_every": 0}, "task": task}


def wanted_by(settings: ReaderTrainingSettings) -> dict[str, Any]:
    return {"loop": {**plain(asdict(settings.loop)), "checkpoint_every": 0}, "task": plain(asdict(settings.task))}


def test_the_recipes_are_those_of_the_shipped_trainings() -> None:
    shipped = json.loads((SHIPPED / "reader" / "provenance.json").read_text())
    last, stages = recipe("reader-larger.toml"), shipped["stages"]
    assert wanted_by(last.student) == trained_with(stages["student"]["facts"])
    assert wanted_by(last.teacher) == trained_with(stages["teacher"]["facts"])
    real = stages["student"]["facts"]["start"]["training"]["stages"]  # of the reader that it goes on from
    assert wanted_by(recipe("reader-real.toml").student) == trained_with(real["student"]["facts"])
    assert last.export.table_bits == shipped["stages"]["export"]["made_of"]["table_bits"]
    saved = Path(__file__).parents[3] / "runs" / "trainings" / "reader-manuals.json"
    teacher = json.loads(saved.read_text())  # of the reader that taught it
    assert wanted_by(recipe("reader-manuals.toml").student) == trained_with(teacher["stages"]["student"]["facts"])
    provenance = teacher["goes_on_from"]
    again = provenance["start"]
    deeper = again["start"]
    trainings = {
        "reader.toml": deeper["start"]["training"],
        "reader-deeper.toml": deeper["training"],
        "reader-again.toml": again["training"],
        "reader-last.toml": provenance["student"],
    }
    for name, training in trainings.items():
        assert wanted_by(recipe(name).student) == trained_with(training), name
        assert wanted_by(recipe(name).teacher) == trained_with(provenance["teacher"]), name
    assert recipe("reader.toml").student.loop.metric == "score"
    assert str(recipe("reader-last.toml").export.table_bits) == provenance["made_of"]["table_bits"]


def test_the_recipe_with_asked_questions_is_that_of_its_saved_training() -> None:
    saved = Path(__file__).parents[3] / "runs" / "trainings" / "reader-asked.json"
    assert wanted_by(recipe("reader-asked.toml").student) == trained_with(json.loads(saved.read_text()))


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[student.loop]\nepoch = 3", r"student\.loop\.epoch is not a setting; did you mean student\.loop\.epochs\?"),
        ("[student]\ndistillation = 1.0", r"did you mean student\.task\.distillation\?"),
        ("[students.loop]\nepochs = 3", r"students is not a setting; did you mean student\?"),
        ("[teacher]\nencoder = 'bert'", r"encoder is 'bert'; there are minilm, mpnet, gte"),
        ("[student.task]\ntaught = ['squads']", r"reader\.taught knows no source 'squads'"),
        ("[student.task.shares]\nsquad = -1.0", r"reader\.shares: squad is -1\.0"),
        ("[teacher.loop]\nepochs = 'two'", r"teacher\.loop\.epochs must be a whole number"),
        ("[teacher.loop]\nprecision = 'int8'", r"teacher\.loop\.precision must be one of fp32, bf16, fp16"),
        ("[teacher.loop]\ngroup_rates = 3", r"teacher\.loop\.group_rates must be a table"),
        ("[teacher.task.shares]\nsquads = 0.5", r"knows no source 'squads'; there are squad, ten-passages"),
        ("[teacher.task.shares]\nsquad = 'half'", r"teacher\.task\.shares\.squad must be a number"),
        ("[student.task]\nstate_pairs = 3", r"student\.task\.state_pairs must be a list, not 3"),
        ("[student.task]\nstate_pairs = [[1, 2, 3]]", r"student\.task\.state_pairs must be a list of 2"),
        ("[student.task]\ndropout = 'none'", r"student\.task\.dropout must be a number"),
        ("[student.task]\nlayers = 10", r"student\.task\.layers must be a list, not 10"),
        ("[export]\ntable_bits = 2", r"export\.table_bits must be one of 4, 8"),
        ("[export]\nprecision = 'int4'", r"export\.precision must be one of fp32, int8"),
        ("[export]\nbrevity = -0.1", r"export\.brevity must be 0 or above, not -0\.1"),
        ("[measure]\nquestions = -1", r"measure\.questions"),
        ("[judge]\nquestions = 1", r"judge is not a setting"),
        ("[student.loop\n", "is not TOML"),
    ],
)
def test_mistakes_in_the_settings_are_named(toml: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(toml)
    with pytest.raises(SettingsError, match=message):
        settings_of(DEFAULTS, file)


def test_a_choice_of_numbers_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "four.toml").write_text("[export]\ntable_bits = 4\n[student.task]\nlayers = [0, 1, 1]")
    settings: ReaderSettings = settings_of(DEFAULTS, tmp_path / "four.toml")
    assert settings.export.table_bits == 4
    assert settings.student.task.layers == (0, 1, 1)


def test_tables_of_settings_are_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[student.task.shares]\nsquad = 0.25\n[student.loop]\ngroup_rates = {"encoder." = 1e-4}\n')
    settings: ReaderSettings = settings_of(DEFAULTS, file, ["teacher.task.shares={ten-passages = 0.5, asked = 0.25}"])
    assert dict(settings.student.task.shares) == {"squad": 0.25}
    assert dict(settings.student.loop.group_rates) == {"encoder.": 1e-4}
    assert dict(settings.teacher.task.shares) == {"ten-passages": 0.5, "asked": 0.25}
