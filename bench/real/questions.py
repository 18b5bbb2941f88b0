"""The questions of the bench, and what makes their file a sound one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from bench.real.visible import words

FILE = Path(__file__).parent / "questions.jsonl"

Half = Literal["tune", "test"]
HALVES: tuple[Half, ...] = get_args(Half)
KINDS = ("fact", "number", "definition", "how-to", "why", "list", "yes-no", "keywords", "table")
YES_NO = frozenset(("yes", "no"))


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words that answer a question, or those that seem to where it is a near miss, and where they stand."""

    document: str  # its path within the collection
    quote: str


@dataclass(frozen=True, slots=True)
class RealQuestion:
    """What a person asks of a collection, and the answers that are right."""

    id: str
    collection: str
    half: Half
    kind: str
    question: str
    answers: tuple[str, ...]  # none where the collection does not answer
    evidence: Evidence | None  # None where the collection does not speak of it at all
    answerable: bool
    near_miss: bool

    @property
    def asks_yes_no(self) -> bool:
        return bool(self.answers) and set(self.answers) <= YES_NO


def load(file: Path = FILE) -> list[RealQuestion]:
    """All questions, in the order of the file."""
    return [_question(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def _question(entry: dict[str, object]) -> RealQuestion:
    evidence = entry.pop("evidence")
    answers = entry.pop("answers")
    assert isinstance(answers, list)
    assert evidence is None or isinstance(evidence, dict)
    return RealQuestion(
        answers=tuple(answers),
        evidence=None if evidence is None else Evidence(**evidence),
        **entry,  # type: ignore[arg-type]
    )


def faults(questions: Sequence[RealQuestion]) -> Iterator[str]:
    """What is wrong with the questions, as far as they tell by themselves."""
    for name in ("id", "question"):
        counted = Counter((getattr(each, name), each.collection if name == "question" else "") for each in questions)
        yield from (f"{value!r} stands there {times} times" for (value, _), times in counted.items() if times > 1)
    halves: dict[tuple[str, str], str] = {}
    for question in questions:
        yield from (f"{question.id}: {fault}" for fault in _faults(question))
        if question.evidence is not None:
            place = (question.collection, question.evidence.document)
            if halves.setdefault(place, question.half) != question.half:
                yield f"{question.id}: {question.evidence.document} serves both halves"


def _faults(question: RealQuestion) -> Iterator[str]:
    if question.half not in HALVES or question.kind not in KINDS:
        yield f"half {question.half!r} or kind {question.kind!r} is unknown"
    if question.answerable != bool(question.answers):
        yield "what is answerable has answers, and nothing else has"
    if question.answerable and (question.evidence is None or question.near_miss):
        yield "what is answerable has evidence and is no near miss"
    if question.near_miss and question.evidence is None:
        yield "a near miss names what it nearly hits"
    if question.evidence is not None and question.answers and not _answered_by_quote(question, question.evidence):
        yield "no accepted answer stands in its quote"


def _answered_by_quote(question: RealQuestion, evidence: Evidence) -> bool:
    """Whether the quote says an answer itself: not asked of yes and no, nor of lists, which a quote may only begin."""
    if question.asks_yes_no or question.kind == "list":
        return True
    quote = f" {words(evidence.quote)} "
    return any(f" {words(answer)} " in quote for answer in question.answers)
