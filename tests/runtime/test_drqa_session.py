"""The exported DrQA: the same numbers as the network it was exported from, whatever is read beside it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

pytest.importorskip(
    "torch", reason="exporting needs torch, which a plain install lacks: pip install 'wherefrom[train]'"
)
pytest.importorskip("onnx", reason="exporting needs onnx: pip install 'wherefrom[train]'")

import onnxruntime
import torch

from contracts.stages import ReaderContract
from runtime import tiny_drqa_weights
from runtime.preferring import check_preference
from train import tiny_drqa
from wherefrom.build import build
from wherefrom.config import resolve
from wherefrom.data.examples import whole
from wherefrom.features.tokens import tokens
from wherefrom.read.drqa import DrQAReader, SpanScore, one_hot
from wherefrom.runtime.drqa import DrQASession, Pair, WordVectors
from wherefrom.runtime.weights import Weights, WeightsError
from wherefrom.stages import Reader
from wherefrom.systems.drqa.export import export_drqa, to_onnx
from wherefrom.systems.drqa.material import NER, POS
from wherefrom.systems.drqa.network import DrQANetwork
from wherefrom.systems.drqa.settings import DrQAExportSettings
from wherefrom.systems.drqa.task import DrQAColumns
from wherefrom.train.quantize import eight_bits
from wherefrom.types import Candidate, Hit, Passage, Question

SWITCHES = ("exact", "pos", "ner", "tf", "align", "concat_layers", "bidirectional")


class ByRule:
    """Capitals are proper names of organisations, everything else is a noun and nothing; real, if simple."""

    pos = ("NOUN", "PROPN", "SPACE")
    ner = ("O", "ORG")

    def tag(self, texts: list[str]) -> list[ByRule.Tags]:
        return [ByRule.Tags(text) for text in texts]

    class Tags:
        def __init__(self, text: str) -> None:
            self.pos = self.ner = numpy.array([text[a].isupper() for a, _ in tokens(text)], numpy.uint8)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DrQANetwork, Path]:
    return tiny_drqa_weights.write(tmp_path_factory.mktemp("drqa"))


def reader(folder: Path, candidates: int = 10, span_score: SpanScore = "exp", max_tokens: int = 30) -> DrQAReader:
    return DrQAReader(
        DrQASession(Weights(folder), 2), ByRule(), ByRule.pos, ByRule.ner, candidates, max_tokens, span_score
    )


class TestContract(ReaderContract):
    """DrQAReader is a Reader."""

    @pytest.fixture
    def reader(self, written: tuple[Path, DrQANetwork, Path]) -> Reader:
        return reader(written[0])


@pytest.mark.parametrize("off", [None, *SWITCHES])
def test_the_exported_graph_says_what_the_network_says(off: str | None, tmp_path: Path) -> None:
    settings = replace(tiny_drqa.NETWORK, **{off: False}) if off else tiny_drqa.NETWORK
    folder, network, _ = tiny_drqa_weights.write(tmp_path, settings)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(2)
    asked, told, width = [2, 4, 1], [7, 1, 5], network.settings.width
    question = random.normal(size=(3, 4, width)).astype("f4")
    passage = random.normal(size=(3, 7, width)).astype("f4")
    features = random.normal(size=(3, 7, network.settings.features)).astype("f4")
    found = session.run(
        ["start", "end"],
        {
            "question": question,
            "asked": numpy.array(asked, "i4"),
            "passage": passage,
            "told": numpy.array(told, "i4"),
            "features": features,
        },
    )
    with torch.no_grad():
        wanted = network(
            *map(torch.from_numpy, (question,)), asked, torch.from_numpy(passage), told, torch.from_numpy(features)
        )
    for ours, theirs in zip(found, wanted, strict=True):
        numpy.testing.assert_allclose(ours, theirs.numpy(), rtol=0.03, atol=0.03)  # weights of 16 bits


def test_a_network_of_eight_bits_is_smaller_and_says_nearly_the_same() -> None:
    torch.manual_seed(1)
    network = DrQANetwork(replace(tiny_drqa.NETWORK, hidden=32)).eval()
    sixteen, eight = (to_onnx(network, bits).SerializeToString() for bits in (16, 8))
    assert len(eight) < 0.7 * len(sixteen)
    random = numpy.random.default_rng(2)
    given = {
        "question": random.normal(size=(2, 4, network.settings.width)).astype("f4"),
        "asked": numpy.array([4, 3], "i4"),
        "passage": random.normal(size=(2, 7, network.settings.width)).astype("f4"),
        "told": numpy.array([7, 7], "i4"),
        "features": random.normal(size=(2, 7, network.settings.features)).astype("f4"),
    }
    said = []
    for model in (sixteen, eight):
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        said.append(numpy.concatenate([logits.ravel() for logits in session.run(["start", "end"], given)]))
    assert numpy.abs(said[0] - said[1]).max() < 0.1 * numpy.ptp(said[0])
    assert not numpy.array_equal(*said)


def test_vectors_are_those_of_training(written: tuple[Path, DrQANetwork, Path]) -> None:
    folder, network, material = written
    vectors = WordVectors(Weights(folder))
    table = DrQAColumns(material, "both").table.float()
    words = bytes(numpy.array(DrQAColumns(material, "both").column("words"))).decode().split("\n")
    learnt = words[2]
    numpy.testing.assert_allclose(vectors.of([learnt])[0], network.tuned.weight[2].detach().numpy(), atol=2e-3)
    for word in ("boat", "today", "green"):
        numpy.testing.assert_allclose(vectors.of([word])[0], table[words.index(word)].numpy(), atol=0.03)
    (unknown,) = vectors.of(["zeppelin"])
    pieces = tiny_drqa.pieces()
    assert not unknown[:6].any()  # GloVe's part
    numpy.testing.assert_allclose(unknown[6:], pieces.vectors[pieces.of("zeppelin")].mean(0), atol=0.03)


def test_a_rare_word_loses_gloves_vector_when_room_is_short(tmp_path: Path) -> None:
    _, network, material = tiny_drqa_weights.write(tmp_path)
    export_drqa(
        tmp_path / "network.safetensors",
        material,
        tmp_path / "tokenizer.json",
        tmp_path / "small",
        network.settings,
        "both",
        settings=DrQAExportSettings(most_words=7),
    )
    assert len((tmp_path / "small" / "words.txt").read_text().split("\n")) == 7
    small, large = (WordVectors(Weights(tmp_path / name)) for name in ("small", "drqa"))
    lost = [word for word in (*tiny_drqa.COLOURS, *tiny_drqa.THINGS) if not small.of([word])[0, :6].any()]
    assert lost
    for word in lost:
        assert large.of([word])[0, :6].any()
        assert small.of([word])[0, 6:].tolist() == large.of([word])[0, 6:].tolist()


def test_eight_bits_keep_a_row_within_half_a_step() -> None:
    rows = numpy.array([[1.0, -0.5, 0.003], [0.0, 0.0, 0.0]], numpy.float32)
    whole, scale = eight_bits(rows, axis=1, scales=numpy.float16)
    assert scale.dtype == numpy.float16
    assert whole[0, 0] == 127
    assert not whole[1].any()
    numpy.testing.assert_allclose(whole * scale.astype("f4"), rows, atol=1 / 127)


def test_a_question_or_a_passage_without_words_is_not_read(written: tuple[Path, DrQANetwork, Path]) -> None:
    nothing = [Hit(whole("a", " \n "), 1.0), Hit(whole("b", "Some words."), 1.0)]
    made = reader(written[0])
    (found,) = made.read([Question("1", "")], [nothing])
    assert found == []
    (found,) = made.read([Question("1", "What?")], [nothing])
    assert {candidate.passage.id for candidate in found} == {"b"}
    assert made.read([], []) == []


def test_spans_are_short_distinct_and_carry_what_is_known(written: tuple[Path, DrQANetwork, Path]) -> None:
    text = "The red house and the blue tree stand here today and so does the old grey lamp by the water of the bay."
    hits = [Hit(whole("a", text), 3.0, {"retrieve": 3.0}), Hit(whole("b", text[4:]), 2.0, {"retrieve": 2.0})]
    (found,) = reader(written[0], candidates=40).read([Question("1", "Which colour has the tree?")], [hits])
    assert len(found) == 40
    assert len({(c.passage.id, c.start, c.end) for c in found}) == 40
    assert [c.features["span_rank"] for c in found] == list(range(1, 41))
    for candidate in found:
        assert len(candidate.text.split()) <= 15
        assert candidate.features["retrieve"] == (3.0 if candidate.passage.id == "a" else 2.0)
        assert candidate.features["span"] == candidate.features["read"] == candidate.score
    (short,) = reader(written[0], candidates=40, max_tokens=2).read([Question("1", "Which colour?")], [hits])
    assert all(len(candidate.text.replace(".", " .").split()) <= 2 for candidate in short)


def test_a_span_of_two_neighbouring_passages_is_one_candidate(written: tuple[Path, DrQANetwork, Path]) -> None:
    text = "The red house stands here."
    one = Passage("d#0", "d", text, 0, len(text))
    two = Passage("d#1", "d", text[4:], 4, len(text))
    (found,) = reader(written[0], candidates=100).read([Question("1", "Which?")], [[Hit(one, 1.0), Hit(two, 1.0)]])
    places = [(c.passage.start + c.start, c.passage.start + c.end) for c in found]
    assert len(set(places)) == len(places) == 20  # all spans of six tokens but the full stop
    alone = [
        reader(written[0], 100).read([Question("1", "Which?")], [[Hit(passage, 1.0)]])[0] for passage in (one, two)
    ]
    scores: dict[tuple[int, int], float] = {}
    for candidate in (*alone[0], *alone[1]):
        place = (candidate.passage.start + candidate.start, candidate.passage.start + candidate.end)
        scores[place] = max(candidate.score, scores.get(place, candidate.score))
    assert [c.score for c in found] == [scores[place] for place in places]


def test_ties_go_to_the_earlier_passage_then_to_the_shorter_span(written: tuple[Path, DrQANetwork, Path]) -> None:
    """Equal texts are read alike, so every span of the first comes before its twin."""
    hits = [Hit(whole("b", "A red boat."), 1.0), Hit(whole("a", "A red boat."), 1.0)]
    (found,) = reader(written[0], candidates=20).read([Question("1", "Which boat?")], [hits])
    assert [c.passage.id for c in found] == ["b", "a"] * 9  # all but the full stops
    assert all(one.score == two.score for one, two in zip(found[::2], found[1::2], strict=True))


def test_softmax_normalises_inside_each_passage(written: tuple[Path, DrQANetwork, Path]) -> None:
    hits = [Hit(whole("a", "Red boats sail."), 1.0), Hit(whole("b", "One."), 1.0)]
    (found,) = reader(written[0], 50, "softmax", 30).read([Question("1", "Which?")], [hits])
    sums = {name: sum(numpy.exp(c.score) for c in found if c.passage.id == name) for name in "ab"}
    assert 0 < sums["a"] < 1  # spans that end before they start have the rest
    (plain,) = reader(written[0], 50, "exp", 30).read([Question("1", "Which?")], [hits])
    for name in "ab":
        orders = [[(c.start, c.end) for c in rows if c.passage.id == name] for rows in (found, plain)]
        assert orders[0] == orders[1]


@pytest.mark.parametrize("span_score", ["exp", "softmax"])
def test_the_weights_say_how_much_shorter_spans_are_preferred(
    written: tuple[Path, DrQANetwork, Path], tmp_path: Path, span_score: SpanScore
) -> None:
    folder = tmp_path / "brief"
    shutil.copytree(written[0], folder)
    (folder / "settings.toml").write_text("brevity = 3.0\n" + (written[0] / "settings.toml").read_text())
    hits = [[Hit(whole("a", "Red boats sail to the old bay"), 1.0), Hit(whole("b", "One boat"), 1.0)]]

    def read(name: Path, brevity: bool = True) -> list[Candidate]:
        session = DrQASession(Weights(name), 2)
        made = DrQAReader(session, ByRule(), ByRule.pos, ByRule.ner, 99, 30, span_score, brevity)
        return made.read([Question("1", "Which?")], hits)[0]

    plain, brief = read(written[0]), read(folder)
    assert read(folder, brevity=False) == plain
    assert all(candidate.features["span"] == candidate.score for candidate in plain)
    assert [candidate.features["tokens"] for candidate in brief] == [len(tokens(candidate.text)) for candidate in brief]
    check_preference(brief, plain, 3.0)
    assert [c.features["span_rank"] for c in brief] == list(
        range(1, 28 + 3 + 1)
    )  # all spans of seven tokens and of two


def test_the_switch_reaches_the_reader(written: tuple[Path, DrQANetwork, Path], tmp_path: Path) -> None:
    folder = tmp_path / "brief"
    shutil.copytree(written[0], folder)
    (folder / "settings.toml").write_text("brevity = 3.0\n" + (written[0] / "settings.toml").read_text())
    scores = []
    for switch in ("true", "false"):
        chosen = ["read.kind=drqa", f"runtime.drqa={folder}", f"read.brevity={switch}"]
        (found,) = build(resolve(overrides=chosen), None).reader.read(
            [Question("1", "Which?")], [[Hit(whole("a", "Red boats sail."), 1.0)]]
        )
        scores.append([c.score == c.features["span"] for c in found])
    assert not all(scores[0])
    assert scores[1] == [True] * 9


def test_tags_are_matched_by_name() -> None:
    found = one_hot(numpy.array([1, 0, 2], numpy.uint8), ("NOUN", "PROPN", "SPACE"), ("", "PROPN", "X", "NOUN"))
    assert found.tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    assert POS[0] == NER[0] == ""


def test_a_missing_or_broken_file_is_named(written: tuple[Path, DrQANetwork, Path], tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    pair = Pair(["a"], ["b"], numpy.zeros((1, 3), numpy.float32))
    with pytest.raises(WeightsError, match=r"is missing; install wherefrom again"):
        DrQASession(Weights(folder), 1).read([pair])
    for name in ("tokenizer.json", "words.txt", "model.onnx", "settings.toml"):
        (folder / name).write_bytes((written[0] / name).read_bytes())
    (folder / "vectors.npz").write_bytes(b"no zip")
    with pytest.raises(WeightsError, match=r"vectors\.npz cannot be read"):
        DrQASession(Weights(folder), 1).read([pair])
