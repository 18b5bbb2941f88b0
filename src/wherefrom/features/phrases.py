"""The things that a text speaks of: its noun phrases, with what is known of each; English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wherefrom.features.tags import NER, POS, Tagged

PhraseKind = Literal["person", "place", "time", "number", "thing"]

_KINDS: dict[str, PhraseKind] = {
    "PERSON": "person",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "DATE": "time",
    "TIME": "time",
    "PERCENT": "number",
    "MONEY": "number",
    "QUANTITY": "number",
    "ORDINAL": "number",
    "CARDINAL": "number",
}
_PEOPLE = frozenset(
    """actor actress admiral architect artist astronaut astronomer aunt author baker bishop boss boy brother captain
    chair chairman chairwoman chef chemist child coach commander composer conductor daughter dean dentist
    director doctor driver editor emperor empress engineer explorer father founder friend general geographer
    geologist girl governor grandfather grandmother husband inventor journalist judge king lady landlady
    landlord lawyer leader lord man manager mayor mathematician minister monk mother nurse officer owner painter
    philosopher photographer physicist pilot player poet pope president priest prime prince princess professor
    queen scholar scientist secretary singer sister soldier son speaker sultan teacher tenant treasurer uncle
    widow wife woman writer zoologist""".split()
)
_PLACES = frozenset(
    """avenue bay bridge canal cape cathedral church city college county court desert glacier harbour hill hospital
    island islands lake lane mount mountain mountains museum ocean palace park peninsula port river road sea
    square station street tower town tunnel university valley village""".split()
)
_SINGULAR_S = re.compile(r"(?:ss|us|is|ics|news|lens|series|species)$")
_PLURAL = frozenset("men women children people feet teeth mice geese data police bees".split())
_PERSONAL = frozenset(
    "i me my mine you your yours he him his she her hers it its they them their theirs we us our".split()
)
_QUESTION_WORDS = frozenset("who whom whose which what when where why how".split())
_INSIDE = frozenset("-–/&.’'")  # between tokens that are glued together, as in X-ray
# Letters of `_letters`: "the narrow old bridge", "Neptune's largest moon"; "the flat", which may be no noun elsewhere.
_PHRASE = re.compile(r"D?[JNPMh]*[NPM](?:SS[JNPMh]*[NP])*|DJ+")  # linear: a letter for each of few tokens
_MOST = 60  # tokens of a text that are looked at


@dataclass(frozen=True, slots=True)
class Phrase:
    """One noun phrase: characters `start` to `end` of its text."""

    text: str
    start: int
    end: int
    head: str  # its last word, in small letters
    kind: PhraseKind
    named: bool  # a name: of a person, a place, a thing
    plural: bool
    preposition: str = ""  # that stands before it
    nested: bool = False  # a part of a longer one
    asked_for: bool = False  # stands behind the question word: "Which port does ..."


def phrases(text: str, tagged: Tagged) -> list[Phrase]:
    """All noun phrases in their order; a longer one before its parts."""
    spans = tagged.spans[:_MOST]
    small = [text[start:end].lower() for start, end in spans]
    letters = _letters(text, spans, small, tagged)
    made: list[Phrase] = []
    for match in _PHRASE.finditer(letters):
        made += _of(text, tagged, small, letters, *match.span())
    return _longest_with_of(text, made)


def _of(text: str, tagged: Tagged, small: list[str], letters: str, first: int, last: int) -> list[Phrase]:
    """A phrase and, where it holds an owner ("Neptune's moon"), the owner too."""
    asked_for = small[first] in _QUESTION_WORDS or (first > 0 and small[first - 1] in _QUESTION_WORDS)
    while first < last and (small[first] in _QUESTION_WORDS or small[first] in ("many", "much")):
        first, asked_for = first + 1, True
    if first == last:
        return []
    before = small[first - 1] if first and letters[first - 1] == "A" else ""
    made = [_phrase(text, tagged, small, letters, first, last, before, False, asked_for)]
    owner = letters.find("S", first, last)
    if owner > first:
        made.append(_phrase(text, tagged, small, letters, first, owner, before, True, asked_for))
    return made


def _phrase(
    text: str,
    tagged: Tagged,
    small: list[str],
    letters: str,
    first: int,
    last: int,
    preposition: str,
    nested: bool,
    asked_for: bool,
) -> Phrase:
    start, end = tagged.spans[first][0], tagged.spans[last - 1][1]
    head = small[last - 1]
    tags = [NER[tagged.ner[place]] for place in range(first, last)]
    kind = _KINDS.get(tags[-1], "thing")
    if letters[last - 1] == "P" and (head in _PLACES or small[first] in ("lake", "mount", "cape", "river")):
        kind = "place"  # named after a person, as often as not
    elif head in _PEOPLE or (head.endswith("s") and head[:-1] in _PEOPLE):
        kind = "person"
    named = letters[last - 1] == "P" or (tags[-1] != "O" and kind not in ("time", "number"))
    plural = head in _PLURAL or (head.endswith("s") and _SINGULAR_S.search(head) is None and letters[last - 1] == "N")
    plural = plural or (named and head.endswith("s") and small[first] == "the" and kind != "person")
    return Phrase(text[start:end], start, end, head, kind, named, plural, preposition, nested, asked_for)


def _letters(text: str, spans: Sequence[tuple[int, int]], small: Sequence[str], tagged: Tagged) -> str:
    """One letter a token: Determiner, adJective, Noun, Proper noun, nuMber, 'S, Adposition, Verb; h joins two words."""
    letters: list[str] = []
    for place, word in enumerate(small):
        letters.append(_letter(word, POS[tagged.pos[place]], NER[tagged.ner[place]]))
        glued = place > 0 and spans[place - 1][1] == spans[place][0]
        if word == "s" and glued and small[place - 1] in ("'", "’"):
            letters[place - 1 :] = ["S", "S"]
        elif word in _INSIDE and glued and place + 1 < len(spans) and spans[place + 1][0] == spans[place][1]:
            letters[place] = "h"
    if "".join(letters).strip("J") == "" and text[:1].isupper():
        return "P" * len(letters)  # a name alone, which the tagger takes for an adjective
    return "".join(letters)


def _letter(word: str, tag: str, entity: str) -> str:
    if word in _PERSONAL and tag != "PROPN":
        return "D" if word in ("my", "our", "your") else "R"
    if tag == "VERB" and entity in ("PERSON", "GPE", "ORG"):
        return "P"
    letters = {"DET": "D", "ADJ": "J", "NOUN": "N", "PROPN": "P", "NUM": "M", "ADP": "A", "VERB": "V", "AUX": "X"}
    return letters.get(tag, "o")


def _longest_with_of(text: str, made: list[Phrase]) -> list[Phrase]:
    """Also "the treasurer of the choir": two phrases with `of` between."""
    whole: list[Phrase] = []
    for place, phrase in enumerate(made):
        follower = next((each for each in made[place + 1 :] if each.start >= phrase.end), None)
        if follower is not None and text[phrase.end : follower.start].lower() == " of " and not phrase.nested:
            whole.append(replace(phrase, text=text[phrase.start : follower.end], end=follower.end))
    return sorted([*made, *whole], key=lambda phrase: (phrase.start, -phrase.end))
