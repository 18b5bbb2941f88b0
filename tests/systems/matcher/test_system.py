"""Making the matcher: the task contract, the network by hand, and what is written against what was trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the reader's material needs tokenizers: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file, save_file

from systems.colours import passages, tokenizer
from train.contract import TaskContract
from train.tiny_inputs import write_pretrained
from wherefrom.errors import NotFound, SettingsError
from wherefrom.features.matching import Matcher
from wherefrom.runtime.weights import Weights
from wherefrom.systems.matcher.about import Inputs
from wherefrom.systems.matcher.network import MatcherNetwork, list_loss, rarity
from wherefrom.systems.matcher.system import LOOP, MatcherRecipe, export_matcher, stages
from wherefrom.systems.matcher.task import MatcherTask, MatcherTaskSettings
from wherefrom.systems.reader.material import MaterialBuilder
from wherefrom.train.loop import trained
from wherefrom.train.stages import read_json, run

SMALL = MatcherTaskSettings(width=8, shares={"ten-passages": 1}, negatives=3, questions=8, valid=8)


@pytest.fixture
def material(tmp_path: Path) -> Path:
    """Eight questions, each answered by the passage about the colour that it names."""
    collected = MaterialBuilder(tokenizer())
    made = passages()
    for number, passage in enumerate(made):
        colour = passage.text.split()[1]
        at = passage.text.index(colour)
        for valid in (False, True):
            others = [made[(number + step) % 8] for step in (1, 2)]
            collected.add("ten-passages", f"What {colour} is here?", passage, [(at, at + len(colour))], others, valid)
    path = tmp_path / "material.safetensors"
    collected.write(path, {"made": "here"})
    return path


@pytest.fixture
def start(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    save_file({"vectors": torch.randn(tokenizer().get_vocab_size(), 16)}, tmp_path / "start.safetensors")
    return tmp_path / "start.safetensors"


class TestContract(TaskContract):
    """MatcherTask is a Task."""

    near_zero = 0.1
    learning_rate = 0.05

    @pytest.fixture
    def task(self, material: Path, start: Path) -> MatcherTask:
        return MatcherTask([material], start, SMALL)


def test_a_score_is_the_weighted_mean_of_the_nearest() -> None:
    network = MatcherNetwork(torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]]), torch.tensor([1.0, 3.0, 1.0]))
    with torch.no_grad():
        network.worth.fill_(100.0)  # all of what is found counts
        network.scale.fill_(1.0)
        question, real = torch.tensor([[0, 1]]), torch.ones(1, 2, dtype=torch.bool)
        passage, there = torch.tensor([[2, 2, 1], [2, 0, 0]]), torch.tensor([[True, True, False], [True, False, False]])
        scores = network(question, real, passage, there, torch.tensor([0, 0]))
    # 0 is at 0.6 to the third, weight 1; 1 at 0.8, weight 3; what is not there (1 itself) does not count
    assert scores.tolist() == pytest.approx([(0.6 + 3 * 0.8) / 4] * 2)


def test_the_loss_is_that_of_the_first_of_each_question() -> None:
    scores = torch.tensor([2.0, 1.0, 0.0, 5.0, 5.0])
    loss = list_loss(scores, torch.tensor([0, 0, 0, 1, 1]), torch.tensor([0, 1, 2, 0, 1]), 2)
    first = -torch.log_softmax(torch.tensor([2.0, 1.0, 0.0]), dim=0)[0]
    assert loss.item() == pytest.approx((first.item() + 0.6931) / 2, abs=1e-4)


def test_rare_wordpieces_weigh_more() -> None:
    weights = rarity(torch.tensor([0, 9, 1000]), 1000)
    assert weights.tolist() == pytest.approx([6.9078 / 4, 4.6052 / 4, 0.05], abs=1e-3)


def test_lists_begin_with_the_right_passage_and_hold_strangers_where_few_were_retrieved(
    material: Path, start: Path
) -> None:
    task = MatcherTask([material], start, SMALL)
    (lists,) = [task.batches(0, 1)[0]]
    assert lists.place.tolist() == [0, 1, 2, 3] * 8 or len(lists.place) <= 32  # a stranger may be the right one itself
    words = tokenizer()
    for question in range(8):
        asked = words.decode(lists.questions[question][lists.question_mask[question]].tolist())
        own = lists.passages[lists.group == question][0]
        colour = asked.split()[1]
        assert colour in words.decode(own.tolist())


def test_training_puts_the_right_passage_first(material: Path, start: Path, tmp_path: Path) -> None:
    task = MatcherTask([material], start, SMALL)
    before = task.evaluate(task.model())
    from wherefrom.train.loop import fitted

    fitted(task, replace(LOOP, steps=60, evaluate_every=60), tmp_path / "training", say=lambda _: None)
    after = task.evaluate(trained(task, tmp_path / "training"))
    assert after["ten-passages p_1"] == 100 >= before["ten-passages p_1"]


def test_from_material_to_weights(material: Path, tmp_path: Path) -> None:
    pretrained = write_pretrained(tmp_path / "pretrained")
    (pretrained / "minilm").rename(pretrained / "gte")
    recipe = MatcherRecipe(replace(LOOP, steps=3, evaluate_every=3, report_every=1), SMALL)
    inputs, out, said = Inputs(material, pretrained=pretrained), tmp_path / "out", []
    made = stages(recipe, inputs, out, said.append, lambda name, folder: folder / name)
    run("matcher", made, out, None, said.append)
    assert load_file(out / "start.safetensors")["vectors"].shape[1] == 16
    provenance = read_json(out / "weights" / "provenance.json")
    assert set(provenance["stages"]) == {"start", "training", "export"}
    # What numpy says of the written weights is what torch says of the trained network.
    task = MatcherTask([material], out / "start.safetensors", SMALL)
    network = trained(task, out / "training")
    (tmp_path / "reader").mkdir()
    export_matcher(network, tmp_path / "matcher")
    tokenizer().save(str(tmp_path / "reader" / "tokenizer.json"))
    text, question = passages()[0].text, "What red is here?"
    (written,) = Matcher(Weights(tmp_path / "matcher")).scores(question, [text])
    words = tokenizer()
    pieces = [torch.tensor([words.encode(each, add_special_tokens=False).ids]) for each in (question, text)]
    with torch.no_grad():
        masks = [torch.ones_like(each, dtype=torch.bool) for each in pieces]
        score = network(pieces[0], masks[0], pieces[1], masks[1], torch.tensor([0])) / network.scale
    assert written == pytest.approx(score.item(), abs=0.02)  # eight bits


def test_material_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="--material names it"):
        stages(MatcherRecipe(), Inputs(tmp_path / "none"), tmp_path, print)


def test_shares_of_unknown_sources_are_refused() -> None:
    with pytest.raises(SettingsError, match="no source novels"):
        MatcherTaskSettings(shares={"novels": 1})
