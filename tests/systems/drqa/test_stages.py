"""DrQA's reader made from small datasets, stage by stage; and distant supervision."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("onnx", reason="exporting needs onnx: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file

from train import tiny_drqa, tiny_inputs
from wherefrom import Library
from wherefrom.data import squad
from wherefrom.data.examples import Example, whole
from wherefrom.errors import SettingsError
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.systems.drqa.distant import DistantSettings, distant
from wherefrom.systems.drqa.system import DEFAULT, STAGES, DrQAMaker, MaterialTags, Places, make_settings
from wherefrom.train.errors import TrainingError
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


def maker(inputs: Path, out: Path, said: list[str], **changes: object) -> DrQAMaker:
    places = Places(inputs / "data", out, inputs / "glove.txt", inputs / "pretrained", **changes)  # type: ignore[arg-type]
    settings = make_settings(inputs / "settings.toml")
    return DrQAMaker(settings, places, "cpu", said.append, tiny_drqa.tagging, tiny_inputs.present)


def test_all_stages_make_a_reader_and_are_not_made_again(inputs: Path, tmp_path: Path) -> None:
    said: list[str] = []
    maker(inputs, tmp_path, said).make()
    provenance = json.loads((tmp_path / "weights" / "provenance.json").read_text())
    assert provenance["model"] == "drqa"
    assert provenance["squad, valid"]["questions"] == 3
    assert set(provenance["files"]) == {"model.onnx", "settings.toml", "tokenizer.json", "vectors.npz", "words.txt"}
    assert provenance["training"]["finished"]
    assert provenance["kept"]["step"] == provenance["training"]["kept_step"]
    assert provenance["kept"]["metrics"] == provenance["training"]["metrics"]
    assert any(line.startswith("measure: tagger: exact match") for line in said)
    assert provenance["squad, valid"]["tagger"] == provenance["squad, valid"]["spaCy's tags"]  # this one sees no tags
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "weights").iterdir() if file.suffix != ".json"}
    again: list[str] = []
    maker(inputs, tmp_path, again).make(STAGES[:3])
    assert "material: already made" in again
    assert "export: already made" in again
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_the_materials_tags_are_those_of_the_passages(inputs: Path, tmp_path: Path) -> None:
    maker(inputs, tmp_path, []).material()
    examples = list(squad.load(inputs / "data" / "squad", "valid"))
    tags = MaterialTags(tmp_path / "drqa.safetensors", examples)
    for example in examples:
        text = example.passages[0].text
        (given,), ((parts, entities),) = tags.tag([text]), tiny_drqa.tagging([text])
        assert [tags.pos[number] for number in given.pos] == parts
        assert [tags.ner[number] for number in given.ner] == entities
    with pytest.raises(TrainingError, match="is of other validation passages; make it anew"):
        MaterialTags(
            tmp_path / "drqa.safetensors", [replace(examples[0], passages=(whole("x", "Too short"),), spans=())]
        )


def test_what_is_missing_is_named(inputs: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"run the stage material first \(--stage material\)"):
        maker(inputs, tmp_path, []).training()
    with pytest.raises(TrainingError, match=r"run the stage training first"):
        maker(inputs, tmp_path, []).export()
    with pytest.raises(TrainingError, match=r"need a library to find some in: --library DIR"):
        maker(inputs, tmp_path, [], more=("curatedtrec",)).material()
    places = Places(inputs / "data", tmp_path, inputs / "nowhere.json", inputs / "pretrained")
    with pytest.raises(TrainingError, match=r"nowhere\.json is not there; GloVe is in the npm package"):
        DrQAMaker(make_settings(inputs / "settings.toml"), places, tagging=tiny_drqa.tagging).material()


def test_a_teacher_has_to_be_named(inputs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    maker(inputs, out, []).material()
    (tmp_path / "with.toml").write_text(SETTINGS.replace("batch = 4", "batch = 4\ndistillation = 1.0"))
    places = Places(inputs / "data", out, inputs / "glove.txt", inputs / "pretrained")
    with pytest.raises(TrainingError, match=r"name its weights with --teacher"):
        DrQAMaker(make_settings(tmp_path / "with.toml"), places, tagging=tiny_drqa.tagging).training()


def test_asked_questions_are_trained_on_and_are_part_of_what_the_material_is_made_of(
    inputs: Path, tmp_path: Path
) -> None:
    example = next(squad.load(inputs / "data" / "squad", "train"))
    text = example.passages[0].text
    word = text.split()[0]
    asks = [{"id": "asked-1", "question": "What comes first?", "answers": [{"text": word, "answer_start": 0}]}]
    file = tmp_path / "asked-squad.json"
    file.write_text(json.dumps({"data": [{"title": "T", "paragraphs": [{"context": text, "qas": asks}]}]}))
    plain, more = tmp_path / "plain", tmp_path / "more"
    maker(inputs, plain, []).material()
    maker(inputs, more, [], asked=file).material()
    without, with_it = (load_file(folder / "drqa.safetensors") for folder in (plain, more))
    assert len(with_it["question"]) == len(without["question"]) + 1
    assert with_it["valid"][-1] == 0
    assert with_it["spans"][-1].tolist() == [0, 0]
    assert with_it["passage"][-1] in with_it["passage"][:-1]
    words = [bytes(tensors["words"].numpy()).decode().split("\n") for tensors in (without, with_it)]
    assert words[1][:20] == words[0][:20]  # those that are tuned stay the same
    assert "comes" in set(words[1][20:]) - set(words[0])
    notes = [json.loads((folder / "material.json").read_text())["made_of"] for folder in (plain, more)]
    assert notes[1] == {**notes[0], "asked": file_hash(file)}
    assert list(notes[0]) == ["data", "glove", "pieces", "settings", "more"]  # as of materials made before
    said: list[str] = []
    maker(inputs, more, said, asked=file).material()
    assert said == ["material: already made"]
    with pytest.raises(TrainingError, match=r"nowhere\.json is not there; `wherefrom train reader` makes it"):
        maker(inputs, more, [], asked=tmp_path / "nowhere.json").material()


def test_a_training_goes_on_from_an_earlier_one(inputs: Path, tmp_path: Path) -> None:
    first, then = tmp_path / "first", tmp_path / "then"
    maker(inputs, first, []).make()
    start = first / "training" / "model.safetensors"
    places = Places(inputs / "data", then, inputs / "glove.txt", inputs / "pretrained", start=start)
    still = replace(
        make_settings(inputs / "settings.toml"),
        loop=replace(make_settings(inputs / "settings.toml").loop, learning_rate=1e-9, steps=2, ema=0.0),
    )
    DrQAMaker(still, places, "cpu", str, tiny_drqa.tagging, tiny_inputs.present).make()
    before, after = (load_file(folder / "training" / "model.safetensors") for folder in (first, then))
    torch.testing.assert_close(after, before, rtol=0, atol=1e-6)
    provenance = json.loads((then / "weights" / "provenance.json").read_text())
    assert provenance["training"]["task"]["data"]["start"] == file_hash(start)
    assert provenance["start"]["training"] == json.loads((first / "training" / "provenance.json").read_text())
    assert "start" not in json.loads((first / "weights" / "provenance.json").read_text())


def test_how_much_shorter_spans_are_preferred_is_shipped_with_the_weights(inputs: Path, tmp_path: Path) -> None:
    maker(inputs, tmp_path, []).make()
    assert "brevity" not in (tmp_path / "weights" / "settings.toml").read_text()
    before = json.loads((tmp_path / "weights" / "provenance.json").read_text())
    assert list(before["made_of"]) == ["training", "most_words"]
    places = Places(inputs / "data", tmp_path, inputs / "glove.txt", inputs / "pretrained")
    (tmp_path / "brief.toml").write_text(SETTINGS + "[export]\nbrevity = 0.5\n")
    brief = make_settings(tmp_path / "brief.toml")
    said: list[str] = []
    brief_maker = DrQAMaker(brief, places, "cpu", said.append, tiny_drqa.tagging, tiny_inputs.present)
    brief_maker.export()
    assert tomllib.loads((tmp_path / "weights" / "settings.toml").read_text())["brevity"] == 0.5
    provenance = json.loads((tmp_path / "weights" / "provenance.json").read_text())
    assert provenance["made_of"] == {**before["made_of"], "brevity": 0.5}
    assert provenance["files"]["model.onnx"] == before["files"]["model.onnx"]
    assert provenance["squad, valid"] == {}  # measured without it
    brief_maker.export()
    assert said[-1] == "export: already made"
    brief_maker.measure()
    provenance = json.loads((tmp_path / "weights" / "provenance.json").read_text())
    assert provenance["squad, valid"]["brevity"] == 0.5
    assert provenance["squad, valid"]["questions"] == 3


@pytest.mark.parametrize("brevity", ["-0.1", "nan", "inf"])
def test_longer_spans_are_never_preferred(tmp_path: Path, brevity: str) -> None:
    (tmp_path / "long.toml").write_text(f"[export]\nbrevity = {brevity}\n")
    with pytest.raises(SettingsError, match=r"export\.brevity must be 0 or above, not"):
        make_settings(tmp_path / "long.toml")


@pytest.mark.parametrize("name", ["drqa.toml", "drqa-again.toml"])
def test_the_recipes_are_those_of_the_shipped_trainings(name: str) -> None:
    settings = make_settings(DEFAULT.with_name(name))
    shipped = json.loads((SHIPPED / "drqa" / "provenance.json").read_text())
    trained = shipped["training"] if name == "drqa-again.toml" else shipped["start"]["training"]
    assert asdict(settings.network) == trained["task"]["settings"].pop("network")
    assert asdict(settings.task) == trained["task"]["settings"]
    ours, theirs = asdict(settings.loop), trained["settings"]
    for told in (ours, theirs):
        told.pop("checkpoint_every")  # touches nothing that is learnt
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


def test_curated_questions_find_their_passages_in_a_library(inputs: Path, tmp_path: Path) -> None:
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
    said: list[str] = []
    plain, more = tmp_path / "plain", tmp_path / "more"
    places = [
        Places(data, plain, inputs / "glove.txt", inputs / "pretrained"),
        Places(data, more, inputs / "glove.txt", inputs / "pretrained", None, tmp_path / "library", ("curatedtrec",)),
    ]
    for place in places:
        settings = make_settings(inputs / "settings.toml")
        DrQAMaker(settings, place, "cpu", said.append, tiny_drqa.tagging, tiny_inputs.present).material()
    assert "material: curatedtrec: 1 of 2 questions have a passage with an answer" in said
    without, with_it = (load_file(folder / "drqa.safetensors") for folder in (plain, more))
    assert len(with_it["question"]) == len(without["question"]) + 1
    assert with_it["valid"][-1] == 0
    assert with_it["spans"][-1].tolist() == [6, 7]
