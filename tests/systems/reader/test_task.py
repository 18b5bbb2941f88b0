"""The reader's training: its material, how pairs are put together, and the task contract on a tiny network."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the reader's material needs tokenizers: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file

from evaluate.small_data import write_ten_passage_sources
from systems.colours import READER, TINY, passages, spelled, tokenizer
from train.contract import TaskContract
from wherefrom.data.examples import whole
from wherefrom.errors import SettingsError
from wherefrom.evaluate.ten_passages import build
from wherefrom.networks.spans import HeadSettings, ReaderNetwork
from wherefrom.systems.reader.material import MaterialBuilder, prepare
from wherefrom.systems.reader.network import Pupil
from wherefrom.systems.reader.task import ReaderTask, ReaderTaskSettings, noisy
from wherefrom.train.checkpoint import load_weights, save_weights
from wherefrom.train.encoders import Teacher
from wherefrom.train.material import Material, assembled


@pytest.fixture
def material(tmp_path: Path) -> Path:
    """Eight questions to learn, the last two of them held out too; one has no answer."""
    collected = MaterialBuilder(tokenizer())
    made = passages()
    for number, passage in enumerate(made):
        colour = passage.text.split()[1]
        at = passage.text.index(colour)
        question = f"What {passage.title} is {'here' if number < 4 else 'there'}?"
        for valid in (False, True):
            others = [made[(number + 1) % 8]]
            gold = None if number == 7 else passage
            collected.add(
                "ten-passages" if number % 2 else "squad", question, gold, [(at, at + len(colour))], others, valid
            )
    path = tmp_path / "material.safetensors"
    assert collected.write(path, {"made": "here"}) == {"examples": 16, "passages": 8, "left out": 0}
    return path


class TestContract(TaskContract):
    """ReaderTask is a Task."""

    near_zero = 0.2
    steps = 250
    learning_rate = 0.01

    @pytest.fixture
    def task(self, material: Path) -> ReaderTask:
        return ReaderTask(material, TINY, None, READER, heads=HeadSettings(inner=8, dropout=0.0))


def test_pairs_are_question_title_passage_with_the_answer_in_place(material: Path) -> None:
    task = ReaderTask(material, TINY, None, READER)
    batches = task.batches(0, 1)
    seen = 0
    for number in range(len(batches)):
        pairs = batches[number]
        sequences = assembled(Material(material).on(torch.device("cpu")), pairs, READER)
        for row in range(len(pairs.question)):
            text = spelled(sequences.tokens[row][sequences.mask[row]].tolist())
            question, title, passage = (part.strip() for part in text.removeprefix("[CLS]").split("[SEP]")[:3])
            assert question.startswith("what")
            assert passage.startswith("the")
            assert title in passage
            inside = spelled(sequences.tokens[row][sequences.passage[row]].tolist())
            assert inside == passage
            assert sequences.types[row][: text.split().index("[SEP]") + 1].sum() == 0
        for pair, first, last in pairs.gold.tolist():
            begin = int(sequences.first[pair])
            answer = spelled(sequences.tokens[pair][begin + first : begin + last + 1].tolist())
            assert answer in ("red", "blue", "green", "grey")
            assert pairs.relevant[pair]
            seen += 1
    assert seen == 7


def test_the_order_of_epochs_differs_and_repeats(material: Path) -> None:
    task = ReaderTask(material, TINY, None, READER)

    def questions(epoch: int) -> list[list[int]]:
        batches = task.batches(epoch, 1)
        return [batches[number].question.tolist() for number in range(len(batches))]

    assert questions(0) == questions(0)
    assert len({str(questions(epoch)) for epoch in range(4)}) > 1


def test_of_a_source_as_many_are_shown_as_its_share_says(material: Path) -> None:
    def shown(**shares: float) -> int:
        task = ReaderTask(material, TINY, None, replace(READER, shares=shares))
        return sum(task.size(batch) for batch in task.batches(0, 1))

    assert shown() == 8
    assert shown(squad=0.0) == 4
    assert shown(squad=0.0, **{"ten-passages": 0.0, "asked": 1.0}) == 0
    assert shown(squad=2.0) == 12
    assert shown(squad=2.0, **{"ten-passages": 3.0}) == 20


def test_noise_replaces_words_of_some_questions_and_no_separator(material: Path) -> None:
    settings = replace(READER, noise=0.5, noise_tokens=0.4, masked=63)
    task = ReaderTask(material, TINY, None, settings, heads=HeadSettings(inner=8))
    batch = task.batches(0, 1)[0]
    plain = assembled(Material(material).on(torch.device("cpu")), batch, settings)
    words = Material(material)["passage_tokens"]
    torch.manual_seed(3)
    shown = [noisy(plain, batch, words, settings).tokens for _ in range(40)]
    changed = torch.stack([tokens != plain.tokens for tokens in shown])  # (40, pairs, length)
    special = ~plain.mask | (plain.tokens == settings.classify) | (plain.tokens == settings.separate)
    assert not changed[:, special].any()
    assert (torch.stack(shown)[changed] == settings.masked).float().mean().item() == pytest.approx(0.5, abs=0.15)
    untouched = ~changed.any(dim=2)  # (40, pairs): all pairs of a question or none, but for chance
    assert 0.3 < untouched.float().mean().item() < 0.7
    with pytest.raises(SettingsError, match="shares, from 0 to 1"):
        replace(READER, noise=1.5)


def test_noise_is_for_learning_only(material: Path) -> None:
    task = ReaderTask(material, TINY, None, replace(READER, noise=1.0, noise_tokens=0.5, masked=63))
    model, batch = task.model(), task.batches(0, 1)[0]
    losses = {mode: {task.loss(model.train(mode), batch)[0].item() for _ in range(4)} for mode in (True, False)}
    assert len(losses[False]) == 1
    assert len(losses[True]) > 1


def test_a_teacher_is_learnt_from_and_stays_as_it_is(material: Path) -> None:
    teacher = ReaderNetwork(TINY, HeadSettings(inner=8)).requires_grad_(False)
    before = {name: value.clone() for name, value in teacher.state_dict().items()}
    settings = replace(READER, distillation=1.0)
    task = ReaderTask(material, TINY, None, settings, teacher=Teacher(teacher), heads=HeadSettings(inner=8))
    model = task.model()
    loss, parts = task.loss(model, task.batches(0, 1)[0])
    loss.backward()
    assert {"span", "relevance", "truth", "distillation", "soft relevance"} == set(parts)
    assert all(torch.equal(before[name], value) for name, value in teacher.state_dict().items())
    with pytest.raises(SettingsError, match="need a teacher"):
        ReaderTask(material, TINY, None, settings)


def test_a_teacher_s_states_are_learnt_through_maps_left_behind(material: Path, tmp_path: Path) -> None:
    wide = replace(TINY, width=2 * TINY.width)
    teacher = ReaderNetwork(wide, HeadSettings(inner=8)).requires_grad_(False)
    settings = replace(READER, states=1.0, state_pairs=((0, 0), (TINY.layers, wide.layers)))
    task = ReaderTask(material, TINY, None, settings, teacher=Teacher(teacher), heads=HeadSettings(inner=8))
    model = task.model()
    assert isinstance(model, Pupil)
    batch = task.batches(0, 1)[0]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(40):
        loss, parts = task.loss(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(parts["states"]))
    assert losses[-1] < 0.7 * losses[0]
    save_weights(tmp_path / "pupil.safetensors", model, {})
    reader = ReaderNetwork(TINY, HeadSettings(inner=8))
    load_weights(reader, tmp_path / "pupil.safetensors", without=("match.",))
    assert torch.equal(reader.span.weight, model.span.weight)

    def going_on(chosen: ReaderTaskSettings) -> ReaderNetwork:
        start = tmp_path / "pupil.safetensors"
        return ReaderTask(material, TINY, None, chosen, Teacher(teacher), HeadSettings(inner=8), start=start).model()

    on = going_on(settings).state_dict()
    assert all(torch.equal(value, on[name]) for name, value in model.state_dict().items())  # maps too
    other = going_on(replace(settings, state_pairs=((0, 0),)))
    assert not torch.equal(other.state_dict()["match.0.weight"], model.state_dict()["match.0.weight"])
    assert torch.equal(other.span.weight, model.span.weight)


def test_states_that_are_not_there_are_named(material: Path) -> None:
    teacher = ReaderNetwork(TINY, HeadSettings(inner=8)).requires_grad_(False)
    settings = replace(READER, states=1.0, state_pairs=((1, 99),))
    with pytest.raises(SettingsError, match="state 99"):
        ReaderTask(material, TINY, None, settings, teacher=Teacher(teacher)).model()


def test_every_example_is_drawn_with_its_own_passages(material: Path) -> None:
    task = ReaderTask(material, TINY, None, READER)
    stored = load_file(material)
    example_of = {int(question): number for number, question in enumerate(stored["question"].tolist())}
    batches = task.batches(0, 1)
    seen = 0
    for number in range(len(batches)):
        batch = batches[number]
        for pair in range(len(batch.question)):
            question, passage = int(batch.question[pair]), int(batch.passage[pair])
            mine = [n for n, q in enumerate(stored["question"].tolist()) if q == question]
            allowed = {int(stored["gold"][n]) for n in mine}
            for n in mine:
                allowed |= set(stored["others"][stored["others_until"][n] : stored["others_until"][n + 1]].tolist())
            assert passage in allowed
            assert bool(batch.relevant[pair]) == (passage in {int(stored["gold"][n]) for n in mine})
            seen += 1
    assert seen >= len(example_of) - int(stored["valid"].sum())


def test_answers_that_no_token_holds_are_left_out(tmp_path: Path) -> None:
    collected = MaterialBuilder(tokenizer())
    collected.add("squad", "who?", whole("p", "the red house"), [(50, 60)], (), valid=False)
    assert collected.left_out == 1


def test_a_long_passage_is_cut_around_its_answer(tmp_path: Path) -> None:
    text = "the tree grows. " * 400 + "the red boat sails."
    at = text.index("red")
    collected = MaterialBuilder(tokenizer())
    collected.add("squad", "what sails?", whole("p", text), [(at, at + 3)], (), valid=False)
    path = tmp_path / "m.safetensors"
    collected.write(path, {})
    tensors = load_file(path)
    (first, last), tokens = tensors["spans"][0].tolist(), tensors["passage_tokens"].tolist()
    assert len(tokens) == 480
    assert spelled(tokens[first : last + 1]) == "red"


def test_prepare_joins_squad_with_the_ten_passages(tmp_path: Path) -> None:
    data = write_ten_passage_sources(tmp_path / "data")
    build(data, tmp_path / "ten")
    for name, lines in (("more_reading/quoref.jsonl", ""), ("nq_oracle/train.jsonl", "")):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(lines)
    row = {
        "question": "who sails?",
        "answers": ["boat"],
        "ctxs": [{"title": "B", "text": "The boat sails.", "isgold": True}],
    }
    (data / "nq_oracle" / "train.jsonl").write_text(json.dumps(row) + "\n")
    quoref = {"input": "Passage: The lamp is here.\nQuestion: Who is here?", "target": ["lamp"]}
    (data / "more_reading" / "quoref.jsonl").write_text(json.dumps(quoref) + "\n")
    (data / "wikiqa").mkdir()
    head = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    (data / "wikiqa" / "WikiQA-train.tsv").write_text(head + "Q1\twho is there\tD1\tSea\tD1-0\tThe tree grows.\t0\n")
    file = tmp_path / "tokenizer.json"
    tokenizer().save(str(file))
    counts = prepare(data, tmp_path / "ten", file, tmp_path / "reader.safetensors")
    prepare(data, tmp_path / "ten", file, tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "reader.safetensors").read_bytes()
    tensors = load_file(tmp_path / "reader.safetensors")
    with gzip.open(tmp_path / "ten" / "train.jsonl.gz", "rt") as lines:
        train = sum(1 for _ in lines)
    assert counts["examples"] == len(tensors["gold"]) >= 2 * train
    assert int(tensors["valid"].sum()) == 2 * 12
    assert set(tensors["source"].tolist()) == {0, 1, 2, 3, 4}
    unanswerable = tensors["gold"] < 0
    assert bool(unanswerable.any())
    assert not bool((tensors["spans_until"][1:] - tensors["spans_until"][:-1])[unanswerable].any())


def test_material_beside_comes_behind_and_means_the_same(material: Path, tmp_path: Path) -> None:
    """Texts, spans and other passages of the second file are those of its own, whatever their numbers were."""
    collected = MaterialBuilder(tokenizer())
    first, second = passages()[:2]
    colour = first.text.split()[1]
    at = first.text.index(colour)
    collected.add("manuals", "What is new here?", first, [(at, at + len(colour))], [second], valid=False)
    collected.add("manuals", "Is it?", second, (), (), valid=False, truth=True)
    collected.add("manuals", "Why is it?", None, (), [first], valid=False)
    path = tmp_path / "beside.safetensors"
    collected.write(path, {})
    alone, both = Material(path), Material(material, path)
    assert len(both.column("question")) == 19
    for number in range(3):
        place = 16 + number
        for name, column in (("question", "question"), ("passage", "gold")):
            ours, other = int(both.column(column)[place]), int(alone.column(column)[number])
            if other < 0:
                assert ours < 0
            else:
                assert both.text(name, ours).tolist() == alone.text(name, other).tolist()
        assert both.spans(place) == alone.spans(number)
        assert [both.text("passage", n).tolist() for n in both.others(place)] == [
            alone.text("passage", n).tolist() for n in alone.others(number)
        ]
        assert both.column("truth")[place] == alone.column("truth")[number]
    assert both.spans(0) == Material(material).spans(0)


def test_yes_and_no_are_learnt_and_are_no_spans(material: Path, tmp_path: Path) -> None:
    collected = MaterialBuilder(tokenizer())
    for number, passage in enumerate(passages()):
        collected.add("boolq", f"Is {passage.title} here?", passage, (), (), valid=False, truth=number % 2 == 0)
    path = tmp_path / "yes-no.safetensors"
    collected.write(path, {})
    task = ReaderTask(path, TINY, None, READER, heads=HeadSettings(inner=8, dropout=0.0))
    model = task.model()
    loss, parts = task.loss(model, task.batches(0, 1)[0])
    loss.backward()
    assert float(parts["truth"]) > 0
    assert float(parts["span"]) == 0
    assert model.truth.weight.grad is not None
    assert float(model.truth.weight.grad.abs().sum()) > 0


def test_a_teacher_is_listened_to_only_on_what_it_knows(material: Path) -> None:
    teacher = ReaderNetwork(TINY, HeadSettings(inner=8)).requires_grad_(False)

    def learned(*sources: str) -> float:
        settings = replace(READER, distillation=1.0, taught=sources)
        task = ReaderTask(material, TINY, None, settings, teacher=Teacher(teacher), heads=HeadSettings(inner=8))
        torch.manual_seed(1)
        model = task.model().eval()
        return float(task.loss(model, task.batches(0, 1)[0])[1]["distillation"])

    assert learned("squad") > 0
    assert learned("boolq") == 0
    assert learned("squad", "ten-passages") == pytest.approx(learned(), rel=1e-5)
