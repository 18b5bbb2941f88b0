"""Material of DrQA's reader so small that it is made and learnt in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy

from runtime.tiny_reader import tokenizer
from wherefrom.data.examples import whole
from wherefrom.features.tokens import tokens
from wherefrom.systems.drqa.material import DrQAMaterial
from wherefrom.systems.drqa.network import DrQASettings
from wherefrom.train.spacy_tags import Tags
from wherefrom.train.word_vectors import Glove, Pieces
from wherefrom.types import Passage

COLOURS = ("red", "blue", "green", "grey")
THINGS = ("house", "boat", "tree", "lamp")
NETWORK = DrQASettings(tuned=4, hidden=8, layers=2, dropout=0.0)


def tagging(texts: Iterable[str]) -> Iterator[Tags]:
    """Colours are adjectives; the first word is a person."""
    for text in texts:
        words = [text[start:end] for start, end in tokens(text)]
        yield ["ADJ" if word in COLOURS else "NOUN" for word in words], ["PERSON", *[""] * (len(words) - 1)]


def glove() -> Glove:
    words = ["the", *COLOURS, *THINGS, "never-seen"]
    return Glove(words, numpy.random.default_rng(3).normal(size=(len(words), 6)).astype(numpy.float32))


def pieces() -> Pieces:
    made = tokenizer()
    return Pieces(made, numpy.random.default_rng(4).normal(size=(made.get_vocab_size(), 5)).astype(numpy.float32))


def passages() -> list[Passage]:
    """Eight, each with two things of a colour, of uneven length."""
    texts = [
        f"The {one} {a} and the {other} {b} stand here{' today' * number}."
        for number, (one, other, a, b) in enumerate(
            zip(COLOURS * 2, [*COLOURS[1:], *COLOURS[:1]] * 2, THINGS * 2, [*THINGS[2:], *THINGS[:2]] * 2, strict=True)
        )
    ]
    return [whole(f"p{number}", text) for number, text in enumerate(texts)]


def write(path: Path) -> Path:
    """Eight questions to learn, and the same to evaluate on."""
    material = DrQAMaterial()
    for number, passage in enumerate(passages()):
        colour, thing = passage.text.split()[1 + 4 * (number % 2) : 3 + 4 * (number % 2)]
        at = passage.text.index(colour)
        for valid in (False, True):
            question = f"Which colour has the {thing.title() if number > 3 else thing}?"
            material.add(question, passage, [(at, at + len(colour))], valid)
    counts = material.write(path, tagging, glove(), pieces(), {"made": "here"})
    assert counts["examples"] == 16
    assert counts["left out"] == 0
    return path
