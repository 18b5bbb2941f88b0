"""What a re-ranker is worth: figures before and after, by question word, and where the rest is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy

from wherefrom.features.candidates import STARTS, names
from wherefrom.metrics.answers import contains_answer
from wherefrom.metrics.significance import paired_bootstrap
from wherefrom.plots import Bar, bar_plot, standalone
from wherefrom.systems.rankqa.material import KeptQuestion
from wherefrom.systems.rankqa.network import RankQANetwork
from wherefrom.systems.rankqa.task import CandidateRows, RankQATaskSettings, first_of

_DEPTHS = (1, 4, 10, 20, 40)


@dataclass(frozen=True, slots=True)
class Figures:
    """Scores of the first answers, in per cent; `exact` and `f1s` hold each question's."""

    em: float
    f1: float
    by_start: Mapping[str, tuple[int, float]]  # questions and exact match, by the question's first word
    exact: tuple[float, ...]
    f1s: tuple[float, ...]

    def summary(self) -> dict[str, Any]:
        """For people and files: without the single questions."""
        starts = {word: {"questions": count, "em": round(em, 2)} for word, (count, em) in self.by_start.items()}
        return {"em": round(self.em, 3), "f1": round(self.f1, 3), "by question word": starts}


def figures(questions: Sequence[CandidateRows], chosen: Sequence[int]) -> Figures:
    """The scores if of each question the candidate at that place is given; -1 gives none, which is wrong."""
    pairs = list(zip(questions, chosen, strict=True))
    exact = [float(question.exact[place]) if place >= 0 else 0.0 for question, place in pairs]
    f1s = [float(question.f1[place]) if place >= 0 else 0.0 for question, place in pairs]
    by_start: dict[str, list[float]] = {}
    for question, value in zip(questions, exact, strict=True):
        by_start.setdefault(start_of(question), []).append(value)
    words = [word for word in (*STARTS, "other") if word in by_start]
    shares = {word: (len(by_start[word]), 100 * fmean(by_start[word])) for word in words}
    return Figures(100 * fmean(exact), 100 * fmean(f1s), shares, tuple(exact), tuple(f1s))


def voted(question: CandidateRows) -> int:
    """The candidate that votes put first: the largest sum of probabilities of the same answer; -1 without any."""
    if not len(question.features):
        return -1
    known = names()
    read = question.features[:, known.index("read_score")]
    alike = question.features[:, known.index("first_occurrence")]  # answers with the same first place are the same
    weights = numpy.exp(read - read.max())
    sums = {first: weights[alike == first].sum() for first in set(alike.tolist())}
    return int(numpy.argmax([sums[first] for first in alike.tolist()]))


def start_of(question: CandidateRows) -> str:
    """The question word that a question begins with."""
    words = question.question.lower().split()
    return words[0] if words and words[0] in STARTS else "other"


def compared(one: Figures, other: Figures, samples: int = 10_000) -> dict[str, Any]:
    """Differences in points, with the paired bootstrap's p."""
    differences: dict[str, Any] = {}
    for name, left, right in (("em", one.exact, other.exact), ("f1", one.f1s, other.f1s)):
        comparison = paired_bootstrap(left, right, samples)
        differences[name] = {"difference": round(100 * comparison.difference, 3), "p": round(comparison.p, 5)}
    changes = [(a, b) for a, b in zip(one.exact, other.exact, strict=True) if a != b]
    mended, broken = sum(a > b for a, b in changes), sum(a < b for a, b in changes)
    return {**differences, "mended": mended, "broken": broken}


def lost_answers(
    questions: Sequence[CandidateRows],
    kept: Mapping[str, KeptQuestion],
    network: RankQANetwork,
    settings: RankQATaskSettings,
) -> dict[str, Any]:
    """Where right answers are lost: not found, not read, or not put first.

    oracle: how often a right answer is among the first so many candidates. Of the questions whose first answer is
    wrong after re-ranking: `not in the passages` that candidates were read from; `in them, not a candidate`; a
    candidate, while the first one `overlaps it` (a border is wrong) or is `another answer`.
    """
    best = {
        str(depth): round(100 * fmean(bool(question.exact[:depth].any()) for question in questions), 2)
        for depth in _DEPTHS
    }
    lost = dict.fromkeys(("not in the passages", "in them, not a candidate", "overlaps it", "another answer"), 0)
    for question in questions:
        place = first_of(network, question, settings)
        if place >= 0 and question.exact[place]:
            continue
        if question.exact.any():
            lost["overlaps it" if question.f1[place] > 0 else "another answer"] += 1
        elif any(contains_answer(passage.text, kept[question.id].answers) for passage in kept[question.id].passages):
            lost["in them, not a candidate"] += 1
        else:
            lost["not in the passages"] += 1
    return {"oracle": best, "wrong after re-ranking": lost}


def plots(questions: Sequence[CandidateRows], systems: Mapping[str, Figures]) -> dict[str, str]:
    """Accuracy by question word, a plot a system, all on the same questions."""
    drawn = {}
    for name, scores in systems.items():
        bars = [Bar(f"{word} ({count})", value) for word, (count, value) in scores.by_start.items()]
        bars.append(Bar(f"all ({len(questions)})", scores.em))
        drawn[f"by-start-{name}.svg"] = standalone(bar_plot(f"{name}: exact match by question word", bars, " %"))
    return drawn
