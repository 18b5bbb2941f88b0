"""Teaching the tagger: the task contract, labels to and fro, and the written weights against the network."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import gzip
import json

import torch

from train.contract import TaskContract
from wherefrom.features.tags import NER, POS, Tagger
from wherefrom.features.tokens import tokens
from wherefrom.runtime.weights import Weights
from wherefrom.systems.contract import settings_of
from wherefrom.systems.tagger.about import Inputs
from wherefrom.systems.tagger.export import agreement, export_tagger
from wherefrom.systems.tagger.material import TRAIN, VALID, LabelSettings, read_labels, training_texts, valid_texts
from wherefrom.systems.tagger.network import TaggerSettings
from wherefrom.systems.tagger.system import DEFAULTS, stages
from wherefrom.systems.tagger.task import Agreement, TaggerTask
from wherefrom.train.errors import TrainingError
from wherefrom.train.spacy_tags import Tags
from wherefrom.train.stages import run

SMALL = TaggerSettings(rows=256, width=16, layers=2, dropout=0.0, word_dropout=0.0)
TEXTS = [
    "Anna lives in Rome.",
    "The dog barks!",
    "In 1908 it rained.",
    "Who is Tom?",
    "Oslo is cold, Anna said.",
    "They bark.",
    "Tom's dog ran.",
    "It was 1999.",
]
NAMES = {"Anna": "PERSON", "Tom": "PERSON", "Rome": "GPE", "Oslo": "GPE", "1908": "DATE", "1999": "DATE"}


def write(path: Path, texts: list[str]) -> None:
    """Labels of a made-up teacher: known names, and capitals for proper nouns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for text in texts:
            words = [text[start:end] for start, end in tokens(text)]
            pos = "".join(chr(65 + POS.index("PROPN" if word in NAMES else "NOUN")) for word in words)
            ner = "".join(chr(65 + NER.index(NAMES.get(word, "O"))) for word in words)
            file.write(json.dumps({"text": text, "pos": pos, "ner": ner}) + "\n")


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    write(tmp_path / "labels" / TRAIN, TEXTS)
    write(tmp_path / "labels" / VALID, TEXTS[:3])
    return tmp_path / "labels"


class TestTask(TaskContract):
    @pytest.fixture
    def task(self, labels: Path) -> TaggerTask:
        return TaggerTask(labels, SMALL, microbatch=40)


def test_the_written_weights_say_what_the_network_says(labels: Path, tmp_path: Path) -> None:
    torch.manual_seed(5)
    task = TaggerTask(labels, SMALL)
    network = task.model().eval()
    with torch.no_grad():
        network.glued.normal_()
        batch = task.batches(0, 0)[0]
        pos, ner = network(batch.rows, batch.glued, batch.mask)
        metrics = task.evaluate(network)
    export_tagger(network, tmp_path / "weights")
    tagged = Tagger(Weights(tmp_path / "weights")).tag(TEXTS)
    numpy_pos = sorted(one.pos.tolist() for one in tagged)
    torch_pos = sorted(row[mask.bool()].tolist() for row, mask in zip(pos.argmax(-1), batch.mask, strict=True))
    agreeing = sum(a == b for x, y in zip(numpy_pos, torch_pos, strict=True) for a, b in zip(x, y, strict=True))
    assert agreeing / sum(map(len, torch_pos)) > 0.9, "8 and 16 bits may turn a close choice, not more"
    assert ner.shape == (*batch.mask.shape, len(NER))
    assert agreement(tmp_path / "weights", labels / VALID)["pos_accuracy"] == pytest.approx(
        metrics["pos_accuracy"], abs=0.15
    )


def test_padding_is_not_seen(labels: Path) -> None:
    task = TaggerTask(labels, SMALL)
    network = task.model().eval()
    batch = task.batches(0, 0)[0]
    with torch.no_grad():
        whole, _ = network(batch.rows, batch.glued, batch.mask)
        for line, mask in enumerate(batch.mask):
            length = int(mask.sum())
            alone, _ = network(
                batch.rows[line : line + 1, :length], batch.glued[line : line + 1, :length], mask[None, :length]
            )
            torch.testing.assert_close(alone[0], whole[line, :length])


def test_agreement_is_worked_out_by_hand() -> None:
    tally = Agreement()
    tally.add(
        numpy.array([1, 2, 3, 4]), numpy.array([0, 1, 2, 0]), numpy.array([1, 2, 3, 0]), numpy.array([0, 1, 3, 4])
    )
    assert tally.figures() == {
        "pos_accuracy": 3 / 4,
        "ner_accuracy": 2 / 4,
        "entity_precision": 1 / 2,
        "entity_recall": 1 / 3,
        "entity_f1": 2 / 5,
        "entity_any_f1": 4 / 5,
    }
    by_type = tally.by_type()
    assert (by_type["PERSON"], by_type["NORP"], by_type["ORG"], len(by_type)) == (1.0, 0.0, 0.0, 18)
    with pytest.raises(TrainingError, match="no token"):
        Agreement().figures()


def test_labels_of_other_tokens_are_refused(labels: Path) -> None:
    with gzip.open(labels / TRAIN, "wt") as file:
        file.write('{"text": "one two", "pos": "A", "ner": "A"}\n')
    with pytest.raises(TrainingError, match="label again"):
        TaggerTask(labels, SMALL)


def write_texts(folder: Path) -> Path:
    """Three paragraphs with two questions each, for training and for validation, and three articles."""
    paragraphs = [
        {
            "context": f"Paragraph {n}.",
            "qas": [
                {
                    "id": f"{n}{q}",
                    "question": f"Question {n}{q}?",
                    "answers": [{"text": "Paragraph", "answer_start": 0}],
                }
                for q in range(2)
            ],
        }
        for n in range(3)
    ]
    for split in ("train", "valid"):
        (folder / "squad").mkdir(parents=True, exist_ok=True)
        content = {"data": [{"title": "T", "paragraphs": paragraphs}]}
        (folder / "squad" / f"{split}-v1.1.json").write_text(json.dumps(content))
    (folder / "wikipedia").mkdir()
    (folder / "wikipedia" / "a.txt").write_text('<doc id="1" url="u" title="A">\nLong article.\n</doc>\n' * 3)
    return folder


def test_texts_come_from_paragraphs_questions_and_articles(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data")
    chosen = LabelSettings(paragraph_step=2, question_step=3, articles=2, characters=4)
    texts = list(training_texts(data, chosen))
    assert texts == ["Paragraph 0.", "Question 00?", "Question 11?", "Paragraph 2.", "Long", "Long"]
    assert len(list(valid_texts(data))) == 9
    (data / "wikipedia" / "a.txt").unlink()
    with pytest.raises(TrainingError, match="wikipedia holds no"):
        list(training_texts(data, chosen))


def test_without_spacy_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> ModuleType:
        if name.startswith("spacy"):
            raise ImportError("No module named 'spacy'")
        return before(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TrainingError, match=r"pip install 'spacy.*SHA-256"):
        run("tagger", stages(DEFAULTS, Inputs(write_texts(tmp_path)), tmp_path / "out", str), tmp_path / "out", say=str)
    assert not (tmp_path / "out" / "labels").exists()


def test_from_texts_to_a_measured_tagger(tmp_path: Path) -> None:
    changes = ["network.rows=256", "network.width=16", "network.layers=2", "loop.epochs=1", "loop.steps=3"]
    settings, out = settings_of(DEFAULTS, None, changes), tmp_path / "out"
    inputs = Inputs(write_texts(tmp_path))
    run("tagger", stages(settings, inputs, out, str, tagged), out, say=str)
    first = next(read_labels(out / "labels" / TRAIN))
    assert first.text == "Paragraph 0."
    assert [POS[tag] for tag in first.pos] == ["PROPN", "X", "X"]  # what we do not know is X
    assert [NER[tag] for tag in first.ner] == ["PERSON", "O", "O"]
    provenance = json.loads((out / "weights" / "provenance.json").read_text())
    notes = provenance["stages"]
    assert set(provenance["files"]) == {"tagger.npz", "settings.toml"}
    assert notes["labels"]["facts"]["texts"] == {TRAIN: 7, VALID: 9}
    assert notes["labels"]["made_of"]["teacher"]["package"].startswith("en_core_web_sm")
    assert notes["measure"]["facts"] == json.loads((out / "measured.json").read_text())
    assert notes["measure"]["facts"]["tokens"] == 9 * 3
    said: list[str] = []
    run("tagger", stages(settings, inputs, out, said.append, tagged), out, say=said.append)
    assert said == [f"{name}: already made" for name in ("labels", "training", "export", "measure")]


def tagged(texts: Iterable[str]) -> Iterator[Tags]:
    """The first word is a person."""
    for text in texts:
        count = len(tokens(text))
        yield ["PROPN", *["?"] * (count - 1)], ["PERSON", *[""] * (count - 1)]


def test_labels_are_read_as_they_were_written(labels: Path) -> None:
    first = next(iter(read_labels(labels / TRAIN)))
    assert first.text == TEXTS[0]
    assert [NER[tag] for tag in first.ner] == ["PERSON", "O", "O", "GPE", "O"]
