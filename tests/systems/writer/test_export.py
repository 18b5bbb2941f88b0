"""The exported writer says what torch says; its words are kept once; what it may write is neither name nor number."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="a small network is trained with torch: pip install 'wherefrom[train]'")
pytest.importorskip("onnxscript", reason="torch exports through onnxscript: pip install 'wherefrom[train]'")

import numpy  # noqa: E402
import onnx  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

from runtime import tiny_writer  # noqa: E402
from train.letters import MARKS, letters_tokenizer  # noqa: E402
from wherefrom.errors import SettingsError, WherefromError  # noqa: E402
from wherefrom.networks.decoding import DecodingSettings, beams  # noqa: E402
from wherefrom.networks.writer import QuestionPassages, TokenSequences  # noqa: E402
from wherefrom.runtime.search import SearchSettings  # noqa: E402
from wherefrom.runtime.weights import Weights  # noqa: E402
from wherefrom.runtime.writer import Short, WriterSession, WritingTask  # noqa: E402
from wherefrom.systems.writer.export import export_writer, safe_words, texts_in  # noqa: E402
from wherefrom.systems.writer.network import WriterNetwork, loaded  # noqa: E402
from wherefrom.systems.writer.settings import WriterExport  # noqa: E402
from wherefrom.train.writing.batches import WriterBatchSettings  # noqa: E402
from wherefrom.types import Passage  # noqa: E402
from wherefrom.write.marks import WrittenStyle  # noqa: E402

GRAPHS = ("encode", "judge", "begin", "step")
TEXTS = ("the old king walks in the red town", "a dragon eats gold")
QUESTION = "where is king ?"


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(f"{n}#0", str(n), text, 0, len(text)) for n, text in enumerate(texts))


TASKS = [
    WritingTask(QUESTION, passages(*TEXTS), Short(0, 8, 12)),
    WritingTask(QUESTION, passages(*TEXTS), Short(1, 2, 13)),
    WritingTask(QUESTION, passages(*TEXTS)),
    WritingTask("who eats gold ?", passages(TEXTS[1]), Short(0, 0, 8)),
]


@pytest.fixture(scope="module")
def whole(tiny_writer_weights: Path) -> WriterSession:
    """In 32 bits, but for the table of words."""
    return WriterSession(Weights(tiny_writer.whole(tiny_writer_weights)), threads=1)


@pytest.fixture(scope="module")
def eight(tiny_writer_weights: Path) -> WriterSession:
    return WriterSession(Weights(tiny_writer_weights), threads=1)


@pytest.fixture(scope="module")
def network(tiny_network: WriterNetwork, tiny_writer_weights: Path) -> WriterNetwork:
    """The network with words as they were kept, and an output that keeps the ones it was exported with."""
    kept = copy.deepcopy(tiny_network)
    rows, scale = numpy.load(tiny_writer_weights / "words.npy"), numpy.load(tiny_writer_weights / "words.scale.npy")
    output = kept.pointer.rows(kept.table()).detach().clone()
    kept.pointer.output = torch.nn.Linear(*reversed(output.shape), bias=False)
    with torch.no_grad():
        kept.pointer.output.weight.copy_(output)
        kept.reader.word.weight.copy_(torch.from_numpy(rows * scale))
    return kept.eval()


def reading(task: WritingTask) -> QuestionPassages:
    """The task as torch reads it, put together apart from the session."""
    tokenizer = letters_tokenizer()
    question = tokenizer.encode(task.question).ids
    texts = [tokenizer.encode(passage.text).ids for passage in task.passages]
    begins = [len(question) + 2] * len(texts)
    pairs = [[MARKS.classify, *question, MARKS.separate, *text, MARKS.separate] for text in texts]
    flat = tiny_writer.sequences(pairs, begins)
    answer = [MARKS.classify, *question, MARKS.separate]
    if task.short is not None:
        text = task.passages[task.short.passage].text[task.short.start : task.short.end]
        answer = [MARKS.classify, *question, MARKS.separate, *tokenizer.encode(text).ids, MARKS.separate]
    question, mask = tiny_writer.padded([question])
    return QuestionPassages(
        question,
        mask,
        TokenSequences(*(part[None] for part in flat if part is not None)),
        answer=tiny_writer.sequences([answer], begins[:1]),
    )


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("task", TASKS, ids=["", "two words", "no answer", "one passage"])
def test_writes_as_torch_does(whole: WriterSession, network: WriterNetwork, task: WritingTask, beam: int) -> None:
    """The same beginnings with the same scores and shares; nothing in these texts is guarded."""
    settings = DecodingSettings(beam=beam, max_tokens=12, block_ngrams=4)
    with torch.no_grad():
        memory = network.encode(reading(task)).packed()
        style: WrittenStyle = "short" if task.short is None else "sentence"  # as it has learnt
        first = torch.tensor([MARKS.style(style)])
        (expected,) = beams(network, memory, first, network.settings.words, settings)
    candidates = whole.write([task], style, SearchSettings(beam=beam, max_tokens=12, echo=True))[0].written
    assert {tuple(c.token for c in one.tokens) for one in candidates} <= {one.tokens for one in expected}
    assert tuple(c.token for c in max(candidates, key=lambda one: one.score).tokens) == expected[0].tokens
    by_tokens = {one.tokens: one for one in expected}
    for one in candidates:
        other = by_tokens[tuple(c.token for c in one.tokens)]
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert other.shares is not None
        numpy.testing.assert_allclose(one.vocabulary, other.shares.vocabulary, atol=1e-4)
        copied = [part for part, there in zip(other.shares.copied, (True, task.short, True), strict=True) if there]
        numpy.testing.assert_allclose(one.places, torch.cat(copied, dim=1), atol=1e-4)


def test_judges_as_torch_does(whole: WriterSession, network: WriterNetwork) -> None:
    with torch.no_grad():
        memory = network.encode(reading(TASKS[0]))
    (judged,) = whole.judge([QUESTION], [TASKS[0].passages])
    numpy.testing.assert_allclose(judged.relevance, memory.beta[0], atol=1e-5)
    assert judged.answerable == pytest.approx(torch.sigmoid(memory.answerable[0]).item(), abs=1e-5)


def test_eight_bits_are_near_to_32(whole: WriterSession, eight: WriterSession) -> None:
    for task in TASKS:
        sequences = whole._sequences(task)
        one, other = whole._read(sequences), eight._read(sequences)
        for sequence in sequences:
            a, b = one[sequence].ravel(), other[sequence].ravel()
            assert a @ b / numpy.sqrt((a @ a) * (b @ b)) > 0.99
    settings = SearchSettings(max_tokens=12)
    for task in (TASKS[0], TASKS[1], TASKS[3]):
        written = [session.write([task], "sentence", settings)[0].written[0] for session in (whole, eight)]
        assert len({tuple(copied.token for copied in one.tokens) for one in written}) == 1


def test_eight_bits_are_not_the_same_as_32(whole: WriterSession, eight: WriterSession) -> None:
    """Otherwise nothing was made smaller."""
    sequences = whole._sequences(TASKS[0])
    assert any((whole._read(sequences)[one] != eight._read(sequences)[one]).any() for one in sequences)
    sizes = [(session.weights.folder / "step.onnx").stat().st_size for session in (eight, whole)]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("name", GRAPHS)
def test_the_words_are_kept_once(tiny_writer_weights: Path, name: str) -> None:
    model = onnx.load(str(tiny_writer_weights / f"{name}.onnx"))
    words = tiny_writer.SETTINGS.words.words
    assert all(words not in tensor.dims for tensor in model.graph.initializer)
    assert not any(part.metadata_props for part in (model, model.graph, *model.graph.node))
    assert numpy.load(tiny_writer_weights / "words.npy").dtype == numpy.int8


def test_everything_is_there(tiny_writer_weights: Path) -> None:
    names = {path.name for path in tiny_writer_weights.iterdir()} - {"made.json"}
    tables = {"words.npy", "words.scale.npy", "vocabulary.npy", "safe.npy"}
    assert names == {*(f"{name}.onnx" for name in GRAPHS), *tables, "tokenizer.json", "settings.toml"}


class TestTokenizerElsewhere:
    def settings(self) -> WriterExport:
        return WriterExport(6, 32, "fp32", "../reader/tokenizer.json")

    def test_it_is_used_from_there(self, tiny_writer_weights: Path, tmp_path: Path) -> None:
        reader = tmp_path / "reader"
        reader.mkdir()
        letters_tokenizer().save(str(reader / "tokenizer.json"))
        writer = tmp_path / "writer"
        writer.mkdir()
        for path in tiny_writer_weights.iterdir():
            if path.name != "tokenizer.json":
                (writer / path.name).write_bytes(path.read_bytes())
        settings = (writer / "settings.toml").read_text().replace('"tokenizer.json"', '"../reader/tokenizer.json"')
        (writer / "settings.toml").write_text(settings)
        answers = WriterSession(Weights(writer), 1).write(TASKS[:1], "sentence", SearchSettings())
        assert answers[0].written[0].ended

    def test_another_than_the_networks_is_refused(self, tiny_network: WriterNetwork, tmp_path: Path) -> None:
        for folder, text in (("reader", "another"), ("own", "the network's")):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "tokenizer.json").write_text(text)
        own = tmp_path / "own" / "tokenizer.json"
        with pytest.raises(WherefromError, match="another tokenizer"):
            export_writer(tiny_network, tiny_writer.BATCH, own, (), tmp_path / "writer", self.settings())


def test_marks_of_another_kind_are_refused(tiny_network: WriterNetwork, tmp_path: Path) -> None:
    from wherefrom.write.marks import Marks

    with pytest.raises(SettingsError, match="end and styles"):
        export_writer(tiny_network, WriterBatchSettings(marks=Marks(end=9)), tmp_path / "t.json", (), tmp_path)


def test_longer_answers_than_there_are_positions_are_refused(tiny_network: WriterNetwork, tmp_path: Path) -> None:
    export = WriterExport(max_written=41)
    with pytest.raises(SettingsError, match="max_written is 41; the network has 40 positions"):
        export_writer(tiny_network, tiny_writer.BATCH, tmp_path / "t.json", (), tmp_path, export)


class TestLoaded:
    def saved(self, folder: Path, network: WriterNetwork) -> Path:
        from dataclasses import asdict

        folder.mkdir(exist_ok=True)
        save_file(
            {name: part.contiguous() for name, part in network.state_dict().items()}, folder / "model.safetensors"
        )
        (folder / "settings.json").write_text(json.dumps(asdict(network.settings)))
        (folder / "common.json").write_text(json.dumps(tiny_writer.COMMON.tolist()))
        return folder

    def test_as_it_was_saved(self, tiny_network: WriterNetwork, tmp_path: Path) -> None:
        again = loaded(self.saved(tmp_path, tiny_network))
        assert again.settings == tiny_network.settings
        for (name, one), other in zip(again.state_dict().items(), tiny_network.state_dict().values(), strict=True):
            assert torch.equal(one, other), name

    def test_weights_of_another_network_are_named(self, tiny_network: WriterNetwork, tmp_path: Path) -> None:
        folder = self.saved(tmp_path, tiny_network)
        settings: dict[str, Any] = json.loads((folder / "settings.json").read_text())
        (folder / "settings.json").write_text(json.dumps({**settings, "decoder_layers": 2}))
        with pytest.raises(WherefromError, match="another network"):
            loaded(folder)


class TestSafeWords:
    def safe(self, *texts: str) -> set[str]:
        tokenizer = letters_tokenizer()
        return {tokenizer.id_to_token(number) for number in safe_words(tokenizer, texts)}

    def test_words_in_small_letters_are_safe(self) -> None:
        assert "story" in self.safe("a story, the story and that story")
        assert "story" not in self.safe("the story")  # too rare to know

    def test_names_are_not(self) -> None:
        assert "king" not in self.safe(*["We saw King once."] * 5, "a king", "a king")
        assert "king" in self.safe(
            *["King is what he is."] * 5, *["a king"] * 3
        )  # the start of a sentence says nothing

    def test_numbers_and_loose_pieces_are_not(self) -> None:
        safe = self.safe(*["5 a b 5 a b"] * 5)
        assert "5" not in safe
        assert "##a" not in safe
        assert "##s" in safe  # an ending
        assert {".", ",", "s"} <= safe

    def test_number_words_are_not(self) -> None:
        from tokenizers import Tokenizer, models, pre_tokenizers

        made = Tokenizer(models.WordPiece({"[UNK]": 0, "seven": 1, "old": 2}, unk_token="[UNK]"))
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        assert safe_words(made, ["seven old seven old seven old"]) == {2}

    def test_texts_of_the_material(self, tmp_path: Path) -> None:
        lines = [{"question": "Q?", "sentences": ["S one.", "S two."]}, {"text": "A passage."}, {"other": 1}]
        (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, lines)))
        assert list(texts_in(tmp_path / "texts.jsonl")) == ["Q?", "S one.", "S two.", "A passage."]
