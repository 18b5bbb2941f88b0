"""What in a follow-up stands for a thing named before: "it", "her", "that lake", "there", "the second one"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wherefrom.features.phrases import Phrase
from wherefrom.features.tags import POS, Tagged

GapKind = Literal["he", "she", "it", "they", "this", "noun", "definite", "there", "one"]

_PRONOUNS: dict[str, GapKind] = {
    "he": "he",
    "him": "he",
    "his": "he",
    "himself": "he",
    "she": "she",
    "her": "she",
    "hers": "she",
    "herself": "she",
    "it": "it",
    "its": "it",
    "itself": "it",
    "they": "they",
    "them": "they",
    "their": "they",
    "theirs": "they",
}
_OWNING = frozenset("his its their hers theirs".split())
_POINTING = frozenset("this that these those".split())
_AUXILIARIES = frozenset(
    "is are was were do does did has have had can could will would shall should may might must".split()
)
_CLAUSES = frozenset("when while that which who because if after before since as although though where so ,".split())
_BE = frozenset("is are was were be been 's".split())
# "how long does it take to ...", "is it possible that ...", "is it true ...", "it is said", "it rains".
_EMPTY_IT = re.compile(
    r"\bit\b(?=\s+(?:takes?|took|taken|rains?|rained|snows?|snowed|cost\s+to|mean\s+to|possible|true|necessary|allowed"
    r"|important|safe|legal|likely|easy|hard|better|enough"
    r"|(?:is|was)\s+(?:said|possible|true|necessary|allowed|likely)))"
    r"|\b(?:is|was)\s+it\s+(?:that|who|which)\b|\bit\s+(?:is|was)\s+that\b"
    r"|\b(?:is|was)\s+it\s+\w+\s+(?:that|to|when|if|for)\b|\bit\s+(?:is|was)\s+(?:\w+\s+)?\w+\s+(?:that|to|for|when)\b"
)
# Nouns by which people are called again ...
CALLED_PEOPLE = frozenset(
    "artist author composer emperor king man person president queen ruler scientist woman writer".split()
)
# ... and by which any thing of their kind can be called again.
GENERIC = frozenset(
    """airport animal area army artist author band bank bird book bridge building cabin car castle cathedral church
    city club college colony community company composer continent country county department device disease
    district document drug element emperor empire family film firm fish flower game government group harbour
    hospital house island king kingdom lake language law library line machine man material metal method
    metropolis mineral mountain museum nation network newspaper novel object office organisation organization
    painting park parliament part party people person place planet plant play port president program project
    province queen railway region religion republic rest river road ruler school scientist sea server ship show
    site society software song space species sport state station stone story street substance symbol system team
    temple territory thing tool tower town train tree tribe university valley vessel village woman word work
    writer""".split()
)


@dataclass(frozen=True, slots=True)
class Gap:
    """Characters of a follow-up that stand for a thing named before."""

    start: int
    end: int
    kind: GapKind
    owning: bool = False  # "its", "their": put in with 's
    noun: str = ""  # of "that lake"; what "one" is told by in "the second one"
    bound: bool = False  # something before it in the same question may be what it stands for
    before: int = 0  # phrases before it that fit, two at most
    clause: bool = False  # it stands behind "when", "that", "because" or a comma, in a clause of its own
    named: bool = False  # one of those phrases is a name
    opens: bool = False  # it stands where the subject of the question does: "when did she"


def gaps(text: str, tagged: Tagged, made: Sequence[Phrase]) -> list[Gap]:
    """The first gap of each kind, in order."""
    small = text.lower()
    words = [small[start:end] for start, end in tagged.spans]
    empty = {match.start() for match in _EMPTY_IT.finditer(small)}
    listed = [*_pronouns(text, words, tagged, made, empty), *_pointing(words, tagged), *_definite(text, made)]
    listed += [*_there(words, tagged), *_ones(small)]
    first: dict[str, Gap] = {}
    for gap in sorted(listed, key=lambda each: (each.start, -each.end)):
        inside_other = any(other.start <= gap.start < other.end for other in first.values())
        if gap.kind not in first and not inside_other:
            first[gap.kind] = gap
    return list(first.values())


def _pronouns(text: str, words: list[str], tagged: Tagged, made: Sequence[Phrase], empty: set[int]) -> list[Gap]:
    listed = []
    for place, word in enumerate(words):
        kind = _PRONOUNS.get(word)
        start, end = tagged.spans[place]
        if kind is None or text[start:end] in ("IT", "HE") or (word == "it" and _is_empty(start, small_empty=empty)):
            continue
        fits = _fitting(kind, start, made)
        contracted = word == "it" and words[place + 1 : place + 3] in (["'", "s"], ["’", "s"])
        if contracted or (word.endswith("self") and fits):
            continue
        owning = word in _OWNING or (word == "her" and _owns(place, words, tagged))
        clause = any(other in _CLAUSES for other in words[1:place])
        opens = place > 0 and words[place - 1] in _AUXILIARIES and not clause
        listed.append(Gap(start, end, kind, owning, "", bool(fits), min(len(fits), 2), clause, any(fits), opens))
    return listed


def _is_empty(start: int, small_empty: set[int]) -> bool:
    return any(abs(start - other) <= 4 and start >= other for other in small_empty)


def _owns(place: int, words: list[str], tagged: Tagged) -> bool:
    """Whether "her" is followed by what she has."""
    return place + 1 < len(words) and POS[tagged.pos[place + 1]] in ("NOUN", "PROPN", "ADJ", "NUM")


def _fitting(kind: str, start: int, made: Sequence[Phrase]) -> list[bool]:
    """The phrases before a pronoun that it may stand for: whether each is a name."""
    fitting = []
    for phrase in made:
        if phrase.end > start or phrase.kind in ("time", "number"):
            continue
        person = phrase.kind == "person" or (phrase.named and not phrase.plural)
        thing = kind == "they" or (phrase.kind != "person" and not phrase.plural)
        if person if kind in ("he", "she") else thing:
            fitting.append(phrase.named)
    return fitting


def _pointing(words: list[str], tagged: Tagged) -> list[Gap]:
    """this, that: alone, or with a noun."""
    listed = []
    for place, word in enumerate(words):
        if word not in _POINTING:
            continue
        after = place + 1
        while after < len(words) and POS[tagged.pos[after]] in ("NOUN", "PROPN", "ADJ", "NUM"):
            after += 1
        start = tagged.spans[place][0]
        before = words[place - 1] if place else ""
        if after > place + 1:
            follower = POS[tagged.pos[after]] if after < len(words) else ""
            behind_noun = place > 0 and POS[tagged.pos[place - 1]] in ("NOUN", "PROPN")
            clause = follower in ("VERB", "AUX") and before not in _BE
            relative = word == "that" and POS[tagged.pos[place]] != "DET" and (behind_noun or clause)
            if not relative:
                listed.append(Gap(start, tagged.spans[after - 1][1], "noun", noun=words[after - 1]))
            continue
        at_end = all(not other.isalnum() for other in words[place + 1 :])
        alone = POS[tagged.pos[place]] in ("PRON", "DET") and (
            before in _BE or before in ("do", "does", "did") or at_end
        )
        if alone:
            listed.append(Gap(start, tagged.spans[place][1], "this"))
    return listed


def _definite(text: str, made: Sequence[Phrase]) -> list[Gap]:
    """ "the lake", "the city", without more: only of what can be called so."""
    return [
        Gap(phrase.start, phrase.end, "definite", noun=phrase.head)
        for phrase in made
        if not phrase.nested
        and len(phrase.text.split()) == 2
        and phrase.text.lower().startswith("the ")
        and phrase.head not in ("one", "ones")
        and not text[phrase.end :].lower().startswith((" of ", "'s", "’s"))
    ]


def _there(words: list[str], tagged: Tagged) -> list[Gap]:
    listed = []
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        before = words[place - 1] if place else ""
        if word == "there" and before not in _BE | {"has", "have", "had"} and after not in _BE and before != "out":
            listed.append(Gap(*tagged.spans[place], "there"))
    return listed


def _ones(small: str) -> list[Gap]:
    return [
        Gap(match.start(), match.end(), "one", noun=match[1])
        for match in re.finditer(
            r"\bthe\s+(first|second|third|fourth|fifth|last|other|former|latter)(?:\s+ones?)?\b", small
        )
        if match[0].endswith(("one", "ones", "former", "latter")) or small[match.end() :].strip(" ?!.") == ""
    ]


_ORDER = {
    "first": 0,
    "former": 0,
    "second": 1,
    "third": 2,
    "fourth": 3,
    "fifth": 4,
    "last": -1,
    "latter": -1,
    "other": -1,
}


def item(items: Sequence[str], told_by: str) -> str:
    """The item of a list that "the second one" means; empty where there is none."""
    place = _ORDER.get(told_by, len(items))
    return items[place] if -len(items) <= place < len(items) else ""
