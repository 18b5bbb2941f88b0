"""Which of its readings a follow-up means, by a small network run with numpy; English.

It sees no names: how a reading was made, what stands for what, where the thing was spoken of, whether the two agree. Of
the words only a few hundred rows that all of them share, so that "born" can speak for a person and "deep" for a lake.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import get_args

import numpy
from numpy.typing import NDArray

from wherefrom.errors import WherefromError
from wherefrom.features.followups import FollowUp, Reading, ReadingWay, follow_up
from wherefrom.features.frames import Frame, FrameKind
from wherefrom.features.gaps import GENERIC, Gap, GapKind
from wherefrom.features.phrases import Phrase
from wherefrom.features.subjects import Subject, SubjectSource, bare_name
from wherefrom.features.tags import ModelFiles, Tagger, shape
from wherefrom.text import FUNCTION_WORDS, words
from wherefrom.types import Meaning, Turn

FILE = "followup.npz"
ROWS = 192  # that the words of a typed question fall into
_WAYS: tuple[ReadingWay, ...] = get_args(ReadingWay)
_GAPS: tuple[GapKind, ...] = get_args(GapKind)
_SOURCES: tuple[SubjectSource, ...] = get_args(SubjectSource)
_FRAMES: tuple[FrameKind, ...] = get_args(FrameKind)
_ASKS = ("who", "where", "when", "what", "which", "how", "why")
_KINDS = ("person", "place", "thing")
_BEGINNINGS = frozenset(
    """who whom whose which what when where why how is are was were do does did has have had can could will would should
    may might must name in on at to for from by""".split()
)

_Floats = NDArray[numpy.float32]


class FollowUpError(WherefromError):
    """The weights cannot be read; the message names the file and the remedy."""

    exit_code = 3


class FollowUps:
    """Tells what follow-ups mean; may be shared between threads. Weights load on first use."""

    def __init__(self, weights: ModelFiles, tagger: Tagger) -> None:
        self._weights = weights
        self._tagger = tagger

    def meanings(self, typed: str, turns: Sequence[Turn]) -> list[Meaning]:
        """All readings of what was typed after these turns, the likeliest first; without turns there is one."""
        read = follow_up(typed, turns, self._tagger)
        if len(read.readings) == 1:
            return [Meaning(typed.strip(), 1.0, True)]
        logits = self._logits(numbers(read))
        chances = numpy.exp(logits - logits.max())
        chances = chances / chances.sum()
        order = numpy.argsort(-chances, kind="stable")
        return [
            Meaning(read.readings[place].text, float(chances[place]), read.readings[place].way == "typed")
            for place in order
        ]

    def _logits(self, seen: _Floats) -> _Floats:
        arrays = self._arrays
        states: _Floats = (seen - arrays["mean"]) / arrays["scale"]
        states = numpy.maximum(states @ arrays["first.weight"].T + arrays["first.bias"], 0.0)
        states = numpy.maximum(states @ arrays["second.weight"].T + arrays["second.bias"], 0.0)
        logits: _Floats = (states @ arrays["out.weight"].T + arrays["out.bias"])[:, 0]
        return logits

    @cached_property
    def _arrays(self) -> dict[str, _Floats]:
        file = self._weights.file(FILE)
        try:
            with file.open("rb") as opened, numpy.load(opened, allow_pickle=False) as arrays:
                return {name: array.astype(numpy.float32) for name, array in arrays.items()}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise FollowUpError(f"{file} cannot be read ({error}); install wherefrom again") from error


def numbers(read: FollowUp) -> _Floats:
    """What the network sees of every reading: (readings, features)"""
    shared = _of_question(read)
    rows = _word_rows(read.rest)
    seen = numpy.array([[*shared, *_of_reading(reading, read)] for reading in read.readings], numpy.float32)
    return numpy.concatenate([seen, numpy.tile(rows, (len(seen), 1))], axis=1)


def _of_question(read: FollowUp) -> list[float]:
    """What all readings have in common."""
    small = [read.rest[start:end].lower() for start, end in words(read.rest)]
    gaps = {gap.kind: gap for gap in read.gaps}
    last = read.background.turns[0] if read.background.turns else Turn("")
    opening = (last.question.lower().split() or [""])[0]
    own = {bare_name(phrase.text) for phrase in read.phrases}
    subjects = {bare_name(subject.text) for subject in read.background.subjects}
    return [
        min(len(small), 20) / 10,
        len(small) <= 2,
        len(small) <= 4,
        bool(read.lead),
        read.lead.endswith("about"),
        min(read.verbs, 3) / 2,
        bool(small) and small[0] in _BEGINNINGS,
        min(sum(word not in FUNCTION_WORDS and word[:1].isalnum() for word in small), 10) / 5,
        min(sum(phrase.named for phrase in read.phrases), 3) / 2,
        min(len(read.phrases), 5) / 3,
        bool(own & subjects),
        any(gap.bound for gap in read.gaps),
        any(gap.before > 1 for gap in read.gaps),
        any(gap.bound and gap.clause for gap in read.gaps),
        any(gap.opens for gap in read.gaps),
        any(gap.named for gap in read.gaps),
        any(gap.owning and gap.bound for gap in read.gaps),
        not last.answer,
        any(item.phrase.kind == "person" for item in read.background.subjects),
        sum(item.phrase.kind == "person" for item in read.background.subjects) > 1,
        min(len(read.background.subjects), 8) / 4,
        len(read.background.items) > 1,
        *(kind in gaps for kind in _GAPS),
        *(kind in gaps and not gaps[kind].bound for kind in _GAPS),
        *(opening == word for word in _ASKS),
    ]


def _of_reading(reading: Reading, read: FollowUp) -> list[float]:
    return [
        *(reading.way == way for way in _WAYS),
        *_of_pair(reading.gap, reading.subject, read),
        *_of_pair(reading.second_gap, reading.second, read),
        *_of_change(reading.replaced, reading.by, read),
        *_of_frame(reading.frame, reading.way == "reframed"),
    ]


def _of_pair(gap: Gap | None, subject: Subject | None, read: FollowUp) -> list[float]:
    """A gap and what fills it."""
    phrase = subject.phrase if subject else None
    kind = gap.kind if gap else ""
    person = phrase is not None and phrase.kind == "person"
    plural = phrase is not None and phrase.plural
    own = {bare_name(each.text) for each in read.phrases}
    named = subject is not None and subject.phrase.named
    rank = read.background.subjects.index(subject) if subject else 0
    return [
        gap is not None,
        subject is not None,
        *(kind == each for each in _GAPS),
        gap is not None and gap.owning,
        gap is not None and gap.bound,
        gap is not None and gap.before > 1,
        gap is not None and gap.clause,
        gap is not None and gap.clause and gap.bound,
        gap is not None and gap.opens,
        gap is not None and gap.named,
        gap is not None and gap.owning and gap.bound,
        kind in ("he", "she") and person,
        kind in ("he", "she") and not person and subject is not None,
        kind == "it" and person,
        kind == "it" and plural,
        kind == "they" and plural,
        kind == "they" and person,
        kind == "there" and phrase is not None and phrase.kind == "place",
        gap is not None and subject is not None and gap.noun in bare_name(subject.text).split()[-1:],
        gap is not None and gap.noun in GENERIC,
        *(subject is not None and subject.source == source for source in _SOURCES),
        subject is not None and subject.back > 0,
        subject is not None and subject.back > 1,
        subject is not None and subject.place == 0,
        subject is not None and subject.place == subject.parts - 1,
        named,
        plural,
        *(phrase is not None and phrase.kind == each for each in _KINDS),
        phrase is not None and phrase.asked_for,
        phrase is not None and phrase.nested,
        phrase is not None and bool(phrase.preposition),
        phrase is not None and phrase.preposition == "of",
        subject is not None and subject.named_again,
        subject is not None and " of " in subject.text,
        subject is not None and subject.text.lower().startswith("the "),
        min(len(subject.text.split()), 8) / 4 if subject else 0.0,
        min(rank, 6) / 3,
        subject is not None and bare_name(subject.text) in own,
    ]


def _of_change(replaced: Phrase | None, by: Phrase | None, read: FollowUp) -> list[float]:
    """A phrase of the last question and what is put in its place."""
    both = replaced is not None and by is not None
    every = read.background.question_phrases
    return [
        replaced is not None,
        by is not None,
        bool(by and by.preposition and by.start > 0),
        both and replaced.kind == by.kind,  # type: ignore[union-attr]
        both and replaced.named == by.named,  # type: ignore[union-attr]
        both and replaced.plural == by.plural,  # type: ignore[union-attr]
        both and shape(replaced.text) == shape(by.text),  # type: ignore[union-attr]
        both and shape(replaced.head) == shape(by.head),  # type: ignore[union-attr]
        both and replaced.head == by.head,  # type: ignore[union-attr]
        both and bool(by.preposition) and replaced.preposition == by.preposition,  # type: ignore[union-attr]
        both and _article(replaced.text) == _article(by.text),  # type: ignore[union-attr]
        both and abs(len(replaced.text.split()) - len(by.text.split())) > 2,  # type: ignore[union-attr]
        replaced is not None and bool(every) and replaced == every[0],
        replaced is not None and bool(every) and replaced == every[-1],
        replaced is not None and replaced.nested,
        replaced is not None and replaced.asked_for,
        replaced is not None and replaced.named,
        replaced is not None and bool(replaced.preposition),
        replaced is not None and " of " in replaced.text,
        *(replaced is not None and replaced.kind == kind for kind in ("person", "place", "time", "number", "thing")),
        *(by is not None and by.kind == kind for kind in ("person", "place", "time", "number", "thing")),
    ]


def _article(text: str) -> str:
    first = text.lower().split()[0]
    return first if first in ("the", "a", "an") else ""


def _of_frame(frame: Frame | None, reframed: bool) -> list[float]:
    return [reframed, *(frame is not None and frame.kind == kind for kind in _FRAMES)]


def _word_rows(text: str) -> _Floats:
    rows = numpy.zeros(ROWS, numpy.float32)
    for word in re.findall(r"[^\W\d_]+", text.lower()):
        rows[_row(word)] = 1.0
    return rows


@lru_cache(maxsize=1 << 15)
def _row(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") % ROWS
