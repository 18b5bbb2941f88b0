"""What a follow-up may mean: whole questions made of it by rule, one for each thing that it can refer to; English.

    typed after "Where was Marie Curie born?" (Warsaw)         may mean
    when did she die?                                          When did Marie Curie die?
    and Ada Lovelace?                                          Where was Ada Lovelace born?
    why?                                                       Why was Marie Curie born?
    how large is the city?                                     How large is Warsaw?

The first reading is always the question as it was typed. Which one was meant, `meant.py` judges.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wherefrom.features.frames import Frame, frames
from wherefrom.features.gaps import CALLED_PEOPLE, GENERIC, Gap, gaps, item
from wherefrom.features.phrases import Phrase, phrases
from wherefrom.features.subjects import Background, Subject, background, bare_name
from wherefrom.features.tags import POS, Tagged, Tagger
from wherefrom.types import Turn

ReadingWay = Literal["typed", "gap", "replaced", "joined", "added", "reframed", "measure", "of"]

MOST = 60  # readings of one follow-up
_LEAD = re.compile(
    r"^\W*(?:(?:and|but|so|ok(?:ay)?|then|also|now|well|no|yes|sorry|hm+|um+|ah|oh|thanks|thank you|great)\b"
    r"[\s,.!:–-]*)+",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"^\W*(?:what|how) about\s+|^\W*(?:i|we) (?:mean|meant)\s+", re.IGNORECASE)
_BARE = re.compile(
    r"^(?:(?P<preposition>in|on|at|from|by|to|for|since|until|with|of|about|under)\s+)?"
    r"(?P<word>why|when|where|who|whom|whose|which|what|how)(?P<more>(?:\s+[\w’'-]+){0,3})\s*[?.!]*$",
    re.IGNORECASE,
)
_WHY_SO = re.compile(r"^(?:why(?:\s+(?:is|was)|['’]s)\s+(?:that|this|it)|how\s+(?:so|come))\s*[?.!]*$", re.IGNORECASE)
_MEASURES = frozenset(
    """big broad cold deep expensive far fast heavy high hot large long loud old slow small strong tall thick warm wide
    young""".split()
)
_QUESTION_WORDS = frozenset("who whom whose which what when where why how".split())
_SHORT = 9  # words of a fragment


@dataclass(frozen=True, slots=True)
class Reading:
    """One whole question that a follow-up may mean, and how it was made."""

    text: str
    way: ReadingWay
    gap: Gap | None = None  # that was filled ...
    subject: Subject | None = None  # ... with this
    second: Subject | None = None  # in a second gap
    second_gap: Gap | None = None
    replaced: Phrase | None = None  # of the question before ...
    by: Phrase | None = None  # ... by this one of the follow-up
    frame: Frame | None = None  # of the question before, behind other question words


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A typed question beside its conversation, with all its readings."""

    typed: str
    lead: str  # "and", "what about": what was left out
    rest: str
    phrases: tuple[Phrase, ...]
    gaps: tuple[Gap, ...]
    verbs: int
    background: Background
    readings: tuple[Reading, ...]


def follow_up(typed: str, turns: Sequence[Turn], tagger: Tagger) -> FollowUp:
    """All readings of a typed question after these turns; without turns it has only itself."""
    known = background(turns, tagger)
    lead, rest = without_lead(typed)
    last = known.turns[0].question if known.turns else ""
    tagged, tagged_last = tagger.tag([rest, last])
    made = phrases(rest, tagged)
    holes = gaps(rest, tagged, made)
    verbs = sum(POS[tag] in ("VERB", "AUX") for tag in tagged.pos)
    every = [Reading(typed.strip(), "typed")]
    if known.turns:
        every += _made(lead, rest, made, holes, verbs, known, tagged_last)
    return FollowUp(typed, lead, rest, tuple(made), tuple(holes), verbs, known, _different(every))


def without_lead(typed: str) -> tuple[str, str]:
    """ "And what about Germany?" as what leads up to it, and the rest."""
    text = typed.strip()
    first = _LEAD.match(text)
    rest = text[first.end() :] if first and first.end() < len(text) else text
    about = _ABOUT.match(rest)
    rest = rest[about.end() :] if about and about.end() < len(rest) else rest
    return text[: len(text) - len(rest)].strip().lower(), rest


def _made(
    lead: str,
    rest: str,
    made: Sequence[Phrase],
    holes: Sequence[Gap],
    verbs: int,
    known: Background,
    tagged_last: Tagged,
) -> Iterator[Reading]:
    last = known.turns[0]
    bare = "why?" if _WHY_SO.match(rest) else rest
    match = _BARE.match(bare)
    if match and (bare != rest or not (verbs or holes)):
        return itertools.chain(
            _reframed(match, frames(last.question, tagged_last, last.answer)), _measured(match, known.subjects)
        )
    fragment = not verbs and len(rest.split()) <= _SHORT and rest.split()[0].lower() not in _QUESTION_WORDS
    if fragment or (lead.endswith("about") and not holes):
        return _replaced(rest, made, holes, known)
    return itertools.chain(_filled(rest, holes, known), _of(rest, made, known.subjects))


def _filled(rest: str, holes: Sequence[Gap], known: Background) -> Iterator[Reading]:
    """Gaps filled with subjects: one gap with each, then two gaps with each pair."""
    fitting = {gap: [subject for subject in known.subjects if _may_fill(gap, subject)] for gap in holes}
    for gap in holes:
        if gap.kind == "one":
            if chosen := item(known.items, gap.noun):
                yield Reading(_question(rest[: gap.start] + chosen + rest[gap.end :]), "gap", gap)
            continue
        for subject in fitting[gap]:
            yield Reading(_question(_put(rest, [(gap, subject)])), "gap", gap, subject)
    for one, other in itertools.combinations([gap for gap in holes if gap.kind != "one"], 2):
        for subject, second in itertools.product(fitting[one][:5], fitting[other][:5]):
            if subject.text != second.text:
                text = _question(_put(rest, [(one, subject), (other, second)]))
                yield Reading(text, "gap", one, subject, second, other)


def _may_fill(gap: Gap, subject: Subject) -> bool:
    phrase = subject.phrase
    if gap.kind in ("definite", "noun"):
        own = [word.lower() for word in subject.text.split()]
        called = gap.noun in GENERIC and phrase.named and (gap.noun in CALLED_PEOPLE) == (phrase.kind == "person")
        return called or gap.noun in (own[-1:] if gap.kind == "definite" and not phrase.named else own)
    if gap.kind in ("he", "she"):
        return phrase.kind == "person" or (phrase.named and subject.source != "title")
    return True


def _put(rest: str, filled: Sequence[tuple[Gap, Subject]]) -> str:
    for gap, subject in sorted(filled, key=lambda pair: -pair[0].start):
        name = subject.text
        if gap.owning:
            name += "'" if subject.phrase.plural and name.endswith("s") else "'s"
        elif gap.kind == "there":
            name = f"{subject.phrase.preposition or 'in'} {name}"
        rest = rest[: gap.start] + name + rest[gap.end :]
    return rest


def _replaced(rest: str, made: Sequence[Phrase], holes: Sequence[Gap], known: Background) -> Iterator[Reading]:
    """A phrase of the last question replaced by the fragment, or the fragment added to its end."""
    question = known.turns[0].question.strip().rstrip("?!. ")
    fragment = rest.strip().rstrip("?!. ")
    by = next((phrase for phrase in made if not phrase.nested), None)
    joined = by is not None and bool(by.preposition) and by.start > 0
    one = next((gap for gap in holes if gap.kind == "one"), None)
    name = item(known.items, one.noun) if one else fragment
    described = re.match(r"(?i)(the\s++(?!ones?$))?+(.*\S)\s+ones?$", fragment)
    for phrase in known.question_phrases:
        before, after = question[: phrase.start], question[phrase.end :]
        if described and not one:
            new = f"{described[1] or ''}{described[2]} {phrase.head}"
            yield Reading(_question(before + new + after), "replaced", replaced=phrase, by=by)
        elif joined and by is not None:
            if phrase.preposition:
                whole = re.sub(rf"\b{phrase.preposition}\s+$", "", before, flags=re.IGNORECASE)
                yield Reading(_question(whole + fragment + after), "joined", replaced=phrase, by=by)
            bare = fragment[by.start :]
            yield Reading(_question(before + bare + after), "replaced", replaced=phrase, by=by)
        elif name:
            yield Reading(_question(before + name + after), "replaced", replaced=phrase, by=by)
    yield Reading(_question(f"{question} {fragment}"), "added", by=by)


def _reframed(match: re.Match[str], known: Sequence[Frame]) -> Iterator[Reading]:
    """Other question words before what is left of the last question."""
    more = match["more"].lower().split()
    negated = more == ["not"]
    words = match[0].strip().rstrip("?!. ")
    if negated or (match["word"].lower() == "why" and more):
        words = "why"
    for frame in known:
        text = frame.text
        if more[-1:] in (["one"], ["ones"]):
            if not frame.noun:
                continue
            words = f"which {frame.noun}"
        measure = re.fullmatch(r"(?i)how (\w+)", frame.opening)
        if words == "why" and measure and measure[1].lower() in _MEASURES:
            text = f"{text} so {measure[1].lower()}"
        if negated:
            text = re.sub(r"^(\S+\s+(?:the\s+\S+|[A-Z]\S*(?:\s+[A-Z]\S*)*|\S+))", r"\1 not", text, count=1)
        yield Reading(_question(f"{words} {text}"), "reframed", frame=frame)


def _measured(match: re.Match[str], subjects: Sequence[Subject]) -> Iterator[Reading]:
    """ "how deep?", "what colour?" of each subject."""
    more = match["more"].split()
    word = match["word"].lower()
    measure = word == "how" and len(more) == 1 and more[0].lower() in _MEASURES
    if measure or (word in ("what", "which") and len(more) == 1 and more[0].lower() not in ("one", "ones", "else")):
        for subject in subjects:
            be = "are" if subject.phrase.plural else "is"
            yield Reading(_question(f"{word} {more[0]} {be} {subject.text}"), "measure", subject=subject)


def _of(rest: str, made: Sequence[Phrase], subjects: Sequence[Subject]) -> Iterator[Reading]:
    """ "What is the capital?" of each subject."""
    question = rest.strip().rstrip("?!. ")
    last = next((phrase for phrase in reversed(made) if phrase.end == len(question)), None)
    if last is None or not last.text.lower().startswith("the ") or last.preposition == "of" or last.named:
        return
    for subject in subjects:
        if last.head not in bare_name(subject.text).split():
            yield Reading(_question(f"{question} of {subject.text}"), "of", subject=subject)


def _question(text: str) -> str:
    text = " ".join(text.split()).strip().rstrip("?!. ")
    return f"{text[:1].upper()}{text[1:]}?"


def _different(readings: Sequence[Reading]) -> tuple[Reading, ...]:
    kept: dict[str, Reading] = {}
    for reading in readings:
        kept.setdefault(reading.text.lower(), reading)
    return tuple(kept.values())[:MOST]
