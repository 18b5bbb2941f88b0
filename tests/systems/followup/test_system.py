"""Making what tells which whole question a follow-up means."""

from __future__ import annotations

import csv
import io
import json
import lzma
from pathlib import Path

import numpy
import pytest

pytest.importorskip("torch", reason="training needs torch")
import torch

from wherefrom.errors import NotFound, SettingsError
from wherefrom.features.followups import follow_up
from wherefrom.features.meant import FILE, FollowUps, numbers
from wherefrom.features.tags import Tagger
from wherefrom.runtime.weights import Weights
from wherefrom.systems.followup import system
from wherefrom.systems.followup.about import Inputs
from wherefrom.systems.followup.material import FollowUpMaterial, gold_readings
from wherefrom.systems.followup.network import MeaningNetwork, listwise_loss
from wherefrom.systems.followup.talks import Talk, is_meant
from wherefrom.train.stages import read_json, run
from wherefrom.types import Turn

SETTINGS = system.FollowUpSettings(train=60, valid=20, whole=5, width=8, epochs=2, batch=16)


def _data(folder: Path) -> Path:
    """Datasets of a few questions each, in their own formats."""
    towns = ("Ayr", "Bath", "Cork", "Dover")
    for split in ("train", "valid"):
        articles = []
        for town in towns:
            context = f"{town} has 9 bridges. It was founded by Ann Reid in 1204. The mayor of {town} is Bob Moss."
            asked = {
                f"How many bridges does {town} have?": "9",
                f"Who founded {town}?": "Ann Reid",
                f"Who is the mayor of {town}?": "Bob Moss",
                f"When was {town} founded by Ann Reid?": "1204",
            }
            qas = [
                {"id": f"{split}{town}{n}", "question": q, "answers": [{"text": a, "answer_start": context.index(a)}]}
                for n, (q, a) in enumerate(asked.items())
            ]
            articles.append({"title": town, "paragraphs": [{"context": context, "qas": qas}]})
        _write(folder / "squad" / f"{split}-v1.1.json.xz", json.dumps({"version": "1.1", "data": articles}))
    summaries = [{"document_id": split, "set": split, "summary": "Tom went to sea ."} for split in ("train", "valid")]
    qaps = [
        {"document_id": split, "set": split, "question": question, "answer1": "to sea", "answer2": "sea"}
        for split in ("train", "valid")
        for question in ("Where did Tom go ?", "Why did Tom go to sea ?")
    ]
    _write(folder / "narrativeqa/summaries.csv.xz", _csv(summaries))
    _write(folder / "narrativeqa/qaps.csv.xz", _csv(qaps))
    return folder


def _csv(rows: list[dict[str, str]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode()))


def test_made_from_datasets_to_weights_that_numpy_runs_alike(tmp_path: Path) -> None:
    data, out = _data(tmp_path / "data"), tmp_path / "out"
    run("followup", system.stages(SETTINGS, Inputs(data), out, lambda _: None), out, say=lambda _: None)
    facts = read_json(out / "weights" / "provenance.json")["stages"]
    assert facts["material"]["facts"]["valid"]["made"]["whole"] > 0
    assert facts["fit"]["facts"]["whole questions"]["questions"] == 5
    tagger = Tagger(Weights.named("tagger"))
    turns, typed = [Turn("How many bridges does Ayr have?", "9", "Ayr")], "and who founded it?"
    meanings = FollowUps(Weights(out / "weights"), tagger).meanings(typed, turns)
    with numpy.load(out / "weights" / FILE) as arrays:
        state = {name: torch.from_numpy(array.astype(numpy.float32)) for name, array in arrays.items()}
    network = MeaningNetwork(len(state["mean"]), SETTINGS.width, 0.0)
    network.load_state_dict(state)
    read = follow_up(typed, turns, tagger)
    with torch.no_grad():
        expected = torch.softmax(network.eval()(torch.from_numpy(numbers(read))), 0)
    chances = {meaning.text: meaning.chance for meaning in meanings}
    for reading, chance in zip(read.readings, expected.tolist(), strict=True):
        assert chances[reading.text] == pytest.approx(chance, abs=1e-4)


def test_the_loss_is_that_of_a_softmax_over_each_follow_up() -> None:
    logits = torch.tensor([0.0, 1.0, 2.0, 0.0])
    loss = listwise_loss(logits, torch.tensor([0, 0, 1, 1]), torch.tensor([0.0, 1.0, 1.0, 0.0]), 2)
    first, second = numpy.exp(1) / (1 + numpy.exp(1)), numpy.exp(2) / (1 + numpy.exp(2))
    assert loss.item() == pytest.approx(-(numpy.log(first) + numpy.log(second)) / 2, abs=1e-5)


def test_figures_stand_beside_rules_that_know_less() -> None:
    some = FollowUpMaterial(
        seen=numpy.zeros((4, 1), numpy.float32),
        gold=numpy.array([False, True, True, False]),
        starts=numpy.array([0, 2, 4]),
        ways=numpy.array(["fragment", "whole"]),
        overlap=numpy.array([0.5, 1.0, 1.0, 0.0], numpy.float32),
        simple=numpy.array([1, 1]),
    )
    figures = system.measured(some, numpy.array([0.0, 1.0, 0.0, 1.0], numpy.float32))
    assert (figures["right"], figures["of follow-ups"], figures["of whole questions"]) == (0.5, 1.0, 0.0)
    assert figures["never rewriting"]["of follow-ups"] == 0.0
    assert figures["never rewriting"]["of whole questions"] == 1.0
    assert figures["never rewriting"]["word F1 of follow-ups"] == 0.5


def test_a_reading_is_right_whatever_its_articles_and_capitals() -> None:
    talk = Talk((), "and the canal?", "When was the canal opened?", "fragment")
    assert is_meant("When was Canal opened?", talk)
    assert not is_meant("When was the tunnel opened?", talk)


def test_a_bare_question_word_means_the_first_form_of_the_last_question() -> None:
    turns = (Turn("Who founded Ayr?", "Ann Reid", "Ayr"),)
    read = follow_up("when?", turns, Tagger(Weights.named("tagger")))
    meant = gold_readings(read, Talk(turns, "when?", "", "bare"))
    assert [reading.text for reading, right in zip(read.readings, meant, strict=True) if right] == [
        "When did Ann Reid found Ayr?"
    ]


def test_missing_data_and_senseless_settings_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="--data names the folder"):
        system.stages(SETTINGS, Inputs(tmp_path), tmp_path / "out", lambda _: None)[0].made_of()
    with pytest.raises(SettingsError, match="must be above 0"):
        system.FollowUpSettings(epochs=0)
