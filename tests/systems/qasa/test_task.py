"""QASA's training: lists, labels, the negatives of Algorithm 3.1, and what is learnt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch

from systems.qasa.small import KNOWN, NETWORK, builder, example, vectors, write_lists, write_unlike_lists
from train.contract import TaskContract
from wherefrom.data.examples import whole
from wherefrom.systems.contract import NotTrained, Wanted
from wherefrom.systems.qasa.about import Inputs
from wherefrom.systems.qasa.lists import ListsBuilder, PassageLists, gold_context
from wherefrom.systems.qasa.settings import LOOP, ListSettings, QasaNetworkSettings, QasaSettings, QasaTaskSettings
from wherefrom.systems.qasa.system import measure, scores_of
from wherefrom.systems.qasa.task import QasaTask, shares
from wherefrom.train.loop import fit, fitted, trained
from wherefrom.train.seeds import seed_everything
from wherefrom.train.task import Adapting

SMALL = QasaTaskSettings(batch=4, each=3, positives=0, ready=0.0)


@pytest.fixture
def task(tmp_path: Path) -> QasaTask:
    return QasaTask(write_lists(tmp_path / "lists.safetensors"), NETWORK, SMALL)


class TestContract(TaskContract):
    """QasaTask is a Task."""

    @pytest.fixture
    def task(self, tmp_path: Path) -> QasaTask:
        return QasaTask(write_lists(tmp_path / "lists.safetensors"), NETWORK, SMALL)


def test_what_holds_the_answer_is_positive_and_its_own_place_is_known() -> None:
    made = builder(1)
    assert made.list_positive[:6] == [False, False, False, False, True, True]
    assert made.list_gold[:6] == [False] * 5 + [True]
    assert gold_context(example(0), 2) == ["house", "is", "red", "and", "old"]
    assert made.counted()["dev, first 10"] == {
        "questions": 1,
        "with a positive": 1,
        "with the gold place": 1,
        "positives": 2,
        "positives that are not the gold place": 1,
    }


def test_passages_that_share_no_word_are_dropped_before() -> None:
    passages = [whole("a", "Boats sail."), whole("b", "The house is red.")]
    made = ListsBuilder(ListSettings())
    made.add(example(0), passages, False)
    assert (made.dropped, made.list_until) == (1, [1])
    kept = ListsBuilder(ListSettings(prefilter="none"))
    kept.add(example(0), passages, False)
    assert (kept.dropped, kept.list_until) == (0, [2])


def test_words_come_back_with_their_vectors_and_letters(tmp_path: Path) -> None:
    lists = PassageLists(write_lists(tmp_path / "lists.safetensors"))
    words = lists.text(int(lists.column("question_text")[0]))
    (house,) = [
        number for number in words.tolist() if lists.column("letters")[number].tolist()[:5] == [8, 15, 21, 19, 5]
    ]
    assert lists.column("vectors")[house].tolist() == pytest.approx(vectors()[KNOWN.index("house")].tolist(), abs=1e-2)
    assert list(lists.of(1, 3)) == [6, 7, 8]


def test_negatives_are_random_until_it_does_not_improve(task: QasaTask) -> None:
    assert isinstance(task, Adapting)
    seed_everything("negatives")
    model = task.model().eval()
    with torch.no_grad():
        assert task.adapt(model, 0) == {}
        state = task.adapt(model, 1)
        scores = task.scores(model, [0])[0]
    hardest = sorted(range(4), key=lambda place: -scores[place])[:3]  # four of the six hold no answer
    assert state["hard"][0].tolist() == hardest
    assert state["hard"].shape == (8, 3)
    first = task.batches(0, 0)
    task.adapted(state)
    again = task.batches(0, 0)
    assert first.plan == again.plan
    row = again.plan[0][0]
    batch = again[0]
    own = batch.passages.words[batch.group == 0]
    assert len(own) == 5  # both positives, and the three
    wanted = task._batch([row], [[6 * row + 4, 6 * row + 5, *state["hard"][row].tolist()]])
    assert sorted(batch.passages.lengths[batch.group == 0].tolist()) == sorted(wanted.passages.lengths.tolist())
    task.adapted({})
    assert len(task.batches(1, 0)[0].positive) == 4 * 5


@pytest.mark.parametrize(("negatives", "stale", "hard"), [("random", 2, False), ("hard", 0, True), ("mixed", 0, False)])
def test_negatives_may_be_of_one_sort(task: QasaTask, negatives: str, stale: int, hard: bool) -> None:
    other = QasaTask(task._lists.path, NETWORK, replace(SMALL, negatives=negatives))  # type: ignore[arg-type]
    with torch.no_grad():
        assert bool(other.adapt(other.model().eval(), stale)) == hard


def test_shares_count_all_questions_those_without_a_positive_too() -> None:
    ranked = [[False, True], [True], [False, False, False, False, True], []]
    assert shares(ranked) == {"top_1": 25.0, "top_3": 50.0, "top_5": 75.0, "ceiling": 75.0}


def test_it_learns_to_rank_above_the_index_and_rows_find_it(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    path = write_lists(tmp_path / "work" / "lists.safetensors")
    loop = replace(LOOP, epochs=12, learning_rate=0.02, patience=6)
    settings = QasaSettings(network=NETWORK, task=SMALL, loop=loop)
    row = Wanted("qasa", reported=("top_1", "top_3"), may_train=True)
    inputs = Inputs(tmp_path)
    with pytest.raises(NotTrained, match="--train"):
        measure(settings, inputs, replace(row, may_train=False), tmp_path / "work", lambda _: None)
    first = measure(settings, inputs, row, tmp_path / "work", lambda _: None)
    assert first.metrics == {"top_1": 1.0, "top_3": 1.0}
    assert measure(settings, inputs, replace(row, may_train=False), tmp_path / "work", lambda _: None) == first
    (folder,) = (tmp_path / "work").glob("qasa-*")
    task = QasaTask(path, NETWORK, SMALL)
    scores = scores_of(task, folder / "training", "cpu")
    assert scores["index"]["top_3"] == 0.0
    assert set(scores["questions"].values()) == {1}


def test_what_has_learnt_nothing_learns_on_from_random_negatives(task: QasaTask, tmp_path: Path) -> None:
    """Those it ranks highest are what it likes by accident: learning from them alone turns its order upside down."""
    careful = QasaTask(task._lists.path, NETWORK, replace(SMALL, ready=2.0))
    fresh = careful.model().eval()
    with torch.no_grad():
        fresh.judge.weight.zero_()  # all scores are equal: the index's order, in which the first is never right here
        assert careful.adapt(fresh, 3) == {}
        assert task.adapt(fresh, 3)
    loop = replace(LOOP, epochs=12, learning_rate=0.02, patience=0)
    fitted(careful, loop, tmp_path / "learnt", say=lambda _: None)
    with torch.no_grad():
        assert careful.adapt(trained(careful, tmp_path / "learnt"), 3)


@pytest.mark.parametrize("encoder", ["attentive", "question_style"])
def test_with_its_dropout_it_learns_a_handful_of_questions_in_sixty_steps(tmp_path: Path, encoder: str) -> None:
    """With word vectors and states dropped as well, it took twice as many."""
    sizes = {"character": 4, "character_hidden": 4, "hidden": 24, "condensed": 24, "encoding": 24}
    network = QasaNetworkSettings(encoder, attention=24, scoring=24, **sizes)  # type: ignore[arg-type]
    assert network.dropout > 0
    lists = write_unlike_lists(tmp_path / "lists.safetensors")
    task = QasaTask(lists, network, replace(SMALL, negatives="random"))
    loop = replace(LOOP, epochs=20, learning_rate=0.01, patience=0)
    last = list(fit(task, loop, tmp_path / "training"))[-1]
    assert last.step == 60
    assert last.metrics["top_1"] == 100


def test_killed_while_it_learns_from_hard_negatives_it_ends_alike(tmp_path: Path) -> None:
    lists = write_lists(tmp_path / "lists.safetensors")
    settings = replace(SMALL, negatives="hard")
    loop = replace(LOOP, epochs=3, patience=0, checkpoint_every=1, report_every=1)
    fitted(QasaTask(lists, NETWORK, settings), loop, tmp_path / "whole", say=lambda _: None)
    reports = fit(QasaTask(lists, NETWORK, settings), loop, tmp_path / "killed")
    for _ in range(3):  # an epoch has two steps
        next(reports)
    del reports
    fitted(QasaTask(lists, NETWORK, settings), loop, tmp_path / "killed", say=lambda _: None)
    whole_one, killed = (
        trained(QasaTask(lists, NETWORK, settings), tmp_path / name).state_dict() for name in ("whole", "killed")
    )
    assert all(torch.equal(whole_one[name], killed[name]) for name in whole_one)
