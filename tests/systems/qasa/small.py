"""Questions about things in colours, with lists of passages of which some hold the colour."""

from __future__ import annotations

import random
from pathlib import Path

import numpy

from wherefrom.data.examples import Example, GoldSpan, whole
from wherefrom.systems.qasa.lists import ListsBuilder
from wherefrom.systems.qasa.settings import ListSettings, QasaNetworkSettings
from wherefrom.types import Question

COLOURS = ("red", "blue", "green", "grey")
THINGS = ("house", "boat", "tree", "lamp")
NETWORK = QasaNetworkSettings(
    character=4, character_hidden=4, hidden=8, encoding=8, attention=8, scoring=8, dropout=0.0
)
KNOWN = [*COLOURS, *THINGS, "what", "colour", "is", "the", "here", "of"]


def example(number: int) -> Example:
    """Which colour a thing has, with its gold paragraph."""
    thing, colour = THINGS[number % 4], COLOURS[(number + number // 4) % 4]
    text = f"By the sea the {thing} is {colour} and old."
    span = GoldSpan(f"g{number}", text.index(colour), text.index(colour) + len(colour), colour)
    return Example(
        Question(f"q{number}", f"What colour is the {thing}?"),
        (whole(f"g{number}", text),),
        (True,),
        answers=(colour,),
        spans=(span,),
    )


def builder(questions: int = 8, settings: ListSettings | None = None) -> ListsBuilder:
    """Each question twice, to learn from and to be measured on; its list has the gold place, a namesake and others."""
    made = ListsBuilder(settings or ListSettings(length=10))
    for valid in (False, True):
        for number in range(questions):
            asked = example(number)
            thing, colour = THINGS[number % 4], asked.answers[0]
            others = [f"The {other} is here, the {thing} too." for other in THINGS]
            passages = [*others, f"It is {colour} of the sky.", asked.passages[0].text]
            made.add(asked, [whole(f"p{place}", text) for place, text in enumerate(passages)], valid)
    return made


def vectors() -> numpy.typing.NDArray[numpy.float32]:
    return numpy.random.default_rng(5).normal(size=(len(KNOWN), 6)).astype(numpy.float32)


def write_lists(path: Path, questions: int = 8) -> Path:
    builder(questions).write(path, KNOWN, vectors())
    return path


def write_unlike_lists(path: Path, questions: int = 12, each: int = 6) -> Path:
    """Lists that have nothing in common: of each the passage with the answer can only be learnt by heart."""
    sounds = [first + second + third for first in "bdf" for second in "aeiou" for third in "lmnr"]
    made = ListsBuilder(ListSettings(length=each, prefilter="none"))
    for valid in (False, True):
        chance = random.Random(3)
        for number in range(questions):
            asked = Question(f"q{number}", " ".join(chance.sample(sounds, 5)))
            texts = [" ".join(chance.sample(sounds, 10)) for _ in range(each)]
            right, answer = chance.randrange(each), f"x{number}"
            texts[right] += f" {answer}"
            passages = [whole(f"p{place}", text) for place, text in enumerate(texts)]
            made.add(Example(asked, (passages[right],), (True,), answers=(answer,)), passages, valid)
    own = numpy.random.default_rng(5).normal(size=(len(sounds), 20)).astype(numpy.float32) * 0.5
    made.write(path, sounds, own)
    return path
