"""How near words of question and candidate are in the network that ships."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("onnx", reason="two outputs are added to the network with onnx, which a plain install lacks")

from bench.cete_words import IMAGES, LAYERS, StatesOfWords, chosen, main

from wherefrom.data.examples import Example, whole
from wherefrom.runtime.weights import SHIPPED, Weights
from wherefrom.types import Question

FOLDER = SHIPPED / "cete"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="these weights are in the source of wherefrom-lab")


def asked(right: str, *wrong: str) -> Example:
    texts = [right, *wrong]
    passages = tuple(whole(str(place), text) for place, text in enumerate(texts))
    return Example(Question("q", "where is the garden"), passages, tuple(not place for place in range(len(texts))))


def test_a_question_needs_short_candidates_of_both_sorts() -> None:
    long = "word " * 21
    examples = [asked("The garden."), asked(long, "A wall."), asked("Behind it.", long, "A wall.", "A gate.")]
    assert list(chosen(examples)) == [("where is the garden", {"right": "Behind it.", "wrong": "A wall."})]


def test_the_same_word_is_nearest_before_the_first_layer() -> None:
    near = StatesOfWords(Weights.named("cete")).nearness("where is the garden".split(), "The garden lies there".split())
    assert {each: values.shape for each, values in near.items()} == dict.fromkeys(LAYERS, (4, 4))
    assert near["before"][3].argmax() == 1
    assert all((abs(values) <= 1.0001).all() for values in near.values())


def test_what_is_shown_is_drawn_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.cete_words.wikiqa.load", lambda *_: [asked("Behind it.", "A wall.")] * 2)
    main(["--data", str(tmp_path), "--out", str(tmp_path)])
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == sorted(file.name for file in IMAGES.glob("cete-*.svg"))
    words = "".join(ElementTree.fromstring((tmp_path / "cete-right-after.svg").read_text(encoding="utf-8")).itertext())
    assert "garden" in words
    assert "Behind" in words
