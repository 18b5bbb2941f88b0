"""A whole reader, made of tiny inputs: every stage, what is skipped, what goes on, and mistakes in the settings."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file

from train.tiny_inputs import SETTINGS, present, write_data, write_pretrained
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.data import squad
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.evaluate.ten_passages import build
from wherefrom.judge.calibrated import NAMES
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.systems.asker.network import AskerSettings
from wherefrom.systems.asker.task import AskerTask, main
from wherefrom.systems.reader.run import STUDENT, TEACHER, student_task, teacher_task
from wherefrom.systems.reader.settings import DEFAULT, ReaderSettings, plain, reader_settings
from wherefrom.systems.reader.system import Places, ReaderMaker, _same_training
from wherefrom.systems.reader.task import ASKED, TEN_PASSAGES
from wherefrom.train.errors import TrainingError
from wherefrom.train.log import read_log
from wherefrom.train.loop import MODEL, fit
from wherefrom.train.material import Material
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
        "model.onnx",
        "tokenizer.json",
        "settings.toml",
        "judge.json",
        "provenance.json",
    }
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


def test_how_much_shorter_spans_are_preferred_is_shipped_with_the_weights(
    made: Interrupting, settings: ReaderSettings, places: Places, tmp_path: Path
) -> None:
    assert "brevity" not in (places.weights / "settings.toml").read_text()
    brief = Places(places.data, tmp_path / "out", places.ten_passages, places.pretrained)
    shutil.copytree(places.out, brief.out)
    before = json.loads((brief.weights / "provenance.json").read_text())
    chosen = replace(settings, export=replace(settings.export, brevity=0.5))
    said = Interrupting()
    maker(chosen, brief, said).make(["export"])
    for folder, precision in ((brief.weights, "int8"), (brief.fp32, "fp32")):
        assert f"export: {precision}" in said
        assert tomllib.loads((folder / "settings.toml").read_text())["brevity"] == 0.5
        assert json.loads((folder / "provenance.json").read_text())["made_of"]["brevity"] == 0.5
    provenance = json.loads((brief.weights / "provenance.json").read_text())
    assert provenance["files"]["model.onnx"] == before["files"]["model.onnx"]
    assert before["squad, valid"]
    assert provenance["squad, valid"] == {}  # measured without it
    maker(chosen, brief, said).make(["export", "measure"])
    assert {"export: int8 already made", "export: fp32 already made"} <= set(said)
    assert json.loads((brief.out / "squad.json").read_text())["made_of"]["brevity"] == 0.5
    assert json.loads((brief.weights / "provenance.json").read_text())["squad, valid"]


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


ASKING = """
[asker]
use = true
[asker.loop]
steps = 6
evaluate_every = 3
precision = "fp32"
report_every = 1
checkpoint_every = 1
[asker.task]
max_tokens = 92
tokens = 2000
classify = 1
separate = 2
[asking]
batch = 16
shortest_passage = 8
shortest = 2
relevance = 0.0
again = 4
"""


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> ReaderSettings:
    file = tmp_path_factory.mktemp("settings") / "asking.toml"
    file.write_text(SETTINGS + ASKING)
    return reader_settings(file)


@pytest.fixture(scope="module")
def asked(
    made: Interrupting, asking: ReaderSettings, places: Places, tmp_path_factory: pytest.TempPathFactory
) -> Places:
    """A student of more questions, whose making was interrupted in the asker's training and again while it asked."""
    out = tmp_path_factory.mktemp("asked") / "out"
    start = places.student / MODEL
    more = Places(places.data, out, places.ten_passages, places.pretrained, start)
    shutil.copytree(places.out, out, ignore=shutil.ignore_patterns("student", "fp32", "weights", "judge"))
    encoder = EncoderSettings.from_config(places.pretrained / STUDENT.encoder / "config.json")
    for progress in fit(AskerTask(more.material, encoder, start, asking.asker.task), asking.asker.loop, more.asker):
        if progress.step == 4:
            break
    with pytest.raises(KeyboardInterrupt):
        maker(asking, more, Interrupting("asked: questions drawn")).make(["asker", "asked"])
    assert not more.asked.exists()
    maker(asking, more, Interrupting()).make(["material", "teacher", "asker", "asked", "student", "export"])
    return more


def test_a_student_learns_from_questions_that_a_network_asked(asked: Places, asking: ReaderSettings) -> None:
    steps = [row["step"] for row in read_log(asked.asker / "log.jsonl")]
    assert sorted(set(steps)) == steps == list(range(1, 7))
    before, after = Material(asked.material), Material(asked.asked)
    note = json.loads((asked.out / "asked.json").read_text())
    kept = note["counts"]["questions"]
    assert 0 < kept <= note["counts"]["drawn"]
    assert len(after.column("gold")) == len(before.column("gold")) + kept
    assert (after.column("source") == ASKED).sum() == kept
    assert note["sha256"] == file_hash(asked.asked)
    assert note["made_of"] == {
        "material": file_hash(asked.material),
        "asker": file_hash(asked.asker / MODEL),
        "teacher": file_hash(asked.teacher / MODEL),
        "asking": asdict(asking.asking),
    }
    provenance = json.loads((asked.weights / "provenance.json").read_text())
    assert provenance["asked"] == note
    assert provenance["asker"]["finished"]
    assert provenance["asker"]["task"]["data"]["start"] == file_hash(asked.start or Path())
    assert provenance["student"]["task"]["data"]["asked.safetensors"] == note["sha256"]
    assert str(asked.out) not in (asked.weights / "provenance.json").read_text()


def test_what_was_asked_about_squads_paragraphs_is_there_in_its_format(asked: Places) -> None:
    note = json.loads((asked.out / "asked.json").read_text())["squad"]
    found = list(squad.load(asked.asked_squad, "train"))
    texts = {example.passages[0].text for example in squad.load(asked.data / "squad", "train")}
    assert 0 < len(found) == note["counts"]["questions"]
    assert {example.passages[0].text for example in found} <= texts
    assert note["sha256"] == file_hash(asked.asked_squad)
    assert note["made_of"]["asked"] == file_hash(asked.asked)


def test_what_is_asked_is_not_asked_again(asked: Places, asking: ReaderSettings) -> None:
    files = [asked.asked, asked.asked_squad, asked.asker / MODEL, asked.student / MODEL]
    before = [file.stat().st_mtime_ns for file in files]
    said = Interrupting()
    maker(asking, asked, said).make(["asker", "asked", "student"])
    assert said == [
        "asker: already trained",
        "asked: already made",
        "asked: asked-squad.json already made",
        "student: already trained",
    ]
    assert before == [file.stat().st_mtime_ns for file in files]


def test_questions_that_were_asked_elsewhere_are_taken_as_what_they_are(
    asked: Places, asking: ReaderSettings, tmp_path: Path
) -> None:
    copied = replace(asked, out=tmp_path / "out")
    shutil.copytree(asked.out, copied.out, ignore=shutil.ignore_patterns("student", "fp32", "weights"))
    note = copied.out / "asked.json"
    before = json.loads(note.read_text())
    for file in (note, copied.asked):
        file.unlink()
    main(
        [
            "ask",
            "--material",
            f"{copied.material}",
            "--out",
            f"{copied.asker}",
            "--pretrained",
            f"{copied.pretrained}",
            "--teacher",
            f"{copied.teacher}",
            "--asked",
            f"{copied.asked}",
            "--task",
            json.dumps(asdict(asking.asker.task)),
            "--asking",
            json.dumps(asdict(asking.asking)),
        ]
    )
    said = Interrupting()
    maker(asking, copied, said).make(["asked"])
    assert said[0] == "asked: already made"
    assert json.loads(note.read_text()) == before  # to the last byte
    note.unlink()
    other = replace(asking, asking=replace(asking.asking, seed=2, again=0))
    maker(other, copied, said).make(["asked"])
    assert json.loads(note.read_text())["made_of"]["asking"]["seed"] == 2
    assert "squad" not in json.loads(note.read_text())
    assert not copied.asked_squad.exists()


def test_more_questions_are_not_asked_for_unless_the_settings_say_so(
    made: Interrupting, settings: ReaderSettings, places: Places
) -> None:
    assert not reader_settings(DEFAULT).asker.use
    assert {"asker: not asked for", "asked: not asked for"} <= set(made)
    assert not places.asker.exists()
    assert not list(places.out.glob("asked*"))
    provenance = json.loads((places.weights / "provenance.json").read_text())
    assert not {"asker", "asked"} & provenance.keys()
    assert list(provenance["student"]["task"]["data"]) == ["reader.safetensors"]


def test_what_the_asking_stages_need_is_named(
    made: Interrupting, asking: ReaderSettings, places: Places, tmp_path: Path
) -> None:
    copied = replace(places, out=tmp_path / "out")
    shutil.copytree(places.out, copied.out, ignore=shutil.ignore_patterns("student", "fp32", "weights", "judge"))
    with pytest.raises(
        TrainingError, match=r"earlier student: name its weights with --start .* set asker\.use to false"
    ):
        maker(asking, copied, Interrupting()).make(["asker"])
    for stage, first in (("asked", "asker"), ("student", "asked")):
        with pytest.raises(TrainingError, match=f"run the stage {first} first"):
            maker(asking, copied, Interrupting()).make([stage])


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


def test_the_recipe_with_asked_questions_is_that_of_its_saved_training() -> None:
    runs = Path(__file__).parents[3] / "bench" / "results" / "asker"
    asker, asked, student = (
        json.loads((runs / f"{name}.json").read_text()) for name in ("provenance", "asked", "student-provenance")
    )
    settings = reader_settings(DEFAULT.with_name("reader-asked.toml"))
    assert settings.asker.use
    assert plain(settings.asker.loop) == asker["settings"]
    assert {**asdict(settings.asker.task), "network": asdict(AskerSettings())} == asker["task"]["settings"]
    assert asdict(settings.asking) == asked["asking"]
    data = list(student["task"]["data"].values())
    assert _same_training(student, settings.student_recipe(), data)


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
        ("[asker]\nuse = 1", r"asker\.use must be true or false"),
        ("[asker.loop]\nepoch = 3", r"did you mean asker\.loop\.epochs\?"),
        ("[asking]\nagain = 'twice'", r"asking\.again must be a whole number"),
        ("[export]\ntable_bits = 2", r"export\.table_bits must be one of 4, 8"),
        ("[export]\nprecision = 'int4'", r"export\.precision must be one of fp32, int8"),
        ("[export]\nbrevity = -0.1", r"export\.brevity must be 0 or above, not -0\.1"),
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
    file.write_text(f"[student.task]\nshares = {{ {TEN_PASSAGES} = 0.5, {ASKED} = 0.25 }}\n")
    assert dict(reader_settings(file).student.task.shares) == {TEN_PASSAGES: 0.5, ASKED: 0.25}
