"""Making the embedder, of either kind: the task contract, losses by hand, what is written beside what was trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="pairs need tokenizers: pip install 'wherefrom[train]'")

import torch
from safetensors.torch import load_file, save_file

from systems.colours import TINY, passages, tokenizer
from train.contract import TaskContract
from train.tiny_inputs import write_data, write_pretrained
from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import Encoder, EncoderSettings
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.runtime.embedder import STEPS, TextEmbedder
from wherefrom.runtime.weights import Weights
from wherefrom.systems.embedder.about import Inputs
from wherefrom.systems.embedder.held_out import is_held_out
from wherefrom.systems.embedder.network import (
    EmbedderNetwork,
    EncodedNetwork,
    WordsNetwork,
    contrast,
    first_times,
    structure,
    taught,
)
from wherefrom.systems.embedder.pairs import SOURCES, PairColumns
from wherefrom.systems.embedder.system import LOOP, CollectSettings, EmbedderRecipe, stages
from wherefrom.systems.embedder.task import EmbedderTask, EmbedderTaskSettings
from wherefrom.systems.reader.export import to_onnx
from wherefrom.train.loop import trained
from wherefrom.train.stages import read_json, run

SMALL = EmbedderTaskSettings(
    shares={"squad": 1}, questions=8, negatives=2, passage=24, reader=0.0, structure=0.0, bounded=False, valid=8
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Eight questions, each answered by the passage that has its colour and its thing."""
    words = tokenizer()
    made = passages()
    questions = [f"What {passage.text.split()[1]} {passage.title}?" for passage in made] * 2
    columns = {}
    for name, texts in (("passage", [passage.text for passage in made]), ("question", questions)):
        tokens = [words.encode(text, add_special_tokens=False).ids for text in texts]
        columns[f"{name}_tokens"] = torch.tensor([token for each in tokens for token in each], dtype=torch.int32)
        columns[f"{name}_starts"] = torch.tensor(numpy.cumsum([0, *map(len, tokens)]))
    columns["gold"] = torch.arange(16, dtype=torch.int32) % 8
    columns["source"] = torch.zeros(16, dtype=torch.int8)
    columns["valid"] = torch.tensor([0] * 8 + [1] * 8, dtype=torch.int8)
    columns["negatives"] = torch.tensor([[(at + 1) % 8, (at + 4) % 8, -1] for at in range(16)], dtype=torch.int32)
    save_file(columns, tmp_path / "pairs.safetensors")
    return tmp_path / "pairs.safetensors"


def of_words() -> EmbedderNetwork:
    torch.manual_seed(1)
    return WordsNetwork(torch.randn(tokenizer().get_vocab_size(), 16))


def of_layers() -> EmbedderNetwork:
    torch.manual_seed(1)
    return EncodedNetwork(Encoder(TINY))


@pytest.mark.parametrize("make", [of_words, of_layers])
class TestContract(TaskContract):
    """EmbedderTask is a Task, whichever its network is."""

    near_zero = 0.1

    @pytest.fixture
    def task(self, pairs: Path, make: Callable[[], EmbedderNetwork]) -> EmbedderTask:
        return EmbedderTask(pairs, make, SMALL, None)


def test_training_brings_the_right_passage_near(pairs: Path, tmp_path: Path) -> None:
    from wherefrom.train.loop import fitted

    torch.manual_seed(2)
    begun = torch.randn(tokenizer().get_vocab_size(), 8)  # so narrow that chance alone does not tell words apart
    task = EmbedderTask(pairs, lambda: WordsNetwork(begun), SMALL, None)
    before = task.evaluate(task.model())
    loop = replace(LOOP, steps=60, precision="fp32", learning_rate=0.05, metric="")
    fitted(task, loop, tmp_path / "training", say=lambda _: None)
    after = task.evaluate(trained(task, tmp_path / "training"))
    assert after["squad top_1"] == 100 > before["squad top_1"]


def test_a_wordpiece_counts_once() -> None:
    tokens = torch.tensor([[5, 3, 5, 3, 7], [2, 2, 0, 0, 0]])
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    assert first_times(tokens, mask).tolist() == [[True, True, False, False, True], [True, False, False, False, False]]
    network = WordsNetwork(torch.eye(8))
    assert network(tokens, mask)[0].tolist() == pytest.approx([0, 0, 0, 3**-0.5, 0, 3**-0.5, 0, 3**-0.5])


def test_the_losses_by_hand() -> None:
    scores = torch.tensor([[2.0, 1.0, 5.0]])
    right, same = torch.tensor([0]), torch.tensor([[False, False, True]])
    assert contrast(scores, right, same).item() == pytest.approx(numpy.log1p(numpy.exp(-1.0)), abs=1e-4)
    # The teacher says 3/4 to 1/4, the pupil says half to half: 3/4 log 3/2 + 1/4 log 1/2; what is unknown counts not.
    teacher = torch.tensor([[numpy.log(3.0), 0.0, 9.0]])
    known = torch.tensor([[True, True, False]])
    expected = 0.75 * numpy.log(1.5) + 0.25 * numpy.log(0.5)
    assert taught(torch.zeros(1, 3), teacher, known, 1.0).item() == pytest.approx(expected, abs=1e-4)
    assert taught(torch.zeros(1, 3), teacher, torch.tensor([[True, False, False]]), 1.0).item() == 0.0
    vectors, given = torch.eye(2), torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    assert structure(vectors, given).item() == pytest.approx(0.36)


def test_a_passage_that_is_right_for_two_questions_stands_once(pairs: Path) -> None:
    task = EmbedderTask(pairs, of_words, replace(SMALL, shares={"squad": 2}, questions=16), None)
    batch = task.batches(0, 1)[0]
    assert len(batch.questions) == 16
    assert len(batch.passages) == 8
    assert batch.there.all()
    columns = PairColumns(pairs)
    assert columns.of_source("squad", valid=True).tolist() == list(range(8, 16))


def test_shares_of_unknown_sources_are_refused() -> None:
    with pytest.raises(SettingsError, match="no source novels"):
        EmbedderTaskSettings(shares={"novels": 1})


def test_half_of_nq_is_never_learnt_from() -> None:
    assert 0.45 < sum(is_held_out(f"nq-{number}") for number in range(1655)) / 1655 < 0.55


def presented(folder: Path) -> Path:
    """gte-small and a reader over it, as small as they come."""
    pretrained = write_pretrained(folder / "pretrained")
    (pretrained / "minilm").rename(pretrained / "gte")
    torch.manual_seed(1)
    network = ReaderNetwork(EncoderSettings.from_config(pretrained / "gte" / "config.json"))
    with torch.no_grad():
        for parameter in network.parameters():  # the exporter keeps equal ones once
            parameter.add_(0.1 * torch.randn_like(parameter))
    (folder / "reader").mkdir()
    to_onnx(network, folder / "reader/model.onnx")
    return pretrained


@pytest.mark.parametrize("layers", [(), (0,)])
def test_from_data_to_weights(tmp_path: Path, layers: tuple[int, ...]) -> None:
    data, pretrained = write_data(tmp_path / "data"), presented(tmp_path)
    article = "\n".join(["Boats", "", "Boats sail.", "Sails.", "The sail of a boat is made of cloth. " * 9, ""])
    (data / "wikipedia").mkdir(exist_ok=True)
    import lzma

    with lzma.open(data / "wikipedia" / "a.txt.xz", "wt") as file:
        file.write(f'<doc id="1" url="u" title="Boats">\n{article}</doc>\n')
    recipe = EmbedderRecipe(
        layers=layers,
        width=12,
        max_tokens=60,
        collect=CollectSettings(negatives=2, squad_valid=2),
        loop=replace(LOOP, steps=2, evaluate_every=2, report_every=1, precision="fp32"),
        task=replace(SMALL, shares=dict.fromkeys(SOURCES, 1), questions=2, reader=0.5, structure=1.0),
    )
    inputs, out, said = Inputs(data, reader=tmp_path / "reader", pretrained=pretrained), tmp_path / "out", []
    made = stages(recipe, inputs, out, said.append, lambda name, folder: folder / name)
    run("embedder", made, out, None, said.append)
    counted = json.loads((out / "made" / "pairs.json").read_text())["facts"]
    assert counted["headings"] >= 1
    assert counted["nq"] == 1
    lessons = load_file(out / "lessons.safetensors")
    columns = PairColumns(out / "pairs.safetensors")
    assert lessons["vectors"].shape == (columns.passages, 16)
    assert lessons["reader"].shape == (len(columns), 3)
    assert lessons["vectors"].float().norm(dim=1).tolist() == pytest.approx([1.0] * columns.passages, abs=0.01)
    # What the exported weights say of a text is what torch says of it, in steps of eight bits.
    weights = out / "weights"
    settings = weights / "settings.toml"
    tokens = pretrained / "gte" / "tokenizer.json"
    (weights / "provenance.json").rename(tmp_path / "provenance.json")
    settings.write_text(settings.read_text().replace("../reader/tokenizer.json", str(tokens)))
    text = "The boat sails at dawn."
    (written,) = TextEmbedder(Weights(weights), 1).vectors([text])
    names = {stage.name: stage for stage in made if not stage.extra}
    assert set(read_json(tmp_path / "provenance.json")["stages"]) == set(names)
    network = of_kind(recipe, out, pretrained)
    ids = token_ids(tokens, text)
    row = [101, *ids, 102] if layers else ids
    with torch.inference_mode():
        (whole,) = network(torch.tensor([row]), torch.ones(1, len(row), dtype=torch.bool)).numpy()
    assert written / STEPS == pytest.approx(numpy.clip(whole, -0.5, 0.5), abs=0.03)
    if layers:  # carried in eight bits, it begins as it is
        run("embedder", made, out, ["carried"], said.append)
        carrying = replace(inputs, gte=out / "gte.safetensors")
        elsewhere = {each.name: each for each in stages(recipe, carrying, out, said.append, missing)}
        there = [elsewhere["lessons"], elsewhere["training"], elsewhere["light"]]
        run("embedder", there, out, ["lessons", "training", "light"], said.append)
        (out / "training" / "model.safetensors").unlink()  # at home there is only the light copy
        before = (weights / "model.onnx").stat().st_mtime_ns
        run("embedder", [elsewhere["export"]], out, ["export"], said.append)
        assert (weights / "model.onnx").stat().st_mtime_ns > before  # of what was brought home
    again: list[str] = []
    run("embedder", made, out, None, again.append)
    assert sum("already" in line for line in again) >= len(names) - 1


def missing(name: str, _folder: Path) -> Path:
    raise AssertionError(f"{name} is not here")


def of_kind(recipe: EmbedderRecipe, out: Path, pretrained: Path) -> torch.nn.Module:
    from wherefrom.train.checkpoint import load_weights

    network: torch.nn.Module
    if recipe.layers:
        network = EncodedNetwork(Encoder(EncoderSettings.from_config(pretrained / "gte" / "config.json")))
    else:
        network = WordsNetwork(load_file(out / "start.safetensors")["vectors"])
    load_weights(network, out / "training" / "model.safetensors")
    return network.eval()


def token_ids(file: Path, text: str) -> list[int]:
    from tokenizers import Tokenizer

    return list(Tokenizer.from_file(str(file)).encode(text, add_special_tokens=False).ids)
