"""Questions for the reader that a network asks: its training, what it draws, and what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the reader's material needs tokenizers: pip install 'wherefrom[train]'")

import numpy
import torch

from train.contract import TaskContract
from systems.reader.test_task import TINY, material, passages, spelled, tokenizer  # noqa: F401
from wherefrom.networks.spans import HeadSettings, ReaderNetwork
from wherefrom.systems.asker.network import AskerSettings
from wherefrom.systems.asker.task import (
    AskerTask,
    AskerTaskSettings,
    AskingSettings,
    answered,
    ask,
    extended,
    main,
    unasked,
    written,
)
from wherefrom.systems.reader.material import Material as Collected
from wherefrom.systems.reader.task import ASKED, ReaderTask
from wherefrom.train.material import Material

SETTINGS = AskerTaskSettings(max_tokens=32, tokens=400, answers=1, classify=1, separate=2, valid_questions=4)
NETWORK = AskerSettings(layers=1, longest=12, longest_answer=3, dropout=0.0)


@pytest.fixture
def asked_about(tmp_path: Path) -> Path:
    """Eight SQuAD questions, each with another passage that no question is about, and one kept for validation."""
    collected = Collected(tokenizer())
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
            question = spelled(batch.question[row][batch.said[row]].tolist())
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
        said = model.asked(states, batch.mask, batch.tokens, batch.question[:, :3], batch.question[:, 1:4])[:, -1]
    torch.testing.assert_close(next_one.sum(1), torch.ones(len(next_one)))
    torch.testing.assert_close(torch.log(next_one.gather(1, batch.question[:, 3:4]))[:, 0], said)


def test_questions_are_drawn_within_their_bounds(asked_about: Path) -> None:
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    torch.manual_seed(1)
    batch = task.batches(0, 1)[0]
    question, length = written(task.model().eval(), batch.tokens, batch.mask, SETTINGS, AskingSettings(shortest=3))
    assert question.shape[1] <= NETWORK.longest
    for row in range(len(question)):
        said = question[row][: int(length[row])].tolist()
        assert not {0, 1, 2} & set(said)
        assert len(said) == 0 or len(said) >= 3


def test_the_teacher_reads_question_and_passage_in_their_places(asked_about: Path) -> None:
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    batch = task.batches(0, 1)[0]
    heard = {}

    class Listening(ReaderNetwork):
        def forward(self, tokens, mask, passage, types=None):  # type: ignore[no-untyped-def]
            heard.update(tokens=tokens, mask=mask, passage=passage)
            return super().forward(tokens, mask, passage, types)

    length = batch.said.sum(1) - 2
    teacher = Listening(TINY, HeadSettings(inner=8)).eval()
    told = answered(teacher, None, batch.tokens, batch.mask, batch.question[:, 1:], length, SETTINGS)
    for row in range(len(batch.tokens)):
        words = spelled(heard["tokens"][row][heard["mask"][row]].tolist())
        question = spelled(batch.question[row][batch.said[row]].tolist())
        passage = spelled(batch.tokens[row][batch.mask[row]].tolist()).removeprefix("[CLS] ")
        assert words == f"{question} {passage}"
        assert spelled(heard["tokens"][row][heard["passage"][row]].tolist()) == passage.removesuffix(" [SEP]")
        assert 0 <= int(told.first[row]) <= int(told.last[row]) < len(passage.split())


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
    from safetensors.numpy import save_file

    from systems.reader.test_task import SETTINGS as READER

    loaded = Material(asked_about)
    torch.manual_seed(1)
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    asking = AskingSettings(batch=2, shortest_passage=2, shortest=2, relevance=0.0)
    steps = list(
        ask(
            loaded,
            task.model().eval(),
            ReaderNetwork(TINY, HeadSettings(inner=8)).eval(),
            None,
            torch.device("cpu"),
            SETTINGS,
            asking,
        )
    )
    assert [(done, whole) for done, whole, _ in steps] == [(2, 3), (3, 3)]
    kept = [one for _, _, some in steps for one in some]
    kept = kept or [(int(unasked(loaded)[0][0]), 0, numpy.array([5, 6, 7]), 1, 1)]
    save_file(extended(loaded, kept, 4), tmp_path / "more.safetensors")
    more = Material(tmp_path / "more.safetensors")
    assert len(more.column("gold")) == 8 + len(kept)
    for number, (passage, example, question, first, last) in enumerate(kept, start=8):
        assert more.column("gold")[number] == passage
        assert more.column("source")[number] == ASKED
        assert more.spans(number) == [(first, last)]
        assert more.others(number) == [other for other in loaded.others(example) if other != passage]
        starts = more.column("question_starts")
        place = more.column("question")[number]
        assert more.column("question_tokens")[starts[place] : starts[place + 1]].tolist() == question.tolist()
    reader = ReaderTask(tmp_path / "more.safetensors", TINY, None, READER)
    assert sum(reader.size(batch) for batch in reader.batches(0, 1)) == 6 + len(kept)


def test_what_is_missing_on_the_command_line_is_named(asked_about: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for stage, wanted in (
        ("fit", "fit needs --start, --config"),
        ("ask", "ask needs --pretrained, --teacher, --asked"),
    ):
        with pytest.raises(SystemExit):
            main([stage, "--material", str(asked_about), "--out", "nowhere"])
        assert wanted in capsys.readouterr().err


def test_squads_own_passages_are_asked_about_again(asked_about: Path) -> None:
    loaded = Material(asked_about)
    task = AskerTask(asked_about, TINY, None, SETTINGS, NETWORK)
    torch.manual_seed(1)
    asking = AskingSettings(batch=64, shortest_passage=2, shortest=1, relevance=0.0, most=1, again=20)
    (step,) = ask(
        loaded,
        task.model().eval(),
        ReaderNetwork(TINY, HeadSettings(inner=8)).eval(),
        None,
        torch.device("cpu"),
        SETTINGS,
        asking,
    )
    assert step[:2] == (61, 61)  # one that nobody asks about, twenty times the three that training questions are about
    column = loaded.column
    training = {int(gold) for gold, valid in zip(column("gold"), column("valid"), strict=True) if not valid}
    about = {passage for passage, *_ in step[2]}
    assert about <= training | set(unasked(loaded)[0].tolist())
    assert about & training
    for passage, example, *_ in step[2]:
        assert column("gold")[example] == passage or passage in loaded.others(example)
