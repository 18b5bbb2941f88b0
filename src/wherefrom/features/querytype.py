"""The type of a question, in MS MARCO's five classes."""

from __future__ import annotations

import re
from typing import Literal

QueryType = Literal["DESCRIPTION", "NUMERIC", "ENTITY", "LOCATION", "PERSON"]

_NUMERIC = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|high|deep|often|big|large|fast|heavy|wide|few)\b|\bwhen\b"
    r"|\b(?:what|which) (?:\w+ )?(?:year|years|date|day|month|decade|century|time|age|percent|percentage|number|amount"
    r"|population|size|temperature|speed|price|cost|length|height|weight|distance|ratio|rate|share)\b"
)
_LOCATION = re.compile(
    r"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:country|countries|city|cities|state|states|place|places|town|village"
    r"|continent|island|river|region|province|county|location|street|ocean|sea|lake|mountain|district|area|neighborhood)\b"
)
_PERSON = re.compile(
    r"\b(?:who|whom|whose)\b|\b(?:what|which) (?:\w+ )?(?:person|people|man|woman|king|queen|president|emperor|author"
    r"|actor|actress|singer|artist|scientist|philosopher|general|leader|pope|director|composer|architect|player)\b"
)
_DESCRIPTION = re.compile(
    r"\bwhy\b|\bhow\b|\b(?:definition|define|meaning|mean|means)\b|\bwhat (?:is|are|was|were) (?:an? )?[\w-]+\s*\??$"
    r"|\b(?:what|which) (?:\w+ )?(?:reason|purpose|effect|cause|difference|result|way|role)\b"
    r"|\bwhat (?:does|do|did|happen\w*)\b"
)


def query_type(question: str) -> QueryType:
    """The class by the question's own words; anything else that asks for a thing is an ENTITY.

    Yes/no questions are DESCRIPTION, where MS MARCO's classifier puts them too.
    """
    text = " ".join(question.lower().split())
    if _PERSON.search(text):
        return "PERSON"
    if _NUMERIC.search(text):
        return "NUMERIC"
    if _LOCATION.search(text):
        return "LOCATION"
    if _DESCRIPTION.search(text) or not re.search(r"\b(?:what|which|name)\b", text):
        return "DESCRIPTION"
    return "ENTITY"
