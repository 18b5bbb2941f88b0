"""Questions to begin with, made from sentences of the library that answer them.

Only sentences of a few plain English forms become questions, such as "Iceland became a republic on 17 June 1944.":
a library without any has no examples, which is better than bad ones.
"""

from __future__ import annotations

import re

from wherefrom.library import Library
from wherefrom.text import sentences

_DOCUMENTS = 200  # the first ones by id, of which some are looked into
_LOOKED_INTO = 40
_PASSAGES = 4  # of a document: its beginning

# What stands for something else, or begins a sentence that is about something else.
_NOT_THINGS = (
    "The|It|He|She|They|We|You|I|This|That|These|Those|There|Here|His|Her|Its|Their|Our|Your|My|One|Some|Most|Many|All|"
    "Both|Each|Every|No|In|On|At|By|To|From|For|With|Of|After|Before|Since|When|While|As|If|But|And|Or|So|Yet|Then|Only|"
    "About|What|Who|Where|Why|How|Not|Near|Under|Until|Today|Later|Even|Another|Other|Such"
)
_FIRST = rf"(?:The )?(?!(?:{_NOT_THINGS})\b)[A-ZÀ-ÖØ-Þ][\w’'-]*"
_THING = rf"(?P<thing>{_FIRST}(?: (?!(?:was|were|is|are|has|had|that|which|who|and|but|to)\b)[\w’'-]+){{0,4}}?)"
_NAME = rf"(?P<thing>{_FIRST}(?: (?:of|de|von|the|[A-ZÀ-ÖØ-Þ][\w’'-]*)){{0,4}}?)"
_DATE = r"(?:in|on) (?:\d{1,2} )?(?:[A-Z][a-z]+ )?[12]\d{3}\b(?! to)"
_REST = r"(?P<rest>(?: [\w’'-]+){0,6}?)"
_PAST = {
    "became": "become",
    "died": "die",
    "opened": "open",
    "ended": "end",
    "won": "win",
    "began": "begin",
    "founded": "found",
    "discovered": "discover",
    "invented": "invent",
    "reached": "reach",
    "joined": "join",
    "crossed": "cross",
    "published": "publish",
    "signed": "sign",
    "left": "leave",
    "built": "build",
    "fell": "fall",
}
_DONE = r"\w+ed|born|built|begun|cut|found|given|held|laid|made|sent|set|shown|sold|taken|won|written"
_WAS_DONE = re.compile(rf"{_THING} (?P<was>was|were) (?P<done>{_DONE}){_REST} {_DATE}")
_DID = re.compile(rf"{_THING} (?P<did>{'|'.join(_PAST)}){_REST} {_DATE}")
_IS = re.compile(rf"{_NAME} (?P<is>is|are) (?:an?|one of) ")
_WAY = "use|select|choose|click|run|type|press|go|open|enter|set|add|call|create|install|pass"
_TO = re.compile(
    rf"To (?P<what>(?!(?:do|be|this|that|it)\b)[a-z]+(?: [\w’'-]+){{1,7}}), "
    rf"(?:you (?:can|must|need to|should) )?(?:{_WAY})\b"
)
_OURS = {"your": "my", "you": "I", "yourself": "myself"}  # who asks, and who is told


def examples(library: Library, limit: int) -> list[str]:
    """Different questions, at most one a document, from documents all over the first ones; not asked yet."""
    documents = library.documents(limit=_DOCUMENTS)
    step = max(1, len(documents) // _LOOKED_INTO)
    passage_ids = [f"{facts.id}#{ordinal}" for facts in documents[::step] for ordinal in range(_PASSAGES)]
    when: dict[str, str] = {}
    what: dict[str, str] = {}  # asks for less; only where there are too few of the others
    for passage in library.passages(passage_ids):
        for start, end in sentences(passage.text):
            if question := question_of(passage.text[start:end]):
                (when if question.startswith("When ") else what).setdefault(passage.document_id, question)
    if len(when) < limit:
        return list(dict.fromkeys({**what, **when}.values()))[:limit]
    different = list(dict.fromkeys(when.values()))
    return different[:: max(1, len(different) // limit)][:limit]


def question_of(sentence: str) -> str | None:
    """The question that a sentence answers, if it has one of the forms known here."""
    if match := _WAS_DONE.match(sentence):
        return f"When {match['was']} {_inside(match['thing'])} {match['done']}{match['rest']}?"
    if match := _DID.match(sentence):
        return f"When did {_inside(match['thing'])} {_PAST[match['did']]}{match['rest']}?"
    if match := _IS.match(sentence):
        return f"What {match['is']} {_inside(match['thing'])}?"
    if match := _TO.match(sentence):
        return f"How do I {' '.join(_OURS.get(word, word) for word in match['what'].split())}?"
    return None


def _inside(thing: str) -> str:
    """As it is written within a sentence."""
    first, _, rest = thing.partition(" ")
    return f"{first.lower()} {rest}" if first in ("The", "A", "An") and rest else thing
