"""DrQA's reader made from small datasets, stage by stage; and distant supervision."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("onnx", reason="exporting needs onnx: pip install 'wherefrom[train]'")

import torch
from safetensors import safe_open
from safetensors.torch import load_file

from train import tiny_drqa, tiny_inputs
from wherefrom import Library
from wherefrom.data import squad
from wherefrom.data.examples import Example, whole
from wherefrom.errors import NotFound, SettingsError
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.systems.contract import settings_of
from wherefrom.systems.drqa.about import ABOUT, Inputs
from wherefrom.systems.drqa.distant import distant
from wherefrom.systems.drqa.measure import MaterialTags
from wherefrom.systems.drqa.settings import DistantSettings
from wherefrom.systems.drqa.system import DEFAULTS, stages
from wherefrom.train.errors import TrainingError
from wherefrom.train.stages import note_of, run
from wherefrom.types import Document, Hit, Question

SETTINGS = """
[network]
hidden = 4
layers = 2
tuned = 3
dropout = 0.0
pos = false
ner = false
[loop]
steps = 4
evaluate_every = 2
report_every = 1
[task]
batch = 4
[material]
pieces = 5
also = 0
[measure]
questions = 3
threads = 1
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Datasets, encoders and vectors."""
    folder = tmp_path_factory.mktemp("inputs")
    tiny_inputs.write_data(folder / "data")
    tiny_inputs.write_pretrained(folder / "pretrained")
    glove = tiny_drqa.glove()
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(glove.words, glove.vectors.tolist(), strict=True)]
    (folder / "glove.txt").write_text("\n".join(lines) + "\n")
    (folder / "settings.toml").write_text(SETTINGS)
    return folder


def made(folder: Path, out: Path, *chosen: str, changes: Sequence[str] = (), **given: object) -> list[str]:
    """Run stages (all, if none is named) and give what was said."""
    said: list[str] = []
    inputs = Inputs(
        **{"data": folder / "data", "glove": folder / "glove.txt", "pretrained": folder / "pretrained", **given}
    )  # type: ignore[arg-type]
    settings = settings_of(DEFAULTS, folder / "settings.toml", changes)
    built = stages(settings, inputs, out, said.append, tiny_drqa.tagging, tiny_inputs.present)
    run("drqa", built, out, chosen or None, said.append)
    return said


@pytest.fixture(scope="module")
def whole_run(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A reader with all its stages, and what was said while it was made; not to be changed."""
    out = tmp_path_factory.mktemp("made")
    return out, made(inputs, out)


def copied(out: Path, folder: Path) -> Path:
    return shutil.copytree(out, folder / "copy")


def provenance_of(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "weights" / "provenance.json").read_text())
    return read


def test_all_stages_make_a_reader_and_are_not_made_again(inputs: Path, whole_run: tuple[Path, list[str]]) -> None:
    out, said = whole_run
    provenance = provenance_of(out)
    notes = provenance["stages"]
    assert provenance["model"] == "drqa"
    assert set(provenance["files"]) == {"model.onnx", "settings.toml", "tokenizer.json", "vectors.npz", "words.txt"}
    assert notes["training"]["facts"]["finished"]
    assert notes["training"]["facts"]["kept_step"] in (2, 4)
    assert notes["material"]["facts"]["vectors"]["minilm"]["licence"]
    measured = notes["measure"]["facts"]
    assert measured["questions"] == 3
    assert measured["tagger"] == measured["spaCy's tags"]  # this network sees no tags
    assert measured == json.loads((out / "squad.json").read_text())
    assert any(line.startswith("measure: tagger: exact match") for line in said)
    before = {file: file.stat().st_mtime_ns for file in (out / "weights").iterdir() if file.suffix != ".json"}
    again = made(inputs, out)
    assert again == [f"{name}: already made" for name in ABOUT.stages]
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_the_materials_tags_are_those_of_the_passages(inputs: Path, whole_run: tuple[Path, list[str]]) -> None:
    material = whole_run[0] / "drqa.safetensors"
    examples = list(squad.load(inputs / "data" / "squad", "valid"))
    tags = MaterialTags(material, examples)
    for example in examples:
        text = example.passages[0].text
        (given,), ((parts, entities),) = tags.tag([text]), tiny_drqa.tagging([text])
        assert [tags.pos[number] for number in given.pos] == parts
        assert [tags.ner[number] for number in given.ner] == entities
    with pytest.raises(TrainingError, match="is of other validation passages; make it anew"):
        MaterialTags(material, [replace(examples[0], passages=(whole("x", "Too short"),), spans=())])


def test_what_is_missing_is_named(inputs: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"run the stage material first \(--stage material\)"):
        made(inputs, tmp_path, "training")
    with pytest.raises(TrainingError, match=r"run the stage training first"):
        made(inputs, tmp_path, "export")
    with pytest.raises(TrainingError, match=r"need a library to find some in: --library DIR"):
        made(inputs, tmp_path, "material", more=("curatedtrec",))
    with pytest.raises(TrainingError, match=r"nowhere\.json is not there; GloVe is in the npm package"):
        made(inputs, tmp_path, "material", glove=tmp_path / "nowhere.json")
    with pytest.raises(NotFound, match=r"nowhere is not there; --start names it"):
        made(inputs, tmp_path, start=tmp_path / "nowhere")
    assert not (tmp_path / "made").exists()


def test_a_teacher_has_to_be_named(inputs: Path, whole_run: tuple[Path, list[str]], tmp_path: Path) -> None:
    shutil.copyfile(whole_run[0] / "drqa.safetensors", tmp_path / "drqa.safetensors")
    with pytest.raises(TrainingError, match=r"name its weights with --teacher"):
        made(inputs, tmp_path, "training", changes=["task.distillation=1.0"])


def test_training_needs_the_material_and_a_few_packages_alone(
    inputs: Path, whole_run: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """As on a bare GPU machine: no dataset, no index, no msgspec."""
    shutil.copyfile(whole_run[0] / "drqa.safetensors", tmp_path / "drqa.safetensors")
    lacking = ("tantivy", "msgspec", "tomli_w", "rich", "lxml", "Stemmer", "spacy")
    code = (
        f"import sys\nsys.modules.update(dict.fromkeys({lacking}))\nfrom wherefrom.cli import main\nmain(sys.argv[1:])"
    )
    asked = ("--data", tmp_path, "--glove", tmp_path / "none", "--settings", inputs / "settings.toml")
    arguments = ("train", "drqa", "--out", tmp_path, "--stage", "training", *asked)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    there, here = (load_file(out / "training" / "model.safetensors") for out in (tmp_path, whole_run[0]))
    torch.testing.assert_close(there, here)


def test_asked_questions_are_trained_on_and_are_part_of_what_the_material_is_made_of(
    inputs: Path, whole_run: tuple[Path, list[str]], tmp_path: Path
) -> None:
    example = next(squad.load(inputs / "data" / "squad", "train"))
    text = example.passages[0].text
    word = text.split()[0]
    asks = [{"id": "asked-1", "question": "What comes first?", "answers": [{"text": word, "answer_start": 0}]}]
    file = tmp_path / "asked-squad.json"
    file.write_text(json.dumps({"data": [{"title": "T", "paragraphs": [{"context": text, "qas": asks}]}]}))
    plain, more = whole_run[0], tmp_path / "more"
    made(inputs, more, "material", asked_squad=file)
    without, with_it = (load_file(out / "drqa.safetensors") for out in (plain, more))
    assert len(with_it["question"]) == len(without["question"]) + 1
    assert with_it["valid"][-1] == 0
    assert with_it["spans"][-1].tolist() == [0, 0]
    assert with_it["passage"][-1] in with_it["passage"][:-1]
    words = [bytes(tensors["words"].numpy()).decode().split("\n") for tensors in (without, with_it)]
    assert words[1][:20] == words[0][:20]  # those that are tuned stay the same
    assert "comes" in set(words[1][20:]) - set(words[0])
    facts = [note_of(out, "material")["made_of"] for out in (plain, more)]
    assert facts[1] == {**facts[0], "asked": file_hash(file)}
    with safe_open(plain / "drqa.safetensors", "numpy") as opened:
        header = json.loads(opened.metadata()["about"])
    assert list(header) == ["data", "glove", "pieces", "settings", "more", "pos", "ner"]  # as of materials made before
    assert made(inputs, more, "material", asked_squad=file) == ["material: already made"]
    with pytest.raises(NotFound, match=r"nowhere\.json is not there; --asked-squad names it"):
        made(inputs, more, "material", asked_squad=tmp_path / "nowhere.json")


def test_a_training_goes_on_from_an_earlier_one(
    inputs: Path, whole_run: tuple[Path, list[str]], tmp_path: Path
) -> None:
    first = whole_run[0]
    start = first / "training" / "model.safetensors"
    still = ["loop.learning_rate=1e-9", "loop.steps=2", "loop.ema=0.0"]
    made(inputs, tmp_path, "material", "training", "export", changes=still, start=start)
    before, after = (load_file(out / "training" / "model.safetensors") for out in (first, tmp_path))
    torch.testing.assert_close(after, before, rtol=0, atol=1e-6)
    note = provenance_of(tmp_path)["stages"]["training"]
    assert note["facts"]["task"]["data"]["start"] == note["made_of"]["start"]["sha256"] == file_hash(start)
    earlier = json.loads((first / "training" / "provenance.json").read_text())
    assert note["made_of"]["start"]["training"] == earlier
    assert json.loads((tmp_path / "training" / "start.json").read_text()) == {"training": earlier, "start": {}}
    assert not (first / "training" / "start.json").exists()


def test_how_much_shorter_spans_are_preferred_is_shipped_with_the_weights(
    inputs: Path, whole_run: tuple[Path, list[str]], tmp_path: Path
) -> None:
    out = copied(whole_run[0], tmp_path)
    assert "brevity" not in (out / "weights" / "settings.toml").read_text()
    before = provenance_of(out)
    brief = ["export.brevity=0.5"]
    made(inputs, out, "export", changes=brief)
    assert tomllib.loads((out / "weights" / "settings.toml").read_text())["brevity"] == 0.5
    provenance = provenance_of(out)
    assert provenance["stages"]["export"]["made_of"] == {**before["stages"]["export"]["made_of"], "brevity": 0.5}
    assert provenance["files"]["model.onnx"] == before["files"]["model.onnx"]
    assert made(inputs, out, "export", changes=brief) == ["export: already made"]
    again = made(inputs, out, "measure", changes=brief)  # what was measured without it does not count
    assert again[-1] == "measure: made squad.json"
    measured = provenance_of(out)["stages"]["measure"]
    assert measured["made_of"]["weights"]["settings.toml"] == provenance["files"]["settings.toml"]


@pytest.mark.parametrize("brevity", ["-0.1", "nan", "inf"])
def test_longer_spans_are_never_preferred(brevity: str) -> None:
    with pytest.raises(SettingsError, match=r"export\.brevity must be 0 or above, not"):
        settings_of(DEFAULTS, None, [f"export.brevity={brevity}"])


@pytest.mark.parametrize("name", ["drqa.toml", "drqa-again.toml"])
def test_the_recipes_are_those_of_the_shipped_trainings(name: str) -> None:
    assert ABOUT.recipe is not None
    settings = settings_of(DEFAULTS, ABOUT.recipe.with_name(name))
    shipped = json.loads((SHIPPED / "drqa" / "provenance.json").read_text())
    trained = shipped["training"] if name == "drqa-again.toml" else shipped["start"]["training"]
    assert asdict(settings.network) == trained["task"]["settings"].pop("network")
    assert asdict(settings.task) == trained["task"]["settings"]
    ours, theirs = settings.loop.described(), trained["settings"]
    for loop in (ours, theirs):
        loop.pop("checkpoint_every")  # touches nothing that is learnt
    assert not ours.pop("group_warmups")  # later than the training
    assert ours == theirs
    assert settings.export.bits == shipped["made_of"]["bits"]
    if name == "drqa-again.toml":
        written = tomllib.loads((SHIPPED / "drqa" / "settings.toml").read_text())
        assert settings.export.brevity == shipped["made_of"]["brevity"] == written["brevity"]


# Distant supervision -------------------------------------------------------------------------------------------------


def asked(*answers: str, patterns: tuple[str, ...] = ()) -> Example:
    return Example(Question("q", "Who painted the old lighthouse?"), answers=answers, patterns=patterns)


def hits(*texts: str) -> list[Hit]:
    return [Hit(whole(f"p{number}", text), 1.0) for number, text in enumerate(texts)]


def test_passages_with_an_answer_and_a_word_of_the_question_are_kept() -> None:
    found = hits(
        "The lighthouse was painted by Ines Moreau.",  # says it
        "Ines Moreau was born in a far away village.",  # the answer, but nothing of the question
        "The old lighthouse was painted long ago by others.",  # no answer
        "Moreau painted.",  # too short to be believed
        "An old lighthouse that INES  MOREAU painted with Ines Moreau.",  # twice, in other letters
    )
    (example,) = distant([asked("Ines Moreau")], [found])
    assert [passage.id for passage in example.passages] == ["p4", "p0"]  # three shared words, then two
    assert example.relevant == (True, True)
    assert [(span.passage_id, span.text) for span in example.spans] == [
        ("p4", "INES  MOREAU"),
        ("p4", "Ines Moreau"),
        ("p0", "Ines Moreau"),
    ]
    assert not any(span.sure for span in example.spans)


def test_patterns_find_answers_too() -> None:
    (example,) = distant([asked(patterns=(r"Ines\s+\w+",))], [hits("The lighthouse was painted by ines moreau.")])
    assert example.answers == ("ines moreau",)
    assert example.spans[0].start == 30


def test_a_question_without_any_is_left_out_and_few_passages_are_kept() -> None:
    assert list(distant([asked("Nobody")], [hits("The lighthouse was painted by Ines Moreau.")])) == []
    many = hits(*["The lighthouse was painted by Ines Moreau."] * 4)
    (example,) = distant([asked("Ines Moreau")], [many], DistantSettings(passages=2))
    assert [passage.id for passage in example.passages] == ["p0", "p1"]
    long = asked("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen")
    assert list(distant([long], [hits(f"The lighthouse: {long.answers[0]}.")])) == []
    with pytest.raises(SettingsError, match="passages and longest must be above 0"):
        DistantSettings(passages=0)


def test_curated_questions_find_their_passages_in_a_library(
    inputs: Path, whole_run: tuple[Path, list[str]], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    (data / "squad").mkdir(parents=True)
    for file in (inputs / "data" / "squad").iterdir():
        (data / "squad" / file.name).write_bytes(file.read_bytes())
    (data / "curatedtrec").mkdir()
    (data / "curatedtrec" / "curated-train.tsv").write_text(
        "1\tcurated\tWho painted the lighthouse?\tInes Moreau\n2\tcurated\tWho sank it?\tNobody\n"
    )
    with Library(tmp_path / "library") as library:
        library.put([Document("d", "The old lighthouse was painted by Ines Moreau in May, people say.")])
    plain, more = whole_run[0], tmp_path / "more"
    said = made(inputs, more, "material", data=data, library=tmp_path / "library", more=("curatedtrec",))
    assert "material: curatedtrec: 1 of 2 questions have a passage with an answer" in said
    without, with_it = (load_file(out / "drqa.safetensors") for out in (plain, more))
    assert len(with_it["question"]) == len(without["question"]) + 1
    assert with_it["valid"][-1] == 0
    assert with_it["spans"][-1].tolist() == [6, 7]
