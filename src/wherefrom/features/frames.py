"""What is left of a question without its question word, so that another fits: "did Iceland become a republic".

When did Iceland become a republic?      did Iceland become a republic
Who founded the library? (Bronagh Teale)     did Bronagh Teale found the library; was the library founded
Who is the treasurer? (Pim Aldous)       is Pim Aldous the treasurer
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wherefrom.features.tags import POS, Tagged
from wherefrom.text import Span

FrameKind = Literal["rest", "copular", "active", "passive", "whether"]

_AUXILIARIES = frozenset(
    """am is are was were do does did has have had can could will would shall should may might must""".split()
)
_BE = frozenset("is are was were".split())
_QUESTION_WORDS = frozenset("who whom whose which what when where why how".split())
_DANGLING = re.compile(r"(?<!\s)\s+(?:to|from|in|on|at|for|with|by|of|about|into|under|over)$")
_LONGEST_ANSWER = 8  # words that can stand as the subject of a question

_IRREGULAR = {
    past: (base, participle)
    for line in """become became become|begin began begun|bear bore borne|bite bit bitten|break broke broken|bring
    brought brought|build built built|burn burnt burnt|buy bought bought|catch caught caught|choose
    chose chosen|come came come|cut cut cut|deal dealt dealt|draw drew drawn|drive drove driven|fall
    fell fallen|feel felt felt|fight fought fought|find found found|fly flew flown|forbid forbade
    forbidden|get got got|give gave given|go went gone|grow grew grown|have had had|hear heard
    heard|hide hid hidden|hold held held|keep kept kept|know knew known|lead led led|leave left
    left|lend lent lent|lose lost lost|make made made|mean meant meant|meet met met|pay paid
    paid|put put put|read read read|ride rode ridden|ring rang rung|rise rose risen|run ran run|say
    said said|see saw seen|seek sought sought|sell sold sold|send sent sent|set set set|shoot shot
    shot|show showed shown|sing sang sung|sink sank sunk|sit sat sat|sleep slept slept|speak spoke
    spoken|spend spent spent|stand stood stood|steal stole stolen|strike struck struck|swim swam
    swum|take took taken|teach taught taught|tell told told|think thought thought|throw threw
    thrown|wear wore worn|win won won|write wrote written""".split("|")
    for base, past, participle in [line.split()]
}


@dataclass(frozen=True, slots=True)
class Frame:
    """A question without what it asks for."""

    text: str
    kind: FrameKind
    opening: str  # the question words: "at what time", "how many official languages"
    noun: str = ""  # of them: "official languages"


def frames(question: str, tagged: Tagged, answer: str) -> list[Frame]:
    """All frames of a question and its short answer; none where it has no known form."""
    text = question.strip().rstrip("?!. ")
    spans = [span for span in tagged.spans if span[1] <= len(text)]
    words = [text[start:end].lower() for start, end in spans]
    if not words:
        return []
    if words[0] in _AUXILIARIES:
        return [Frame(text[:1].lower() + text[1:], "whether", "")]
    asking = next((place for place, word in enumerate(words[:3]) if word in _QUESTION_WORDS), None)
    verb = _first_verb(words, tagged, asking)
    if asking is None or verb is None:
        return []
    opening = text[: spans[verb][0]].strip()
    noun = text[spans[asking][1] : spans[verb][0]].strip()
    noun = re.sub(r"^(?:many|much)\b\s*", "", noun) if noun.lower().split()[:1] in (["many"], ["much"]) else noun
    rest = text[spans[verb][0] :]
    subject = answer.strip().rstrip(".") if 0 < len(answer.split()) <= _LONGEST_ANSWER else ""
    if words[verb] in _AUXILIARIES and verb + 1 < len(words):
        return _with_auxiliary(rest, words, verb, opening, noun, subject)
    return _without_auxiliary(text, spans, words, verb, opening, noun, subject)


def _first_verb(words: Sequence[str], tagged: Tagged, asking: int | None) -> int | None:
    """The auxiliary, or the verb, that follows the question words."""
    if asking is None:
        return None
    for place in range(asking + 1, len(words)):
        if words[place] in _AUXILIARIES or POS[tagged.pos[place]] in ("VERB", "AUX"):
            return place
    return None


def _with_auxiliary(rest: str, words: Sequence[str], verb: int, opening: str, noun: str, subject: str) -> list[Frame]:
    # "Where was it moved to": without the question word its preposition has nothing to go with.
    dangling = _DANGLING.search(rest) if opening.lower() in ("where", "what", "who", "whom", "which") or noun else None
    made = [Frame(rest[: dangling.start()] if dangling else rest, "rest", opening, noun)]
    if words[verb] in _BE and subject and opening.split()[-1].lower() in ("who", "what", "which"):
        auxiliary, _, after = rest.partition(" ")
        made.insert(0, Frame(f"{auxiliary} {subject} {after}", "copular", opening, noun))
    return made


def _without_auxiliary(
    text: str, spans: Sequence[Span], words: Sequence[str], verb: int, opening: str, noun: str, subject: str
) -> list[Frame]:
    """The question word is the subject: the answer takes its place, or the object does."""
    word, after = words[verb], text[spans[verb][1] :].strip()
    if verb + 1 < len(words) and words[verb + 1] in ("down", "up", "out", "over", "off", "in"):
        return _active(word, after, opening, noun, subject)
    _, participle = verb_forms(word)
    if not after or not participle:
        return _active(word, after, opening, noun, subject)
    be = "were" if re.search(r"^(?:the\s+)?\w+(?<!s)s\b(?!\s+[A-Z])", after) and after[:1].islower() else "was"
    return [
        *_active(word, after, opening, noun, subject),
        Frame(f"{be} {after} {participle}", "passive", opening, noun),
    ]


def _active(word: str, after: str, opening: str, noun: str, subject: str) -> list[Frame]:
    base, participle = verb_forms(word)
    if not subject:
        return []
    do = "did" if participle else "does"
    return [Frame(f"{do} {subject} {base} {after}".strip(), "active", opening, noun)]


def verb_forms(word: str) -> tuple[str, str]:
    """The base form of a verb in the past, and its participle; of one in the present the base form alone."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ied"):
        return word[:-3] + "y", word
    if word.endswith("ed") and len(word) > 4:
        return _without_ed(word[:-2]), word
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2], ""
    if word.endswith("ies"):
        return word[:-3] + "y", ""
    return (word[:-1], "") if word.endswith("s") and not word.endswith("ss") else (word, "")


def _without_ed(stem: str) -> str:
    """found(ed), plan(ned), share(d), deciphe(re)d."""
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsfz":
        return stem[:-1]
    if re.search(
        r"(?:[^aeiou][aeiou](?:[cgsvz]|t(?<=at|et|ot|ut|it))|[aeiou]r(?<=ar|or|ir|ur)|u|[^aeiou]l|[cgv]|ns)$", stem
    ):
        return stem if re.search(r"(?:it|et|or)$", stem) else stem + "e"
    return stem
