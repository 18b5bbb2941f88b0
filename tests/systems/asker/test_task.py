"""Questions for the reader that a network asks: its training, what it draws, and what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the reader's material needs tokenizers: pip install 'wherefrom[train]'")

import numpy
import torch
from safetensors.numpy import save_file

from systems.colours import READER, TINY, passages, spelled, tokenizer
from train.contract import TaskContract
from wherefrom.networks.spans import HeadSettings, ReaderNetwork
from wherefrom.systems.asker.asking import AskedQuestion, answered, ask, extended, unasked, written
from wherefrom.systems.asker.network import QuestionDecoderSettings
from wherefrom.systems.asker.settings import AskingSettings
from wherefrom.systems.asker.task import AskerTask, AskerTaskSettings
from wherefrom.systems.reader.material import MaterialBuilder
from wherefrom.systems.reader.task import ReaderTask
from wherefrom.train.encoders import Teacher
from wherefrom.train.material import Material

SETTINGS = AskerTaskSettings(max_tokens=32, tokens=400, answers=1, classify=1, separate=2, valid_questions=4)
NETWORK = QuestionDecoderSettings(layers=1, longest=12, longest_answer=3, dropout=0.0)


@pytest.fixture
def asked_about(tmp_path: Path) -> Path:
    """Eight SQuAD questions, each with another passage that no question is about, and one kept for validation."""
    collected = MaterialBuilder(tokenizer())
    made = passages()
    for number in range(4):
        gold, other = made[number], made[number + 4]
        colour = gold.text.split()[1]
        at = gold.text.index(colour)
        for form in ("what {} is here ?", "where is the {} ?"):
            question = form.format(gold.title)
            collected.add("squad", question, gold, [(at, at + len(colour))], [other], valid=number == 3)
    path = tmp_path / "asked-about.safetensors"
    collected.write(path, {})
    return path


def teacher() -> Teacher:
    return Teacher(ReaderNetwork(TINY, HeadSettings(inner=8)).eval())


class TestContract(TaskContract):
    """AskerTask is a Task."""

    near_zero = 0.5  # two questions about one passage and one answer: half a bit a token cannot be learnt
    steps = 200
    learning_rate = 0.01

    @pytest.fixture
    def task(self, asked_about: Path) -> AskerTask:
        return AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)


def test_the_answer_and_the_question_are_where_they_should_be(asked_about: Path) -> None:
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    batches = task.batches(0, 1)
    seen = set()
    for number in range(len(batches)):
        batch = batches[number]
        for row in range(len(batch.tokens)):
            answer = spelled(batch.tokens[row][int(batch.first[row]) : int(batch.last[row]) + 1].tolist())
            question = spelled(batch.question[row][batch.question_mask[row]].tolist())
            assert answer in ("red", "blue", "green")
            assert question.startswith("[CLS] wh")
            assert question.endswith("? [SEP]")
            seen.add(question)
    assert len(seen) == 6  # those about the fourth passage are kept for validation


def test_a_long_passage_is_cut_around_its_answer(asked_about: Path) -> None:
    task = AskerTask(
        asked_about, TINY, None, AskerTaskSettings(max_tokens=6, tokens=400, classify=1, separate=2), NETWORK
    )
    batch = task.batches(0, 1)[0]
    for row in range(len(batch.tokens)):
        assert spelled([int(batch.tokens[row][int(batch.first[row])])]) in ("red", "blue", "green")


def test_what_comes_next_is_one_distribution_whichever_way_it_is_asked_for(asked_about: Path) -> None:
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    torch.manual_seed(1)
    model = task.model().eval()
    batch = task.batches(0, 1)[0]
    with torch.no_grad():
        states = model.read(batch.tokens, batch.mask)
        next_one = model.following(states, batch.mask, batch.tokens, batch.question[:, :3])
        written_before, wanted = batch.question[:, :3], batch.question[:, 1:4]
        chances = model.log_chances(states, batch.mask, batch.tokens, written_before, wanted)[:, -1]
    torch.testing.assert_close(next_one.sum(1), torch.ones(len(next_one)))
    torch.testing.assert_close(torch.log(next_one.gather(1, batch.question[:, 3:4]))[:, 0], chances)


def test_questions_are_drawn_within_their_bounds(asked_about: Path) -> None:
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    torch.manual_seed(1)
    batch = task.batches(0, 1)[0]
    question, length = written(task.model().eval(), batch.tokens, batch.mask, SETTINGS, AskingSettings(shortest=3))
    assert question.shape[1] <= NETWORK.longest
    for row in range(len(question)):
        tokens = question[row][: int(length[row])].tolist()
        assert not {0, 1, 2} & set(tokens)
        assert len(tokens) == 0 or len(tokens) >= 3


def test_the_teacher_reads_question_and_passage_in_their_places(asked_about: Path) -> None:
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    batch = task.batches(0, 1)[0]
    read = {}

    class Listening(ReaderNetwork):
        def forward(self, tokens, mask, passage, types=None):  # type: ignore[no-untyped-def]
            read.update(tokens=tokens, mask=mask, passage=passage)
            return super().forward(tokens, mask, passage, types)

    length = batch.question_mask.sum(1) - 2
    listening = Teacher(Listening(TINY, HeadSettings(inner=8)).eval())
    answers = answered(listening, batch.tokens, batch.mask, batch.question[:, 1:], length, SETTINGS)
    for row in range(len(batch.tokens)):
        words = spelled(read["tokens"][row][read["mask"][row]].tolist())
        question = spelled(batch.question[row][batch.question_mask[row]].tolist())
        passage = spelled(batch.tokens[row][batch.mask[row]].tolist()).removeprefix("[CLS] ")
        assert words == f"{question} {passage}"
        assert spelled(read["tokens"][row][read["passage"][row]].tolist()) == passage.removesuffix(" [SEP]")
        assert 0 <= int(answers.first[row]) <= int(answers.last[row]) < len(passage.split())


def test_only_passages_that_nobody_asked_about_are_asked_about(asked_about: Path) -> None:
    loaded = Material(asked_about)
    free, example = unasked(loaded)
    others = {passage for number in range(8) for passage in loaded.others(number)}
    golds = set(loaded.column("gold").tolist())
    held = {passage for number in range(8) if loaded.column("valid")[number] for passage in loaded.others(number)}
    assert set(free.tolist()) == others - golds - held
    assert len(free) == 3
    assert all(
        passage in loaded.others(number) for passage, number in zip(free.tolist(), example.tolist(), strict=True)
    )


def test_kept_questions_become_examples_that_a_reader_learns_from(asked_about: Path, tmp_path: Path) -> None:
    loaded = Material(asked_about)
    torch.manual_seed(1)
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    asking = AskingSettings(batch=2, shortest_passage=2, shortest=2, relevance=0.0)
    steps = list(ask(loaded, task.model().eval(), teacher(), torch.device("cpu"), SETTINGS, asking))
    assert [(done, whole) for done, whole, _ in steps] == [(2, 3), (3, 3)]
    kept = [one for _, _, some in steps for one in some]
    kept = kept or [AskedQuestion(int(unasked(loaded)[0][0]), 0, numpy.array([5, 6, 7]), 1, 1)]
    save_file(extended(loaded, kept, 4), tmp_path / "more.safetensors")
    more = Material(tmp_path / "more.safetensors")
    assert len(more.column("gold")) == 8 + len(kept)
    assert numpy.flatnonzero(more.of_source("asked")).tolist() == list(range(8, 8 + len(kept)))
    for number, asked in enumerate(kept, start=8):
        assert more.column("gold")[number] == asked.passage
        assert more.spans(number) == [(asked.first, asked.last)]
        assert more.others(number) == [other for other in loaded.others(asked.example) if other != asked.passage]
        assert more.text("question", more.column("question")[number]).tolist() == asked.tokens.tolist()
    reader = ReaderTask(tmp_path / "more.safetensors", TINY, None, READER)
    assert sum(reader.size(batch) for batch in reader.batches(0, 1)) == 6 + len(kept)


def test_squads_own_passages_are_asked_about_again(asked_about: Path) -> None:
    loaded = Material(asked_about)
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    torch.manual_seed(1)
    asking = AskingSettings(batch=64, shortest_passage=2, shortest=1, relevance=0.0, most=1, again=20)
    (step,) = ask(loaded, task.model().eval(), teacher(), torch.device("cpu"), SETTINGS, asking)
    assert step[:2] == (61, 61)  # one that nobody asks about, twenty times the three that training questions are about
    column = loaded.column
    training = {int(gold) for gold, valid in zip(column("gold"), column("valid"), strict=True) if not valid}
    about = {asked.passage for asked in step[2]}
    assert about <= training | set(unasked(loaded)[0].tolist())
    assert about & training
    for asked in step[2]:
        assert column("gold")[asked.example] == asked.passage or asked.passage in loaded.others(asked.example)
