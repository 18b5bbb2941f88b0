"""Made conversations as the network sees them: numbers of every reading, and which one is meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from wherefrom.features.followups import FollowUp, follow_up, without_lead
from wherefrom.features.meant import numbers
from wherefrom.features.subjects import title_name
from wherefrom.features.tags import Tagged, Tagger
from wherefrom.metrics.answers import token_f1
from wherefrom.systems.followup.talks import Talk, is_meant
from wherefrom.train.progress import paced
from wherefrom.train.stages import Say

_TOGETHER = 512  # texts that are tagged at a time

Numbers = NDArray[numpy.float32]
Places = NDArray[numpy.int64]


class RememberingTagger(Tagger):
    """Tags every text once, and many at a time where they are named before: what is made asks for the same again."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self._known: dict[str, Tagged] = {}

    def tag(self, texts: Sequence[str]) -> list[Tagged]:
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        for begin in range(0, len(new), _TOGETHER):
            some = new[begin : begin + _TOGETHER]
            self._known.update(zip(some, self._tagger.tag(some), strict=True))
        return [self._known[text] for text in texts]


@dataclass(frozen=True, slots=True)
class FollowUpMaterial:
    """Readings of many follow-ups, one after another."""

    seen: Numbers  # (readings, features)
    gold: NDArray[numpy.bool_]  # (readings,)
    starts: Places  # (follow-ups + 1,): where each one's readings begin
    ways: NDArray[Any]  # (follow-ups,): how it was made
    overlap: Numbers  # (readings,): word F1 with what is meant
    simple: Places  # (follow-ups,): the reading that the plain rule takes

    @property
    def count(self) -> int:
        return len(self.ways)

    def save(self, path: Path) -> None:
        with path.open("wb") as file:
            numpy.savez_compressed(
                file,
                seen=self.seen.astype(numpy.float16),
                gold=self.gold,
                starts=self.starts,
                ways=self.ways,
                overlap=self.overlap,
                simple=self.simple,
            )

    @classmethod
    def load(cls, path: Path) -> FollowUpMaterial:
        with numpy.load(path, allow_pickle=False) as arrays:
            return cls(
                arrays["seen"].astype(numpy.float32),
                arrays["gold"],
                arrays["starts"],
                arrays["ways"],
                arrays["overlap"],
                arrays["simple"],
            )


def material(talks: Sequence[Talk], tagger: Tagger, name: str, say: Say) -> FollowUpMaterial:
    """All readings of all talks."""
    tagger.tag([text for talk in talks for text in _texts(talk)])
    report = paced(f"material: {name} follow-ups read", say)
    seen, gold, overlap, starts, simple = [], [], [], [0], []
    for number, talk in enumerate(talks):
        report(number, len(talks))
        read = follow_up(talk.typed, talk.turns, tagger)
        seen.append(numbers(read))
        meant = gold_readings(read, talk)
        gold += meant
        wanted = talk.whole or next(
            (reading.text for reading, right in zip(read.readings, meant, strict=True) if right), talk.typed
        )
        overlap += [token_f1(reading.text, [wanted]) for reading in read.readings]
        starts.append(len(gold))
        simple.append(_simple(read))
    return FollowUpMaterial(
        numpy.concatenate(seen),
        numpy.array(gold),
        numpy.array(starts, numpy.int64),
        numpy.array([talk.way for talk in talks]),
        numpy.array(overlap, numpy.float32),
        numpy.array(simple, numpy.int64),
    )


def gold_readings(read: FollowUp, talk: Talk) -> list[bool]:
    """Which readings say what is meant; of a bare question word the first form of the last question with it."""
    if talk.whole:
        return [is_meant(reading.text, talk) for reading in read.readings]
    first = next((place for place, reading in enumerate(read.readings) if reading.way == "reframed"), 0)
    return [place == first for place in range(len(read.readings))]


def _simple(read: FollowUp) -> int:
    """The plain rule: whatever has a gap, or is no sentence, means its first other reading."""
    left_out = any(not gap.bound for gap in read.gaps) or not read.verbs
    return 1 if left_out and len(read.readings) > 1 else 0


def _texts(talk: Talk) -> list[str]:
    texts = [without_lead(talk.typed)[1]]
    for turn in talk.turns:
        texts += [turn.question, turn.answer, title_name(turn.title)]
    return texts
