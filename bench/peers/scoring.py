"""Figures of one system on one part of a set, by the judgement of bench/real, the same for everybody.

Right: the words hold an accepted answer, or stand in one and reach F1 0.6 (`bench.real.scoring`); of a question that
nothing answers, only declining is right. *Exact place*: what is quoted stands at the offsets that were given. *In a
source*: the text stands word for word in a passage that was given as a source, whether a place was given or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.measure import percentile
from bench.peers.child import Line, whole
from bench.peers.sets import Asked
from bench.real.scoring import is_right
from wherefrom.metrics.answers import exact_match, token_f1
from wherefrom.metrics.significance import bootstrap_interval

Passages = Mapping[str, Mapping[str, str]]  # texts with their titles, by library and key


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer, judged."""

    asked: Asked
    text: str | None
    candidate: str | None  # what was said or withheld
    score: float | None
    right: bool  # were the candidate said
    exact: bool
    in_source: bool
    seconds: float
    cpu: float

    @property
    def outcome(self) -> bool:
        """Whether what happened was right."""
        return self.right if self.text is not None else not self.asked.answers


def texts_of(passages: Sequence[Line]) -> dict[str, str]:
    return {each["key"]: whole(each) for each in passages}


def scored(asked: Asked, answer: Line, texts: Mapping[str, str]) -> Scored:
    """What a system said, beside what is right."""
    text = answer.get("text")
    candidate = text if text is not None else answer.get("withheld")
    quote, key = answer.get("quote"), answer.get("key")
    exact = bool(quote) and texts.get(str(key), "")[answer.get("start") or 0 : answer.get("end") or 0] == quote
    told = quote or text
    return Scored(
        asked=asked,
        text=text,
        candidate=candidate,
        score=answer.get("score"),
        right=is_right(candidate, asked.judged),
        exact=exact,
        in_source=bool(told) and any(str(told) in texts.get(each, "") for each in answer.get("shown", ())),
        seconds=answer["seconds"],
        cpu=answer["cpu"],
    )


def figures(rows: Sequence[Scored]) -> dict[str, float]:
    """All figures, in per cent and milliseconds; those that there are no questions for are left out."""
    able = [row for row in rows if row.asked.answers]
    absent = [row for row in rows if not row.asked.answers]
    near = [row for row in absent if row.asked.near_miss]
    said = [row for row in rows if row.text is not None]
    shares: dict[str, Sequence[float]] = {
        "right_share": [row.text is not None and row.right for row in able],
        "precision": [row.right for row in said],
        "absent_declined": [row.text is None for row in absent],
        "near_declined": [row.text is None for row in near],
        "outcomes": [row.outcome for row in rows],
        "em": [exact_match(row.text or "", row.asked.answers) for row in able],
        "f1": [token_f1(row.text or "", row.asked.answers) for row in able],
        "exact_source": [row.exact for row in said],
        "in_source": [row.in_source for row in said],
        "answered": [row.text is not None for row in rows],
    }
    told = {name: 100 * sum(values) / len(values) for name, values in shares.items() if values}
    times = [row.seconds for row in rows]
    told |= {"p50_ms": 1000 * percentile(times, 50), "p99_ms": 1000 * percentile(times, 99)}
    return told | {"cpu_ms": 1000 * percentile([row.cpu for row in rows], 50)}


def intervals(rows: Sequence[Scored], samples: int = 1000) -> dict[str, tuple[float, float]]:
    """95 % of the shares that are compared, by bootstrap over questions."""
    able = [100.0 * (row.text is not None and row.right) for row in rows if row.asked.answers]
    said = [100.0 * row.right for row in rows if row.text is not None]
    absent = [100.0 * (row.text is None) for row in rows if not row.asked.answers]
    outcomes = [100.0 * row.outcome for row in rows]
    named = {"right_share": able, "precision": said, "absent_declined": absent, "outcomes": outcomes}
    made = {name: bootstrap_interval(values, samples=samples) for name, values in named.items() if values}
    return {name: (interval.low, interval.high) for name, interval in made.items()}


def best_threshold(rows: Sequence[Scored]) -> float | None:
    """The least score at which most questions come out right, if all below were declined; None without scores."""
    surest = sorted((row for row in rows if row.candidate is not None), key=lambda row: -(row.score or 0.0))
    if not surest or any(row.score is None for row in surest):
        return None
    outcomes = sum(not row.asked.answers for row in rows)
    best, threshold = outcomes, float("inf")
    for place, row in enumerate(surest):
        outcomes += row.right - (not row.asked.answers)
        last = place + 1 == len(surest) or surest[place + 1].score != row.score
        if last and outcomes > best:
            best, threshold = outcomes, row.score or 0.0
    return threshold


def at(rows: Sequence[Scored], threshold: float) -> list[Scored]:
    """The same answers, said where their score reaches the threshold and nowhere else."""
    return [
        replace(row, text=row.candidate if (row.score or 0.0) >= threshold and row.candidate is not None else None)
        for row in rows
    ]
