"""Questions over a text from Super-NaturalInstructions: some that people could not answer from it, others they could.

Each task of the collection has words of its own between text and question; here they become examples like any other.
A question whose answer the task does not give, but which has one, has `answerable` and no answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wherefrom.data.examples import Example, whole
from wherefrom.data.instructions import Instruction, Passages
from wherefrom.data.opening import json_records, named_files
from wherefrom.types import Question


@dataclass(frozen=True, slots=True)
class _Task:
    """How a task writes its inputs, and what its targets say."""

    file: str
    form: re.Pattern[str]  # groups text and question
    answer: Callable[[str], str | None]  # the answer; "" where there is one that is not given; None where there is none


def _yes_or_none(target: str) -> str | None:
    return "" if target.strip().lower() in ("true", "yes") else None


def _after_label(target: str) -> str | None:
    answer = target.strip().removeprefix("Answer:").strip().removesuffix(".")
    return None if answer.lower() == "none" else answer


def _plain(target: str) -> str | None:
    return target.strip().removesuffix(".")


TASKS = {
    "aqa": _Task("task1640_*", re.compile(r"(?P<text>.*) Question: (?P<question>.*)", re.S), _yes_or_none),
    "doqa-cooking": _Task(
        "task1439_*", re.compile(r"CONTEXT: (?P<text>.*?) +<sep>.*FOLLOWUP_Q: (?P<question>.*)", re.S), _yes_or_none
    ),
    "doqa-movies": _Task(
        "task1442_*", re.compile(r"CONTEXT: (?P<text>.*?) +<sep>.*FOLLOWUP_Q: (?P<question>.*)", re.S), _yes_or_none
    ),
    "aquamuse": _Task(
        "task520_*", re.compile(r"Passage: '(?P<text>.*)'\. Question: '(?P<question>.*)'\.", re.S), _yes_or_none
    ),
    "iirc": _Task(
        "task237_*",
        re.compile(r"Context: (?P<text>.*?)(?: Link Information: (?:none)?)?\s*Question: (?P<question>.*)", re.S),
        _after_label,
    ),
    "tweetqa": _Task("task239_*", re.compile(r"Context: (?P<text>.*) Question: (?P<question>.*)", re.S), _plain),
    "qa-zre": _Task("task1327_*", re.compile(r"Context : (?P<text>.*)\nQuestion : (?P<question>.*)", re.S), _plain),
    "qasper": _Task("task460_*", re.compile(r"(?P<text>.*?)\s*\n Question: (?P<question>.*)", re.S), _plain),
}


def load(path: Path, task: str) -> Iterator[Example]:
    """The examples of one task; what does not have its form is passed over."""
    chosen = TASKS[task]
    passages = Passages(task)
    (file, *_) = named_files(path, (f"{chosen.file}.jsonl",))
    for place, record in json_records(file, Instruction):
        form = chosen.form.fullmatch(record.input.strip())
        if form is None or not form["text"].strip() or not form["question"].strip():
            continue
        text = " ".join(form["text"].replace("Link Information:", " ").split())
        answer = chosen.answer(record.target[0])
        id = passages.id(text)
        yield Example(
            Question(f"{task}-q{place.number}", " ".join(form["question"].split())),
            (whole(id, text),),
            (answer is not None,),
            answers=(answer,) if answer else (),
            answerable=answer is not None,
            article=id,
        )
