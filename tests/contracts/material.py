"""Questions and passages to try stages on."""

from __future__ import annotations

from wherefrom.types import Candidate, Hit, Passage, Question


def passage(id: str, text: str, title: str = "") -> Passage:
    document = id.rpartition("#")[0]
    return Passage(id, document, text, 0, len(text), title)


HARBOUR = passage(
    "harbour.md#0",
    "The harbour of Ostrava Bay opened in 1908. Its lighthouse was built by Ines Moreau. It is 31 metres tall.",
    "The harbour",
)
GARDEN = passage("garden.md#0", "The garden opens at nine. It holds 412 kinds of rose, because the soil is heavy.")
STRANGE = passage(
    "strange.txt#0", "灯台は明治に建てられた。高さは三十一メートルです。 \u200bÑandú  —  ¿qué?\n\n🚢 «navire»"
)
ONE_WORD = passage("one.txt#0", "Yes")

QUESTIONS = [
    Question("1", "Who built the lighthouse of the harbour?"),
    Question("2", "How many kinds of rose does the garden hold?"),
    Question("3", "What is the capital of Mars?"),
    Question("4", ""),
    Question("5", "灯台の高さは？"),
    Question("6", "who?"),
]

HITS = [
    [Hit(HARBOUR, 7.5, {"retrieve": 7.5}), Hit(GARDEN, 2.0, {"retrieve": 2.0})],
    [Hit(GARDEN, 6.0, {"retrieve": 6.0}), Hit(HARBOUR, 6.0, {"retrieve": 6.0}), Hit(ONE_WORD, 0.5)],
    [Hit(GARDEN, 0.2)],
    [],
    [Hit(STRANGE, 3.0)],
    [Hit(ONE_WORD, 1.0), Hit(STRANGE, 1.0)],
]


def span(passage: Passage, text: str, score: float) -> Candidate:
    start = passage.text.index(text)
    return Candidate(text, passage, start, start + len(text), score, {"read": score})


CANDIDATES = [
    [span(HARBOUR, "Ines Moreau", 0.9), span(GARDEN, "at nine", 0.1)],
    [span(GARDEN, "412 kinds", 0.7), span(HARBOUR, "31 metres", 0.6)],
    [span(GARDEN, "The garden opens at nine.", 0.1)],
    [],
    [span(STRANGE, "三十一メートル", 0.5)],
    [span(ONE_WORD, "Yes", 0.2), span(STRANGE, "«navire»", 0.2)],
]
