"""A whole reader, made of tiny inputs: every stage, what is skipped, what goes on, and mistakes in the settings."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file

from train.tiny_inputs import SETTINGS, present, write_data, write_pretrained
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.evaluate.ten_passages import build
from wherefrom.judge.calibrated import NAMES
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.train.errors import TrainingError
from wherefrom.train.log import read_log
from wherefrom.train.loop import MODEL, fit
from wherefrom.train.reader_make import Places, ReaderMaker, _same_training
from wherefrom.train.reader_run import STUDENT, TEACHER, student_task, teacher_task
from wherefrom.train.reader_settings import DEFAULT, ReaderSettings, reader_settings
from wherefrom.types import Document


class Interrupting(list[str]):
    """Hears what is said; presses Ctrl-C when it hears a certain word."""

    def __init__(self, word: str = "never said") -> None:
        super().__init__()
        self._word = word

    def __call__(self, line: str) -> None:
        self.append(line)
        if self._word in line:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ReaderSettings:
    file = tmp_path_factory.mktemp("settings") / "tiny.toml"
    file.write_text(SETTINGS)
    return reader_settings(file)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    folder = tmp_path_factory.mktemp("reader")
    write_data(folder / "data")
    write_pretrained(folder / "pretrained")
    return Places(folder / "data", folder / "out", folder / "out" / "ten-passages", folder / "pretrained")


def maker(settings: ReaderSettings, places: Places, say: Interrupting) -> ReaderMaker:
    return ReaderMaker(settings, places, lambda data, out, report: build(data, out, report=report), "cpu", say, present)


@pytest.fixture(scope="module")
def made(settings: ReaderSettings, places: Places) -> Interrupting:
    """A reader whose making was interrupted in the teacher's training, and again in the export."""
    torch.set_num_threads(1)
    maker(settings, places, Interrupting()).make(["material"])
    recipe = settings.teacher_recipe()
    for progress in fit(teacher_task(places.material, places.pretrained, recipe), recipe.loop, places.teacher):
        if progress.step == 4:
            break
    with pytest.raises(KeyboardInterrupt):
        maker(settings, places, Interrupting("export: fp32")).make()
    said = Interrupting()
    maker(settings, places, said).make()
    return said


def test_the_result_is_a_folder_of_weights_with_all_of_its_history(made: Interrupting, places: Places) -> None:
    assert {file.name for file in places.weights.iterdir()} == {
        "model.onnx", "tokenizer.json", "settings.toml", "judge.json", "provenance.json"
    }  # fmt: skip
    provenance = json.loads((places.weights / "provenance.json").read_text())
    assert provenance["files"]["model.onnx"] == file_hash(places.weights / "model.onnx")
    assert provenance["files"]["judge.json"] == file_hash(places.weights / "judge.json")
    assert provenance["material"]["sha256"] == file_hash(places.material)
    assert "squad/train-v1.1.json.xz" in provenance["material"]["made_of"]["data"]
    for training in ("teacher", "student"):
        assert provenance[training]["finished"]
        assert provenance[training]["seed"] == 1
        assert "f1" in provenance[training]["metrics"]
    assert provenance["squad, valid"].keys() == {"questions", "int8", "fp32"}
    assert provenance["judge"]["questions"] > 0
    assert str(places.out) not in (places.weights / "provenance.json").read_text()
    assert str(places.out) not in (places.weights / "judge.json").read_text()


def test_the_judge_is_one_that_run_time_reads(made: Interrupting, places: Places, tmp_path: Path) -> None:
    judge = json.loads((places.weights / "judge.json").read_text())
    assert list(judge["terms"]) == list(NAMES)
    chosen = ["rank.kind=reader", "read.kind=span", "judge.kind=calibrated", f"runtime.reader={places.weights}"]
    library = Library(tmp_path / "library", resolve(overrides=chosen))
    library.put([Document("memo", "Town A has 12 bridges.", "Town A")])
    answer = library.ask("How many bridges has town A?", min_chance=0.0).answer
    assert answer is not None
    assert 0.0 <= answer.chance <= 1.0


def test_what_was_interrupted_went_on(made: Interrupting, places: Places) -> None:
    steps = [row["step"] for row in read_log(places.teacher / "log.jsonl")]
    assert sorted(set(steps)) == steps == list(range(7))
    assert {"material: already made", "teacher: already trained", "student: already trained"} <= set(made)
    assert "export: int8 already made" in made
    assert "export: fp32" in made
    assert not [path for path in places.out.iterdir() if path.name.startswith("unfinished")]


def test_what_is_finished_is_skipped(made: Interrupting, settings: ReaderSettings, places: Places) -> None:
    before = {file: file.stat().st_mtime_ns for file in places.weights.iterdir() if file.name != "provenance.json"}
    said = Interrupting()
    maker(settings, places, said).make()
    assert {"export: int8 already made", "export: fp32 already made", "judge: already fitted"} <= set(said)
    assert before == {file: file.stat().st_mtime_ns for file in before}


def test_a_deeper_student_goes_on_from_an_earlier_one(
    made: Interrupting, settings: ReaderSettings, places: Places, tmp_path: Path
) -> None:
    start = places.student / "model.safetensors"
    deeper = Places(places.data, tmp_path / "out", places.ten_passages, places.pretrained, start)
    shutil.copytree(places.out, deeper.out, ignore=shutil.ignore_patterns("student", "fp32", "weights", "judge"))
    student = settings.student
    grown = replace(student, task=replace(student.task, layers=(0, 0, 0)))
    chosen = replace(settings, student=grown)
    task = student_task(deeper.material, deeper.pretrained, deeper.teacher, chosen.student_recipe(), start)
    begun, before = task.model().state_dict(), load_file(start)
    for number, source in enumerate((0, 0, 0)):
        name = f"encoder.layers.{number}.widen.weight"
        assert torch.equal(begun[name], before[f"encoder.layers.{source}.widen.weight"])
    assert torch.equal(begun["span.weight"], before["span.weight"])
    said = Interrupting()
    maker(chosen, deeper, said).make(["student", "export"])
    provenance = json.loads((deeper.weights / "provenance.json").read_text())
    assert provenance["student"]["task"]["data"]["start"] == file_hash(start)
    assert tomllib.loads((deeper.weights / "settings.toml").read_text())["encoder"]["layers"] == 3
    again = Interrupting()
    maker(chosen, deeper, again).make(["student"])
    assert again[-1] == "student: already trained"
    last = Places(places.data, tmp_path / "last", places.ten_passages, places.pretrained, deeper.student / MODEL)
    shutil.copytree(places.out, last.out, ignore=shutil.ignore_patterns("student", "fp32", "weights", "judge"))
    maker(settings, last, Interrupting()).make(["student", "export"])  # goes on as deep as it starts
    assert tomllib.loads((last.weights / "settings.toml").read_text())["encoder"]["layers"] == 3
    history = json.loads((last.weights / "provenance.json").read_text())["start"]
    assert history["training"]["task"]["settings"]["layers"] == [0, 0, 0]
    assert history["start"]["training"]["task"]["settings"]["layers"] == []
    with pytest.raises(TrainingError, match="data differ"):  # without it is another training
        maker(chosen, replace(deeper, start=None), Interrupting()).make(["student"])


def test_a_student_is_not_continued_under_another_teacher(
    made: Interrupting, settings: ReaderSettings, places: Places, tmp_path: Path
) -> None:
    copied = Places(places.data, tmp_path / "out", places.ten_passages, places.pretrained)
    shutil.copytree(places.out, copied.out)
    (copied.teacher / "model.safetensors").write_bytes(b"another")
    with pytest.raises(TrainingError, match="begun with another teacher"):
        maker(settings, copied, Interrupting()).make(["student"])


def test_other_settings_than_the_folder_was_begun_with_are_named(
    made: Interrupting, places: Places, tmp_path: Path
) -> None:
    (tmp_path / "other.toml").write_text(SETTINGS.replace("steps = 6", "steps = 7"))
    with pytest.raises(SettingsError, match=r"loop\.steps is 7, but .* was begun with 6"):
        maker(reader_settings(tmp_path / "other.toml"), places, Interrupting()).make(["teacher"])


def test_a_stage_says_which_one_must_come_first(settings: ReaderSettings, places: Places, tmp_path: Path) -> None:
    empty = Places(places.data, tmp_path / "out", tmp_path / "ten", places.pretrained)
    for stage, first in (("teacher", "material"), ("student", "teacher"), ("export", "student"), ("judge", "export")):
        with pytest.raises(TrainingError, match=f"run the stage {first} first"):
            maker(settings, empty, Interrupting()).make([stage])


def test_a_missing_dataset_shows_before_anything_is_made(settings: ReaderSettings, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    shutil.rmtree(data / "nq_oracle")
    out = tmp_path / "out"
    with pytest.raises(WherefromError, match="nq_oracle does not exist"):
        maker(settings, Places(data, out, out / "ten-passages", tmp_path / "pretrained"), Interrupting()).make()
    assert not out.exists()


def test_material_that_was_put_there_is_taken_as_it_is(
    made: Interrupting, settings: ReaderSettings, places: Places, tmp_path: Path
) -> None:
    copied = Places(places.data, tmp_path / "out", places.ten_passages, places.pretrained)
    copied.out.mkdir()
    shutil.copy(places.material, copied.material)
    shutil.copytree(places.teacher, copied.teacher)
    said = Interrupting()
    maker(settings, copied, said).make(["material", "teacher"])
    assert "taken as it is" in said[0]
    assert said[-1] == "teacher: already trained"


def test_the_shipped_recipe_is_that_of_reader_run() -> None:
    shipped = reader_settings(DEFAULT)
    assert shipped.teacher_recipe().encoder == TEACHER.encoder
    assert shipped.student_recipe().encoder == STUDENT.encoder
    assert shipped.student.loop.metric == "score"


def test_the_recipes_are_those_of_the_shipped_trainings() -> None:
    provenance = json.loads((SHIPPED / "reader" / "provenance.json").read_text())
    again = provenance["start"]
    deeper = again["start"]
    trained = {
        "reader.toml": deeper["start"]["training"],
        "reader-deeper.toml": deeper["training"],
        "reader-again.toml": again["training"],
        "reader-last.toml": provenance["student"],
    }
    for name, training in trained.items():
        recipe = reader_settings(DEFAULT.with_name(name)).student_recipe()
        assert _same_training(training, recipe, list(training["task"]["data"].values())), name


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[student.loop]\nepoch = 3", r"student\.loop\.epoch is not a setting; did you mean student\.loop\.epochs\?"),
        ("[student]\ndistillation = 1.0", r"did you mean student\.task\.distillation\?"),
        ("[students.loop]\nepochs = 3", r"students is not a setting; did you mean student\?"),
        ("[teacher]\nencoder = 'minilm'", r"teacher\.encoder is not a setting"),
        ("[teacher.loop]\nepochs = 'two'", r"teacher\.loop\.epochs must be a whole number"),
        ("[teacher.loop]\nprecision = 'int8'", r"teacher\.loop\.precision must be one of fp32, bf16, fp16"),
        ("[teacher.loop]\ngroup_rates = 3", r"teacher\.loop\.group_rates must be a table"),
        ("[teacher.task.shares]\nsquad = 0.5", r"teacher\.task\.shares\.squad: 'squad' must be a whole number"),
        ("[student.task]\nstate_pairs = 3", r"student\.task\.state_pairs must be a list, not 3"),
        ("[student.task]\nstate_pairs = [[1, 2, 3]]", r"student\.task\.state_pairs must be a list of 2"),
        ("[student.task]\ndropout = 'none'", r"student\.task\.dropout must be a number"),
        ("[student.task]\nlayers = 10", r"student\.task\.layers must be a list, not 10"),
        ("[export]\ntable_bits = 2", r"export\.table_bits must be one of 4, 8"),
        ("[export]\nprecision = 'int4'", r"export\.precision must be one of fp32, int8"),
        ("[judge]\nquestions = -1", r"judge\.questions"),
        ("[student.loop\n", "is not TOML"),
    ],
)
def test_mistakes_in_the_settings_are_named(toml: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(toml)
    with pytest.raises(SettingsError, match=message):
        reader_settings(file)


def test_a_choice_of_numbers_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "four.toml").write_text("[export]\ntable_bits = 4\n[student.task]\nlayers = [0, 1, 1]")
    found = reader_settings(tmp_path / "four.toml")
    assert found.export.table_bits == 4
    assert found.student.task.layers == (0, 1, 1)


def test_tables_of_settings_are_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[student.task.shares]\n1 = 0.25\n[student.loop]\ngroup_rates = {"encoder." = 1e-4}\n')
    read = reader_settings(file)
    assert dict(read.student.task.shares) == {1: 0.25}
    assert dict(read.student.loop.group_rates) == {"encoder.": 1e-4}
