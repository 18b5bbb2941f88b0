"""A conversation: questions in their order, each understood by those before it.

library = Library("my-library")
talk = library.chat()
talk.ask("Where was Marie Curie born?")
talk.ask("And when did she die?").question.text    # When did Marie Curie die?
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from wherefrom.stages import OnWords
from wherefrom.types import Filter, Meaning, Question, Style, Trace, Turn

MOST_TURNS = 12  # that are kept; what a follow-up refers to is nearly always in the last two or three
LONGEST_TYPED = 30  # words; more of them say all that they mean


class Answering(Protocol):
    """Answers questions after turns; `Library` does."""

    def ask(
        self,
        question: str,
        style: Style | None = None,
        k: int | None = None,
        min_chance: float | None = None,
        heard: OnWords | None = None,
        within: Filter | None = None,
        turns: Sequence[Turn] = (),
    ) -> Trace: ...


class Conversation:
    """Keeps its turns itself; `trace.question` says how a follow-up was understood."""

    def __init__(self, library: Answering, within: Filter | None = None, turns: Sequence[Turn] = ()) -> None:
        self._library = library
        self._within = within
        self._turns = list(turns)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """What was asked and answered so far."""
        return tuple(self._turns)

    def ask(
        self,
        question: str,
        style: Style | None = None,
        k: int | None = None,
        min_chance: float | None = None,
        heard: OnWords | None = None,
    ) -> Trace:
        """Answer a question, which may be a follow-up; arguments as for `Library.ask`."""
        trace = self._library.ask(question, style, k, min_chance, heard, self._within, self._turns)
        self._turns = [*self._turns, turn_of(trace)][-MOST_TURNS:]
        return trace

    def forget(self) -> None:
        """Begin anew."""
        self._turns = []


def turn_of(trace: Trace) -> Turn:
    """What later questions may refer to of one that was answered, or declined."""
    answer = trace.answer
    title = answer.evidence[0].title if answer is not None and answer.evidence else ""
    return Turn(trace.question.text, (answer.text or "") if answer is not None else "", title)


def tried(meanings: Sequence[Meaning], unsure: float) -> list[Meaning]:
    """The likeliest meaning, and the one behind it where that is nearly as likely: at least `unsure`."""
    return [each for place, each in enumerate(meanings[:2]) if place == 0 or each.chance >= unsure]


def best(meanings: Sequence[Meaning], chances: Sequence[float]) -> int:
    """Which was meant, in the light of the answers: the chance of the meaning times that of its answer is largest."""
    worth = [meaning.chance * chance for meaning, chance in zip(meanings, chances, strict=True)]
    return worth.index(max(worth))


def questions_of(typed: str, meanings: Sequence[Meaning], within: Filter | None) -> list[Question]:
    """A question for each meaning that is tried; each says what the others were."""
    texts = [meaning.text for meaning in meanings]
    return [
        Question(
            "",
            typed if meaning.typed else meaning.text,
            within,
            "" if meaning.typed else typed.strip(),
            tuple(text for text in texts if text != meaning.text),
        )
        for meaning in meanings
    ]
