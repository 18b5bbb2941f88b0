"""What a person said of an answer, kept with the passages as they were then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from wherefrom.types import Passage, Style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wherefrom.store.documents import DocumentStore

Verdict = Literal["right", "wrong"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A verdict on one answer; `answer` is None where it was "I don't know", `better` what should have been said."""

    question: str
    verdict: Verdict
    answer: str | None
    better: str | None = None
    style: Style = "short"
    passages: tuple[Passage, ...] = ()  # what was found, best first; documents may change afterwards
    evidence: tuple[str, ...] = ()  # ids of those that the answer quoted
    who: str = ""  # the name of the key it came with
    given: str = ""  # when, in UTC
    number: int = 0


def add(store: DocumentStore, feedback: Feedback) -> int:
    """Keep it in the library; its number."""
    import msgspec

    return store.add_feedback(feedback.given, msgspec.json.encode(feedback).decode())


def stored(store: DocumentStore) -> Iterator[Feedback]:
    """All of it, oldest first."""
    import msgspec

    for number, _, body in store.feedback():
        yield replace(msgspec.json.decode(body, type=Feedback), number=number)
