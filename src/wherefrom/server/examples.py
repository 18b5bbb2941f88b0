"""Questions to begin with, made from sentences of the library that answer them.

Only sentences of a few plain English forms become questions, such as "Iceland became a republic on 17 June 1944.":
a library without any has no examples, which is better than bad ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from wherefrom.library import Library
from wherefrom.text import sentences

_DOCUMENTS = 2000  # the first ones by id, of which some are looked into
_LOOKED_INTO = 120
_PASSAGES = 4  # of a document: its beginning
_LONGEST = 90  # characters of a question

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
# Manuals say what things do: "VACUUM rebuilds the database file", "git-reset - Reset current HEAD to ...".
_NAMED = (
    r"(?P<thing>(?:The )?(?:[A-Z][A-Z_-]{2,}(?: [A-Z][A-Z_-]+){0,2}|[a-z]+(?:[-_][a-z]+)+(?:\(\d?\))?|[a-z_]+\(\))"
    r"(?: (?:command|statement|function|option|clause|operator|keyword|pragma|method|class|module|tool|program|type))?)"
)
_DOES = re.compile(
    rf"{_NAMED} (?:returns?|creates?|removes?|deletes?|changes?|adds?|shows?|lists?|rebuilds?|sets?|defines?|alters?|"
    r"drops?|causes?|allows?|enables?|converts?|copies|moves?|reads?|writes?|prints?|controls?|specifies|executes?|"
    r"starts?|stops?|gathers?|collects?|locks?|commits?|cancels?|declares?|attempts?|computes?|begins?|establishes|"
    r"retrieves?|inserts?|updates?|loads?|forces?|terminates?|reassigns?|validates?|takes?|opens?|closes?) \w"
)
_TITLED = re.compile(
    r"(?P<thing>[A-Z][A-Z_]{2,}(?: [A-Z][A-Z_]+){0,3}|[a-z]+(?:-[a-z]+)+) (?:—|–|--?) [A-Za-z][a-z]+ \w+"
)
_USED_TO = re.compile(rf"{_NAME} (?P<is>is|are) used (?:to|for) \w")
_USE_TO = re.compile(
    r"(?:You can )?[Uu]se [\w’'. ()-]{2,40}? to "
    r"(?P<what>(?!(?:do|be|this|that|it)\b)[a-z]+(?: [\w’'-]+){1,7})[.;,:]"
)
_OURS = {"your": "my", "you": "I", "yourself": "myself"}  # who asks, and who is told


def examples(library: Library, limit: int) -> list[str]:
    """Different questions, at most one a document, from documents all over the first ones; not asked yet."""
    documents = library.documents(limit=_DOCUMENTS)
    step = max(1, len(documents) // _LOOKED_INTO)
    passage_ids = [f"{facts.id}#{ordinal}" for facts in documents[::step] for ordinal in range(_PASSAGES)]
    by_kind: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}  # the question of each document
    for passage in library.passages(passage_ids):
        for start, end in sentences(passage.text):
            question = question_of(passage.text[start:end])
            if question and len(question) <= _LONGEST:
                kind = next(kind for kind in _KINDS if question.startswith(kind))
                by_kind[kind].setdefault(passage.document_id, question)
    taken: set[str] = set()  # documents
    spread = []
    for kind in _KINDS:
        of_kind = {question: document for document, question in by_kind[kind].items() if document not in taken}
        taken.update(of_kind.values())
        spread.append(_spread(list(of_kind), limit))
    # In turn, so that not all are of one kind.
    return [question for turn in zip_longest(*spread) for question in turn if question][:limit]


_KINDS = ("When ", "How ", "What does ", "What ")  # those that ask for most first


def _spread(questions: Sequence[str], limit: int) -> list[str]:
    """So many of them, from beginning to end."""
    return list(questions[:: max(1, len(questions) // limit)][:limit])


def question_of(sentence: str) -> str | None:
    """The question that a sentence answers, if it has one of the forms known here."""
    if match := _WAS_DONE.match(sentence):
        return f"When {match['was']} {_inside(match['thing'])} {match['done']}{match['rest']}?"
    if match := _DID.match(sentence):
        return f"When did {_inside(match['thing'])} {_PAST[match['did']]}{match['rest']}?"
    if match := _IS.match(sentence):
        return f"What {match['is']} {_inside(match['thing'])}?"
    if match := _DOES.match(sentence) or _TITLED.match(sentence):
        return f"What does {_inside(match['thing'])} do?"
    if match := _USED_TO.match(sentence):
        return f"What {match['is']} {_inside(match['thing'])} used for?"
    if match := _TO.match(sentence) or _USE_TO.match(sentence):
        return f"How do I {' '.join(_OURS.get(word, word) for word in match['what'].split())}?"
    return None


def _inside(thing: str) -> str:
    """As it is written within a sentence."""
    first, _, rest = thing.partition(" ")
    return f"{first.lower()} {rest}" if first in ("The", "A", "An") and rest else thing
