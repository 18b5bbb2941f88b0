"""What form a question has: whether a sentence can be made of it and a short answer; the first person turned round.

English. A sentence is made by putting the answer in the place of the question word; where there is none (keywords), or
where the answer is no part of a sentence but one or several of them (how to do it, why, what it is), there is nothing
to put it into, and the document's own sentences say it better.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wherefrom.text import Span, words

_PREPOSITIONS = (
    r"(?:(?:in|on|at|from|by|to|over|after|before|for|since|under|with|of|until|within|into|during|about)\s+)?"
)
_HOW = r"(?:many|much|long|old|far|tall|high|deep|often|heavy|wide)"
_DESCRIBED = r"(?:does|did|is|are|was|were)\s+(?!(?:i|we|you|one|it)\b)\w+"  # how something goes, not how to do it
_OPENING = re.compile(
    rf"\W*{_PREPOSITIONS}(?:who|whom|whose|which|what|when|where|how\s+{_HOW}|how\s+{_DESCRIBED})\b(?!['’])"
)
_LONGEST = 22  # words; more of them are more than one question
_SECOND = re.compile(r"[,;:]\s|\s[-–—]\s|[.?!]\s+\w|\bor\b|\band\s+(?:who|what|which|when|where|why|how)\b")
_BETTER_QUOTED = re.compile(
    r"""
    \bwhat\s+(?:do|does|did)\b.{0,300}\b(?:mean\b|(?:do|say|happen|stand\s+for|look\s+like|refer\s+to|contain)\s*\??$)
    | \bwhat\s+(?:happen\w*|about|if|to|now|else|makes?|causes?|kinds?|sorts?|types?|ways?|steps?)\b
    | \b(?:difference|purpose|reason|meaning|definition|point|way|rule|rules|advantage|disadvantage|use|role)s?\b
    | \bwhat(?:\s+(?:is|are|was|were)|['’]s)\b.{0,300}\b(?:for|about|like)\s*\??$
    | \bwhat\s+(?:is|are|was|were)\s+(?:(?:an?|the)\s+)?[^\s?]+(?:\s+[^\s?]+)?\s*\??$
    | \bwho\s+(?:is|are|was|were)\s+[^\s?]+(?:\s+[^\s?]+)?\s*\??$
    | \b(?:who|what|which)\s+are\b
    | \b(?:can|could|should|must|may|need|have|want|how)\s+(?:i|we|you)\s+(?:do|use|get|type|write|say|call|put)\b
    | ^\W*where\s+(?:can|could|should|do|must|may)\s+(?:i|we)\b
    | ^\W*(?:when|where)\s+(?:should|must|can|could|may|do)\b
    """,
    re.VERBOSE,
)
_SEVERAL = re.compile(
    r"\b(?:what|which)\s+(?:[\w-]+\s+){0,3}?[\w-]{2,}[^s\W]s\s+"
    r"(?:are|were|do|does|did|can|could|will|would|should|must|may|might|have|has|had)\b"
)
_PERSONS = {
    "i": "you",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "we": "you",
    "us": "you",
    "our": "your",
    "ours": "yours",
    "ourselves": "yourselves",
    "am": "are",
}


def can_be_told(question: str) -> bool:
    """Whether the question and a short answer make a sentence: it opens with a question word, and asks for a thing."""
    text = " ".join(question.lower().split())
    if _OPENING.match(text) is None or len(text.split()) > _LONGEST:
        return False
    return _SECOND.search(text) is None and _BETTER_QUOTED.search(text) is None and not asks_for_several(text)


def asks_for_several(question: str) -> bool:
    """Whether it asks for a list: which file endings does it watch, what states can it have."""
    return _SEVERAL.search(question.lower()) is not None


@dataclass(frozen=True, slots=True)
class TurnedQuestion:
    """A question as another person would put it, and how its characters are found in the question itself."""

    text: str
    changes: tuple[tuple[int, int, int], ...]  # a word that was put in, and how far later characters are behind

    def original(self, start: int, end: int) -> Span | None:
        """Where characters of the text stand in the question; None for a word that was put in."""
        shift = 0
        for first, last, behind in self.changes:
            if start < last and end > first:
                return None
            if last <= start:
                shift = behind
        return start + shift, end + shift


def turned(question: str) -> TurnedQuestion:
    """`I` as `you`, `my` as `your`: a sentence that tells the answer speaks to the one who asks."""
    parts: list[str] = []
    changes: list[tuple[int, int, int]] = []
    before, length = 0, 0
    for start, end in words(question):
        other = _PERSONS.get(question[start:end].lower())
        if other is None or question[start:end] == "US" or question[end : end + 1] in ("/", "."):
            continue
        kept = question[before:start]
        parts += [kept, other]
        length += len(kept) + len(other)
        changes.append((length - len(other), length, end - length))
        before = end
    return TurnedQuestion("".join([*parts, question[before:]]), tuple(changes))
