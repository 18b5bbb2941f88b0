"""More questions for a tiny reader: the asker's stages, what is skipped, what goes on, and a student of them."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

from systems.making import Listening, TinyReader
from train.tiny_inputs import present
from wherefrom.config import updated
from wherefrom.data import squad
from wherefrom.errors import NotFound, SettingsError
from wherefrom.origin import file_hash
from wherefrom.systems.asker import system
from wherefrom.systems.asker.about import ABOUT, Inputs
from wherefrom.systems.asker.settings import AskerSettings
from wherefrom.systems.contract import settings_of
from wherefrom.train.errors import TrainingError
from wherefrom.train.log import read_log
from wherefrom.train.material import Material, header
from wherefrom.train.stages import note_of, plain, run

SETTINGS = """
[loop]
steps = 6
evaluate_every = 3
precision = "fp32"
report_every = 1
checkpoint_every = 1
[task]
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


@dataclass(frozen=True, slots=True)
class Asker:
    """One in a folder."""

    inputs: Inputs
    out: Path
    settings: AskerSettings

    def make(self, *chosen: str, say: Listening | None = None) -> Listening:
        say = Listening() if say is None else say
        run("asker", system.stages(self.settings, self.inputs, self.out, say, present), self.out, chosen or None, say)
        return say

    @property
    def asked(self) -> Path:
        return self.out / "asked.safetensors"

    @property
    def squad(self) -> Path:
        return self.out / "asked-squad.json"

    @property
    def weights(self) -> Path:
        return self.out / "asker" / "model.safetensors"


@pytest.fixture(scope="module")
def asker(tiny_reader: TinyReader, tmp_path_factory: pytest.TempPathFactory) -> Asker:
    """One whose making was interrupted in its training and again while it asked."""
    given = tiny_reader.inputs
    inputs = Inputs(
        data=given.data,
        material=tiny_reader.material,
        teacher=tiny_reader.teacher,
        start=tiny_reader.student,
        ten_passages=given.ten_passages,
        pretrained=given.pretrained,
    )
    settings = updated(system.DEFAULTS, tomllib.loads(SETTINGS))
    made = Asker(inputs, tmp_path_factory.mktemp("asker") / "out", settings)
    for word in ("asker: step 4/6", "asked: questions drawn"):
        with pytest.raises(KeyboardInterrupt):
            made.make(say=Listening(word))
    assert not made.asked.exists()
    assert made.make()[0] == "asker: already made"
    return made


def test_questions_are_added_to_the_material(asker: Asker) -> None:
    steps = [row["step"] for row in read_log(asker.out / "asker" / "log.jsonl")]
    assert sorted(set(steps)) == steps == list(range(1, 7))
    before, after = Material(asker.inputs.material), Material(asker.asked)
    note = note_of(asker.out, "asked")
    kept = note["facts"]["questions"]
    assert 0 < kept <= note["facts"]["drawn"]
    assert len(after.column("gold")) == len(before.column("gold")) + kept
    assert after.of_source("asked").sum() == kept
    assert note["sha256"] == file_hash(asker.asked)
    assert note["made_of"] == {
        "material": file_hash(asker.inputs.material),
        "asker": file_hash(asker.weights),
        "teacher": file_hash(asker.inputs.teacher),
        "asking": asdict(asker.settings.asking),
    }
    assert header(asker.asked) == {**note["made_of"], **note["facts"]}
    training = note_of(asker.out, "asker")["facts"]
    assert training["finished"]
    assert training["task"]["data"]["start"] == file_hash(asker.inputs.start)


def test_what_was_asked_about_squads_paragraphs_is_there_in_its_format(asker: Asker) -> None:
    note = note_of(asker.out, "squad")
    examples = list(squad.load(asker.squad, "train"))
    texts = {example.passages[0].text for example in squad.load(asker.inputs.data / "squad", "train")}
    assert 0 < len(examples) == note["facts"]["questions"]
    assert {example.passages[0].text for example in examples} <= texts
    assert note["sha256"] == file_hash(asker.squad)
    assert note["made_of"]["asked"] == file_hash(asker.asked)


def test_questions_about_retrieved_passages_are_written_if_wanted(asker: Asker, tmp_path: Path) -> None:
    shutil.copytree(asker.out, tmp_path / "out")
    settings = replace(asker.settings, squad=replace(asker.settings.squad, retrieved=True))
    replace(asker, out=tmp_path / "out", settings=settings).make("squad")
    more = list(squad.load(tmp_path / "out" / "asked-squad.json", "train"))
    assert len(more) > len(list(squad.load(asker.squad, "train")))


def test_what_is_asked_is_not_asked_again(asker: Asker) -> None:
    files = [asker.asked, asker.squad, asker.weights]
    before = [file.stat().st_mtime_ns for file in files]
    assert asker.make() == ["asker: already made", "asked: already made", "squad: already made"]
    assert before == [file.stat().st_mtime_ns for file in files]


def test_the_same_is_asked_again_to_the_last_byte(asker: Asker, tmp_path: Path) -> None:
    copied = replace(asker, out=tmp_path / "out")
    shutil.copytree(asker.out, copied.out)
    copied.asked.unlink()
    assert "asked: made asked.safetensors" in copied.make("asked")
    assert copied.asked.read_bytes() == asker.asked.read_bytes()
    other = replace(copied, settings=replace(asker.settings, asking=replace(asker.settings.asking, seed=2, again=0)))
    said = other.make()
    assert "asked: made asked.safetensors" in said
    assert copied.asked.read_bytes() != asker.asked.read_bytes()
    assert not [line for line in said if line.startswith("squad")]  # nothing of it is about SQuAD's paragraphs


def test_a_student_learns_from_questions_that_a_network_asked(
    asker: Asker, tiny_reader: TinyReader, tmp_path: Path
) -> None:
    parts = ("student", "export", "weights", "fp32", "measure", "measured")
    reader = tiny_reader.copied(tmp_path / "out", *parts, start=tiny_reader.student, asked=asker.asked)
    reader.make("student", "export")
    student = reader.provenance()["stages"]["student"]
    assert student["made_of"]["material"] == file_hash(asker.asked)
    assert student["facts"]["task"]["data"]["asked.safetensors"] == file_hash(asker.asked)
    assert student["facts"]["asked"] == header(asker.asked)
    assert student["facts"]["start"]["training"]["finished"]
    assert str(asker.out) not in (reader.out / "weights" / "provenance.json").read_text()
    with pytest.raises(NotFound, match="--asked names it"):
        replace(reader, inputs=replace(reader.inputs, asked=tmp_path / "none")).make("student")


def test_what_the_stages_need_is_named(asker: Asker, tmp_path: Path) -> None:
    empty = replace(asker, out=tmp_path / "out")
    for stage, first in (("asked", "asker"), ("squad", "asked")):
        with pytest.raises(TrainingError, match=f"run the stage {first} first"):
            empty.make(stage)
    for name in ("material", "start"):
        missing = replace(empty, inputs=replace(asker.inputs, **{name: tmp_path / "none"}))
        with pytest.raises(NotFound, match=f"none is not there; --{name} names it"):
            missing.make("asker")
    with pytest.raises(NotFound, match="--teacher names it"):
        replace(asker, inputs=replace(asker.inputs, teacher=tmp_path / "none")).make("asked")


def test_the_recipe_is_that_of_the_saved_training() -> None:
    runs = Path(__file__).parents[3] / "runs" / "trainings"
    training, asked = (json.loads((runs / f"{name}.json").read_text()) for name in ("asker", "asked"))
    settings: AskerSettings = settings_of(system.DEFAULTS, ABOUT.recipe)
    assert plain(settings.loop.described()) == {**training["settings"], "group_warmups": {}}  # later than the training
    assert {**asdict(settings.task), "network": asdict(settings.network)} == training["task"]["settings"]
    assert asdict(settings.asking) == asked["asking"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("loop.epoch=3", r"did you mean loop\.epochs\?"),
        ("asking.again=twice", r"asking\.again must be a whole number"),
        ("network.layers=0", r"asker: layers, longest and longest_answer must be at least 1"),
    ],
)
def test_mistakes_in_the_settings_are_named(override: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings_of(system.DEFAULTS, None, [override])
