"""What kind of thing a question asks for, and whether a text holds one."""

from __future__ import annotations

import re
from typing import Literal

Expected = Literal["person", "place", "time", "number", "reason", "anything"]

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    r"seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|"
    r"half|twice|dozen|once)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b\d{3,4}\b|\d{1,2}[:.]\d\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|"
    r"december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|century|spring|summer|autumn|winter|"
    r"morning|evening|night|midnight|noon|day|week|month|year|hour|minute|o'clock|dawn|dusk)s?\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,;:] )(?:[“\"‘']?)[A-Z][\w’'-]+")  # capital letters that do not open the sentence
_REASON = re.compile(
    r"\b(?:because|since|so that|due to|therefore|thus|reasons?|causes?|caused|to (?:keep|avoid|prevent|make|stop))\b",
    re.IGNORECASE,
)


def expected(question: str) -> Expected:
    """What the question's opening words ask for."""
    text = f" {question.lower()} "
    if re.search(r"\bhow (?:many|much|old|long|far|tall|high|deep|often|big|large|fast|heavy|wide)\b", text):
        return "number"
    if re.search(r"\b(?:when|what (?:year|day|date|time|month|century)|which (?:year|day|month|century))\b", text):
        return "time"
    if re.search(r"\b(?:who|whom|whose)\b", text):
        return "person"
    if re.search(r"\bwhere\b", text):
        return "place"
    if re.search(r"\bwhy\b", text):
        return "reason"
    return "anything"


def holds(kind: Expected, text: str) -> bool:
    """Whether the text has something of that kind in it."""
    patterns = {"number": _NUMBER, "time": _TIME, "person": _NAME, "place": _NAME, "reason": _REASON}
    return kind == "anything" or patterns[kind].search(text) is not None
