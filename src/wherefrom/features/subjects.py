"""What a conversation is about: the things that its last turns name, any of which may be meant; English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wherefrom.features.phrases import Phrase, phrases
from wherefrom.features.tags import Tagger
from wherefrom.types import Turn

SubjectSource = Literal["question", "answer", "title"]

TURNS = 3  # the last ones: a follow-up hardly ever reaches further back
_MOST = 10  # subjects of one conversation
_LONGEST_ANSWER = 12  # words; a longer one tells something and names nothing
_TITLE_END = re.compile(r"\s[|–—-]\s|:\s")
_WHO_IS = re.compile(r"\s*who(?:\s+(?:is|was)|['’]s)\s+(?=the\b)", re.IGNORECASE)
_ITEMS = re.compile(r",\s+(?:and\s+|or\s+)?|(?<!\s)\s+(?:and|or)\s+|;\s+")
_NO_THINGS = frozenset("name term kind type sort part number amount percentage one ones example way".split())
_TOO_LONG = 90  # characters: no name of a thing


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that was spoken of, and where."""

    text: str
    phrase: Phrase
    source: SubjectSource
    back: int  # turns: 0 is the last one
    place: int  # among the phrases of its text
    parts: int  # how many phrases its text has
    named_again: bool = False  # another text names it too: the title, an earlier turn


@dataclass(frozen=True, slots=True)
class Background:
    """All that is known before the follow-up."""

    turns: tuple[Turn, ...]  # the last one first
    subjects: tuple[Subject, ...]
    question_phrases: tuple[Phrase, ...]  # of the last turn's question
    items: tuple[str, ...]  # of the last answer that was a list


def background(turns: Sequence[Turn], tagger: Tagger) -> Background:
    """What the last turns, in their order, were about; nearest first."""
    last = tuple(reversed(turns[-TURNS:]))
    texts: list[str] = []
    for turn in last:
        texts += [turn.question, _naming(turn.answer), title_name(turn.title)]
    tagged = [phrases(text, tags) for text, tags in zip(texts, tagger.tag(texts), strict=True)]
    subjects: list[Subject] = []
    sources: tuple[SubjectSource, ...] = ("question", "answer", "title")
    for number, made in enumerate(tagged):
        source = sources[number % 3]
        named = _whole(texts[number], made) if source == "title" else made
        for place, phrase in enumerate(named):
            if source == "question" and _is_the_answer(phrase, last[number // 3]):
                continue
            if _can_be_meant(phrase, texts[number], source):
                text = _inside(phrase, source)
                subjects.append(Subject(text, phrase, source, number // 3, place, len(named)))
    items = next((split for turn in last if len(split := _listed(turn.answer)) > 1), ())
    return Background(last, _different(subjects), tuple(tagged[0]) if tagged else (), items)


def title_name(title: str) -> str:
    """The name that a title begins with, without that of its collection: "Istanbul" of "Istanbul | The Small Atlas"."""
    name = _TITLE_END.split(title.strip())[0].strip()
    return "" if "/" in name or "_" in name or len(name) > _TOO_LONG or re.search(r"\.\w{1,5}$", name) else name


def _naming(answer: str) -> str:
    return answer if len(answer.split()) <= _LONGEST_ANSWER else ""


def _listed(answer: str) -> tuple[str, ...]:
    items = tuple(item.strip(" .") for item in _ITEMS.split(answer) if item.strip(" ."))
    return items if all(len(item.split()) <= 6 for item in items) else ()


def _whole(title: str, made: list[Phrase]) -> list[Phrase]:
    """A title is one name, whatever parts it has."""
    if not title or not made or len(title.split()) > 7:
        return []
    last = made[-1]
    return [replace(last, text=title, start=0, end=len(title), named=True, nested=False, preposition="")]


def _can_be_meant(phrase: Phrase, text: str, source: SubjectSource) -> bool:
    if len(phrase.text) > _TOO_LONG or phrase.kind in ("time", "number") or phrase.head in _NO_THINGS:
        return False
    return source != "answer" or phrase.named or phrase.start <= 4 or text[: phrase.start].lower().strip() == "the"


def _is_the_answer(phrase: Phrase, turn: Turn) -> bool:
    """ "Who is the landlord of the house?" has an answer that says who: then that name is what is spoken of."""
    asks = _WHO_IS.match(turn.question)
    return bool(asks and turn.answer and phrase.start == asks.end() and not phrase.nested)


def _inside(phrase: Phrase, source: SubjectSource) -> str:
    """As it is written within a question."""
    first, _, rest = phrase.text.partition(" ")
    if first in ("The", "A", "An") and rest:
        return f"{first.lower()} {rest}"
    if phrase.asked_for or (source == "answer" and first.lower() in ("a", "an")):
        bare = rest if first.lower() in ("a", "an") else phrase.text
        return bare if phrase.named else f"the {bare}"
    return phrase.text


def _different(subjects: list[Subject]) -> tuple[Subject, ...]:
    """Each thing once, where it was named last; that it was named elsewhere too is noted."""
    kept: dict[str, Subject] = {}
    for subject in subjects:
        key = bare_name(subject.text)
        if key in kept:
            kept[key] = replace(kept[key], named_again=True)
        elif key:
            kept[key] = subject
    return tuple(kept.values())[:_MOST]


def bare_name(text: str) -> str:
    """A name to compare by: small letters, no article."""
    return re.sub(r"^(?:the|a|an)\s+", "", " ".join(text.lower().split()))
