"""What speaks for each candidate answer of a question beside the others: the reader's numbers, words and nearness.

Candidates that say the same are one answer here, and the best of them stands for it. None of the numbers grows with the
library, so that an order that was fitted on some documents can be used on others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from wherefrom.features.expected import expected, holds
from wherefrom.features.matching import Matcher
from wherefrom.features.overlap import Stems, coverage, rarity
from wherefrom.text import FUNCTION_WORDS, normalized
from wherefrom.types import Candidate

NAMES = (
    "answer relevance",
    "null margin",
    "own passage",
    "read",
    "share",
    "kin",
    "lead",
    "elsewhere",
    "near coverage",
    "passage coverage",
    "rarest missing",
    "names missing",
    "numbers missing",
    "retrieved",
    "kind fits",
    "kind misses",
    "answer length",
    "echo",
    "nearness",
    "near nearness",
)
COMPARED = 8  # different answers: what stands behind them is hardly ever right

BOUND = 12.0  # logits beyond this say no more
_NEAR = 150  # characters around an answer in which the question's words are looked for: about two sentences
NAME = re.compile(r"\b(?:[A-Z][\w.-]*[\w]|\w*\d[\w.-]*|[\w-]*[_/.-]\w[\w.-]*)|[\"“‘'`]([^\"”’'`]{2,40})[\"”’'`]")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def form(candidate: Candidate) -> str:
    """What a candidate says: equal forms, one answer."""
    return normalized(candidate.text) or candidate.text


def different(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first candidate of each different answer, in the order given, COMPARED at most."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(form(candidate), candidate)
    return list(first.values())[:COMPARED]


def merits(
    question: str, candidates: Sequence[Candidate], stems: Stems, matcher: Matcher | None
) -> list[tuple[float, ...]]:
    """The numbers of NAMES for each of `different(candidates)`, in that order.

    They are those that a judge looks at, of every answer in place of the first alone; retrieved is the index's score as
    a share of the best one's among the candidates, read the reader's score behind the best one's.
    """
    chosen = different(candidates)
    passages = {candidate.passage.id: candidate.passage for candidate in candidates}
    held = {id: frozenset(stems(f"{p.title}\n{p.section}\n{p.text}")) for id, p in passages.items()}
    wanted = rarity(stems(question), list(held.values()))
    near = _nearness(question, chosen, matcher)
    return [
        (
            *_by_the_reader(candidate, candidates),
            *_by_words(question, wanted, candidate, held[candidate.passage.id], candidates, stems),
            *_by_shape(question, wanted, candidate, stems),
            *nearness,
        )
        for candidate, nearness in zip(chosen, near, strict=True)
    ]


def _by_the_reader(candidate: Candidate, candidates: Sequence[Candidate]) -> tuple[float, ...]:
    forms = [form(each) for each in candidates]
    scores = [_read(each) for each in candidates]
    own = form(candidate)
    kin = [f" {own} " in f" {other} " or f" {other} " in f" {own} " for other in forms]
    total = log_sum(scores)
    same = log_sum([score for score, other in zip(scores, forms, strict=True) if other == own])
    alike = log_sum([score for score, is_kin in zip(scores, kin, strict=True) if is_kin])
    rivals = [score for score, is_kin in zip(scores, kin, strict=True) if not is_kin]
    places = {each.passage.id for each, other in zip(candidates, forms, strict=True) if other == own}
    return (
        bounded(candidate.features.get("relevance", 0.0)),
        bounded(candidate.features.get("null margin", 0.0)),
        max(candidate.features.get("own passage", 0.0), -BOUND),
        max(_read(candidate) - max(scores), -BOUND),
        max(same - total, -BOUND),
        max(alike - total, -BOUND),
        bounded(same - max(rivals)) if rivals else BOUND,
        float(len(places) > 1),
    )


def _by_words(
    question: str,
    wanted: Mapping[str, float],
    candidate: Candidate,
    own: frozenset[str],
    candidates: Sequence[Candidate],
    stems: Stems,
) -> tuple[float, ...]:
    passage = candidate.passage
    near = frozenset(stems(f"{passage.title}\n{passage.section}\n{around(candidate)}"))
    missing = max((weight for stem, weight in wanted.items() if stem not in own), default=0.0)
    rarest = math.log((len({each.passage.id for each in candidates}) + 1) / 0.5)
    small = f"{passage.title}\n{passage.section}\n{passage.text}".casefold()
    names = [match[1] or match[0] for match in NAME.finditer(question) if match.start() > 0]
    most = max(each.features.get("retrieve", 1.0) for each in candidates)
    return (
        coverage(wanted, near),
        coverage(wanted, own),
        missing / rarest,
        share_missing([name for name in names if name.casefold() not in FUNCTION_WORDS], small),
        share_missing(NUMBER.findall(question), small),
        max(candidate.features.get("retrieve", 1.0) / most, 0.0) if most > 0 else 1.0,
    )


def _by_shape(question: str, wanted: Mapping[str, float], candidate: Candidate, stems: Stems) -> tuple[float, ...]:
    kind = expected(question)
    fits = holds(kind, candidate.text)
    spoken = stems(candidate.text)
    return (
        float(kind != "anything" and fits),
        float(not fits),
        math.log1p(len(candidate.text.split())),
        sum(stem in wanted for stem in spoken) / len(spoken) if spoken else 0.0,
    )


def _nearness(question: str, chosen: Sequence[Candidate], matcher: Matcher | None) -> list[tuple[float, float]]:
    if matcher is None:
        return [(0.0, 0.0)] * len(chosen)
    passages = {candidate.passage.id: candidate.passage for candidate in chosen}
    texts = [f"{passage.title}\n{passage.section}\n{passage.text}" for passage in passages.values()]
    surroundings = [f"{each.passage.title}\n{each.passage.section}\n{around(each)}" for each in chosen]
    scores = matcher.scores(question, [*texts, *surroundings])
    of_passage = dict(zip(passages, scores[: len(texts)], strict=True))
    return [(of_passage[each.passage.id], score) for each, score in zip(chosen, scores[len(texts) :], strict=True)]


def around(candidate: Candidate) -> str:
    """The candidate with what stands beside it in its passage."""
    return candidate.passage.text[max(candidate.start - _NEAR, 0) : candidate.end + _NEAR]


def _read(candidate: Candidate) -> float:
    return candidate.features.get("read", candidate.score)


def share_missing(names: Sequence[str], text: str) -> float:
    """The share of the names that a text, in small letters, lacks."""
    return sum(name.casefold() not in text for name in names) / len(names) if names else 0.0


def bounded(value: float) -> float:
    """A logit within bounds."""
    return max(-BOUND, min(BOUND, value))


def log_sum(values: Sequence[float]) -> float:
    """log of the sum of exp(values), without overflow."""
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))
