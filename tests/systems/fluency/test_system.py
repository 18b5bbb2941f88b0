"""Making what tells well-formed sentences from garbled ones."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path

import numpy
import pytest

pytest.importorskip("torch", reason="training needs torch")

from wherefrom.errors import NotFound, SettingsError
from wherefrom.features.fluency import FILE, Fluency, SeenText, ToldAnswer
from wherefrom.features.tags import Tagger
from wherefrom.runtime.weights import Weights
from wherefrom.systems.fluency import material, system
from wherefrom.systems.fluency.about import Inputs
from wherefrom.train.stages import read_json, run

TOLD = ToldAnswer("When did the old mill burn down?", "in 1908", "The old mill burned down in 1908.")


@pytest.mark.parametrize(("name", "way"), material._WAYS)
def test_a_way_to_garble_changes_the_sentence(name: str, way: material._Way) -> None:
    statement = ToldAnswer(
        "Which old mill does Ann own in the town?", "the red mill", "Ann owns the red mill in the town."
    )
    made = {way(statement, random.Random(seed)) for seed in range(20)} - {"", statement.sentence}
    assert made, name
    assert all(garbled.endswith(".") and garbled[0].isupper() for garbled in made)


def test_a_verb_keeps_the_questions_form() -> None:
    assert material._base_form(TOLD, random.Random(1)) == "The old mill burn down in 1908."


def _data(folder: Path) -> Path:
    """Datasets of a few sentences each, in their own formats."""
    colours, towns = ("red", "blue", "green", "old"), ("Ayr", "Bath", "Cork", "Dover", "Ely")
    rows = [
        (f"How did Ann paint the {thing} of {town} ?", f"{colour}", f"Ann painted the {thing} of {town} {colour} .")
        for thing in ("mill", "gate", "door")
        for town in towns
        for colour in colours
    ]
    header = "dataset\texample_uid\tquestion\tanswer\tturker_answer\trule-based"
    for split, some in (("train", rows[10:]), ("valid", rows[:10])):
        lines = [f"X\t{split}{n}\t{q}\t{a}\t{s}\tAnn did paint of {a} ." for n, (q, a, s) in enumerate(some)]
        _write(folder / "qa2d" / f"{split}.tsv.xz", "\n".join([header, *lines]) + "\n")
    paragraph = {"context": "The sea is wide.", "qas": []}
    squad = {"version": "1.1", "data": [{"title": "Sea", "paragraphs": [paragraph]}]}
    _write(folder / "squad" / "valid-v1.1.json.xz", json.dumps(squad))
    vanilla = [
        {
            "question_id": n,
            "question": f"Where was Bob{n} born?",
            "answer": "Rome",
            "answer_sentence": f"Bob{n} was born in Rome.",
        }
        for n in range(20)
    ]
    _write(folder / "full_sentence/vanilla/train.jsonl.xz", "".join(json.dumps(row) + "\n" for row in vanilla))
    others = [
        {"uid": str(n), "question": "Who owns it?", "verbalized_answer": "[Eve] owns it.", "query": ""}
        for n in range(3)
    ]
    for name in ("vquanda", "paraqa"):
        _write(folder / f"full_sentence/{name}/train.json.xz", json.dumps(others))
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode()))


def test_made_from_datasets_to_weights_that_numpy_runs_alike(tmp_path: Path) -> None:
    data = _data(tmp_path / "data")
    settings = system.FluencySettings(width=16, layers=2, epochs=4, batch=16)
    run(
        "fluency",
        system.stages(settings, Inputs(data=data), tmp_path / "out", print),
        tmp_path / "out",
        say=lambda _: None,
    )
    weights = tmp_path / "out" / "weights"
    facts = read_json(weights / "provenance.json")["stages"]
    assert facts["material"]["facts"]["human"] >= 80
    figures = facts["fit"]["facts"]["held out"]
    assert figures["AUC"] > 0.5
    assert figures["human"] + figures["garbled"] == facts["material"]["facts"]["held out"]
    assert (weights / FILE).stat().st_size < 1_000_000
    (chance,) = Fluency(Weights(weights), Tagger(Weights.named("tagger"))).chances([TOLD])
    assert chance == pytest.approx(_by_torch(weights, settings, TOLD), abs=1e-3)


def _by_torch(weights: Path, settings: system.FluencySettings, statement: ToldAnswer) -> float:
    import torch

    from wherefrom.features.fluency import seen
    from wherefrom.systems.fluency.network import FluencyNetwork, Texts

    network = FluencyNetwork(settings.width, settings.layers, 0.0).eval()
    with numpy.load(weights / FILE) as arrays:
        network.load_state_dict({name: torch.from_numpy(array.astype(numpy.float32)) for name, array in arrays.items()})

    def texts(text: SeenText) -> Texts:
        rows, flags = torch.from_numpy(text.rows.astype(numpy.int64))[None], torch.from_numpy(text.flags)[None]
        return Texts(rows, flags, torch.ones(rows.shape[:2]))

    ((question, sentence),) = seen([statement], Tagger(Weights.named("tagger")))
    with torch.no_grad():
        return float(torch.sigmoid(network(texts(sentence), texts(question))))


def test_the_area_under_the_curve() -> None:
    scores, well = numpy.array([0.1, 0.4, 0.35, 0.8]), numpy.array([False, False, True, True])
    assert system._area(scores, well) == pytest.approx(0.75)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="qa2d"):
        system.stages(system.DEFAULTS, Inputs(data=tmp_path), tmp_path, print)[0].made_of()
    with pytest.raises(SettingsError):
        system.FluencySettings(ways=0)
