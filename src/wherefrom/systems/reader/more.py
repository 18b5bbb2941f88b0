"""More than SQuAD for the reader to learn from: near misses, other people's questions, yes and no, slips of typing."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wherefrom.data import asked_tasks, boolq, drop, ropes, squad, subjqa
from wherefrom.data.examples import Example, whole
from wherefrom.data.instructions import Instruction
from wherefrom.data.locating import occurrences
from wherefrom.data.opening import json_records, named_files
from wherefrom.features.tags import Tagger
from wherefrom.runtime.weights import Weights
from wherefrom.systems.reader.near_miss import near_misses, wordnet_antonyms
from wherefrom.train.typed import keywords, misspelt

if TYPE_CHECKING:
    from wherefrom.systems.reader.material import MaterialBuilder

Report = Callable[[str], None]
_SEED = 19
_TYPED = 0.12  # of SQuAD's questions come a second time, as people type them
_HELD_OUT = 0.1  # of SubjQA's reviews and of the texts that people could not answer from
_NEAR_VALID = 4  # every so many of the validation's near misses: enough to measure by
_LONGEST = 12  # words of an answer that is found by its wording
_OPEN = {"aqa", "doqa-cooking", "doqa-movies", "aquamuse"}  # only say whether there is an answer
_READ = ("iirc", "tweetqa", "qa-zre", "qasper")


def add_more(material: MaterialBuilder, data: Path, wordnet: Path | None, report: Report) -> None:
    """Everything beside what `prepare` takes from SQuAD, the ten-passage set, Quoref, NQ and WikiQA."""
    _add_squads(material, data, wordnet, report)
    report("subjqa, other people's questions")
    for example in subjqa.load(data / "subjqa"):
        _add(material, "subjqa", example, _is_held_out(example.article))
    valid_paragraphs = {example.passages[0].text for example in squad.load(data / "squad", "valid")}
    for task in sorted(_OPEN):
        for example in asked_tasks.load(data / "instructions", task):
            known = example.passages[0].text in valid_paragraphs
            _add_open(material, example, known or _is_held_out(example.article))
    report("short answers elsewhere")
    readings: tuple[Iterable[Example], ...] = (
        *(asked_tasks.load(data / "instructions", task) for task in _READ),
        drop.load(data / "more_reading"),
        ropes.load(data / "more_reading"),
    )
    for examples in readings:
        for example in examples:
            _add(material, "reading", example, valid=False)
    report("yes and no")
    for split in ("train", "valid"):
        for example in boolq.load(data / "boolq", split):
            truth = example.answers[0] == "yes"
            material.add("boolq", example.question.text, example.passages[0], (), (), split == "valid", truth)
    for number, (text, statement, verdict) in enumerate(statements(data / "instructions")):
        passage = whole(f"entailment-{number}", text)
        if verdict is None:
            material.add("entailment", statement, None, (), (passage,), valid=False)
        else:
            material.add("entailment", statement, passage, (), (), False, verdict)


def _add_squads(material: MaterialBuilder, data: Path, wordnet: Path | None, report: Report) -> None:
    antonyms = {} if wordnet is None else wordnet_antonyms(wordnet)
    tagger = Tagger(Weights.named("tagger"))
    chance = random.Random(_SEED)
    for split in ("valid", "train"):
        report(f"near misses of squad, {split}")
        examples = list(squad.load(data / "squad", split))
        valid = split == "valid"
        for number, miss in enumerate(near_misses(examples, tagger, antonyms, _SEED)):
            if not valid or number % _NEAR_VALID == 0:
                material.add("near-miss", miss.question, None, (), (miss.passage,), valid)
        for example in examples:
            if not valid and chance.random() < _TYPED:
                text = example.question.text
                typed = keywords(text) if chance.random() < 0.5 else misspelt(text, chance)
                places = [(span.start, span.end) for span in example.spans]
                material.add("typed", typed, example.passages[0], places, (), valid=False)


def _add(material: MaterialBuilder, source: str, example: Example, valid: bool) -> None:
    """A question with its answer's place, or without one where its passage has none."""
    passage = example.passages[0]
    if not example.answerable:
        material.add(source, example.question.text, None, (), (passage,), valid)
        return
    places = [(span.start, span.end) for span in example.spans]
    if not places:
        short = (answer for answer in example.answers if len(answer.split()) <= _LONGEST)
        places = [(span.start, span.end) for answer in short for span in occurrences(answer, passage)]
    if places:
        material.add(source, example.question.text, passage, places, (), valid)


def _add_open(material: MaterialBuilder, example: Example, valid: bool) -> None:
    """One of which it is only known whether there is an answer: where there is one, it is good to be judged by."""
    if not example.answerable:
        material.add("people", example.question.text, None, (), example.passages, valid)
    elif valid:
        material.add("people", example.question.text, example.passages[0], (), (), valid=True)


def _is_held_out(article: str) -> bool:
    return zlib.crc32(article.encode()) % 1000 < 1000 * _HELD_OUT


# Statements -----------------------------------------------------------------------------------------------------------

_LABELS: dict[str, dict[str, bool | None]] = {
    "task190_*": {"n": None},  # the others are clear, one way or the other
    "task199_*": {"no": None},
    "task1344_*": {"1": True, "0": None},
    "task1529_*": {"entails": True, "neutral": None},
    "task1554_*": {"entails": True, "neutral": None},
    "task1385_*": {"entailment": True, "contradiction": False, "neutral": None},
    "task1386_*": {"entailment": True, "contradiction": False, "neutral": None},
    "task1387_*": {"entailment": True, "contradiction": False, "neutral": None},
}
_CHOICES: dict[str, bool | None] = {
    "task200_*": True,
    "task202_*": False,
    "task201_*": None,
}  # which of three statements is such a one
_CHOICE = re.compile(r"Statement: (?P<text>.*) Choices:\s+1\. (?P<a>.*) 2\. (?P<b>.*) 3\. (?P<c>.*)", re.S)
_BETWEEN = ((" Sentence 2: ", "Sentence 1: "), ("Hypothesis: ", "Premise: "), ("<sep>", ""))


def statements(folder: Path) -> Iterator[tuple[str, str, bool | None]]:
    """Texts with statements that they make true, make false, or say nothing of."""
    for file, labels in _LABELS.items():
        for path in named_files(folder, (f"{file}.jsonl",)):
            for _, record in json_records(path, Instruction):
                label = record.target[0].strip().lower().rstrip(".")
                parts = _cut(record.input)
                if parts is not None and label in labels:
                    yield (*parts, labels[label])
    for file, truth in _CHOICES.items():
        for path in named_files(folder, (f"{file}.jsonl",)):
            for _, record in json_records(path, Instruction):
                choice, number = _CHOICE.fullmatch(record.input.strip()), record.target[0].strip()
                if choice is not None and number in ("1", "2", "3"):
                    yield choice["text"].strip(), choice["abc"[int(number) - 1]].strip(), truth


def _cut(text: str) -> tuple[str, str] | None:
    for between, before in _BETWEEN:
        first, border, second = text.partition(between)
        if border and first.strip() and second.strip():
            return " ".join(first.removeprefix(before).split()), " ".join(second.split())
    return None


def more_files(data: Path) -> Iterable[Path]:
    """Every file that these are made of."""
    for folder in ("subjqa", "boolq", "instructions"):
        yield from sorted((data / folder).glob("*.xz"))
    yield from named_files(data / "more_reading", ("drop.jsonl",))
    yield from named_files(data / "more_reading", ("ropes.jsonl",))
