"""Teaching the tagger: the task contract, labels to and fro, and the written weights against the network."""

from __future__ import annotations

import builtins
from dataclasses import replace
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
from wherefrom.systems.tagger import system as training
from wherefrom.systems.tagger.material import Material, read_labels, training_texts, valid_texts, write_labels
from wherefrom.systems.tagger.system import NETWORK, Agreement, Places, TaggerTask, export, measure
from wherefrom.train.errors import TrainingError

SMALL = replace(NETWORK, rows=256, width=16, layers=2, dropout=0.0, word_dropout=0.0)
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
def places(tmp_path: Path) -> Places:
    places = Places(tmp_path / "data", tmp_path / "out")
    write(places.train, TEXTS)
    write(places.valid, TEXTS[:3])
    return places


class TestTask(TaskContract):
    @pytest.fixture
    def task(self, places: Places) -> TaggerTask:
        return TaggerTask(places, SMALL, microbatch=40)


def test_the_written_weights_say_what_the_network_says(places: Places) -> None:
    torch.manual_seed(5)
    task = TaggerTask(places, SMALL)
    network = task.model().eval()
    with torch.no_grad():
        network.glued.normal_()
        batch = task.batches(0, 0)[0]
        pos, ner = network(batch.rows, batch.glued, batch.mask)
        metrics = task.evaluate(network)
    export(network, places.weights)
    tagged = Tagger(Weights(places.weights)).tag(TEXTS)
    numpy_pos = sorted(one.pos.tolist() for one in tagged)
    torch_pos = sorted(row[mask.bool()].tolist() for row, mask in zip(pos.argmax(-1), batch.mask, strict=True))
    agreeing = sum(a == b for x, y in zip(numpy_pos, torch_pos, strict=True) for a, b in zip(x, y, strict=True))
    assert agreeing / sum(map(len, torch_pos)) > 0.9, "8 and 16 bits may turn a close choice, not more"
    assert ner.shape == (*batch.mask.shape, len(NER))
    assert measure(places)["pos_accuracy"] == pytest.approx(metrics["pos_accuracy"], abs=0.15)


def test_padding_is_not_seen(places: Places) -> None:
    task = TaggerTask(places, SMALL)
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


def test_labels_of_other_tokens_are_refused(places: Places) -> None:
    with gzip.open(places.train, "wt") as file:
        file.write('{"text": "one two", "pos": "A", "ner": "A"}\n')
    with pytest.raises(TrainingError, match="label again"):
        TaggerTask(places, SMALL)


def test_texts_come_from_paragraphs_questions_and_articles(tmp_path: Path) -> None:
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
        (tmp_path / "squad").mkdir(exist_ok=True)
        content = {"data": [{"title": "T", "paragraphs": paragraphs}]}
        (tmp_path / "squad" / f"{split}-v1.1.json").write_text(json.dumps(content))
    with pytest.raises(TrainingError, match="wikipedia holds no"):
        list(training_texts(tmp_path, Material()))
    (tmp_path / "wikipedia").mkdir()
    (tmp_path / "wikipedia" / "a.txt").write_text('<doc id="1" url="u" title="A">\nLong article.\n</doc>\n' * 3)
    found = list(training_texts(tmp_path, Material(paragraph_step=2, question_step=3, articles=2, characters=4)))
    assert found == ["Paragraph 0.", "Question 00?", "Question 11?", "Paragraph 2.", "Long", "Long"]
    assert len(list(valid_texts(tmp_path))) == 9


def test_without_spacy_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> ModuleType:
        if name.startswith("spacy"):
            raise ImportError("No module named 'spacy'")
        return before(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TrainingError, match=r"pip install 'spacy.*SHA-256"):
        write_labels(tmp_path / "labels.jsonl.gz", ["text"], 1)
    assert training.main([str(tmp_path), str(tmp_path / "out")]) == 1


def test_labels_are_read_as_they_were_written(places: Places) -> None:
    first = next(iter(read_labels(places.train)))
    assert first.text == TEXTS[0]
    assert [NER[tag] for tag in first.ner] == ["PERSON", "O", "O", "GPE", "O"]
