"""Whether an answer is right, and which stage is to blame where it is not.

Right is an answer whose normalised words (SQuAD's way: no case, punctuation or articles) hold an accepted answer as
whole words, or stand in one and reach token F1 0.6 with it. Answers that can be worded in many ways (how-to, why,
list, definition) are also right at token F1 0.6 alone. A question for yes or no is judged by the first word alone; to
blame the right stage, what the word rests on counts too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.real.questions import YES_NO, Evidence, RealQuestion
from bench.real.visible import words
from wherefrom.metrics.answers import token_f1
from wherefrom.reasons import lost_at
from wherefrom.text import normalized, sentences
from wherefrom.types import LOSING_STAGES, Candidate, Hit, LosingStage, Trace

ENOUGH = 0.6  # token F1
NONE_RIGHT = "no candidate is right"
BY_CHANCE = "the word is right, what it rests on is not"
WORDED_FREELY = frozenset(("how-to", "why", "list", "definition"))

Outcome = Literal["right", "wrong", "wrongly declined", "rightly declined"]
Stage = LosingStage
STAGES = LOSING_STAGES

_TYPOGRAPHY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})
_BROKEN = 0.2  # share of a quote's words that may be missing from its document: line ends split some
_SLACK = 4  # words before and behind a place that looks like the quote
_MOST = 0.5  # ... and a passage that also holds an accepted answer: passages cut sentences


def is_right(text: str | None, question: RealQuestion) -> bool:
    """Whether what was said answers the question; nothing answers one that the collection does not."""
    if not text or not question.answers:
        return False
    if question.asks_yes_no:
        first = words(text).partition(" ")[0]
        return first in YES_NO and first in question.answers
    return any(_same(text, accepted, question.kind) for accepted in question.answers)


def _same(text: str, accepted: str, kind: str) -> bool:
    said, wanted = _plain(text), _plain(accepted)
    if not said or not wanted:  # all punctuation: a key or an operator
        return text.strip() == accepted.strip()
    if f" {wanted} " in f" {said} ":
        return True
    inside = f" {said} " in f" {wanted} "
    return (inside or kind in WORDED_FREELY) and token_f1(said, [wanted]) >= ENOUGH


def _plain(text: str) -> str:
    return normalized(text.translate(_TYPOGRAPHY).replace("%", " percent "))  # 2 % is not 2


# -------------------------------------------------------------------------------------------- evidence


def share_held(quote: str, text: str) -> float:
    """The share of a quote's triples of words in a row that a text holds; 1 only where it holds the whole quote."""
    quoted, inside = words(quote), f" {words(text)} "
    if f" {quoted} " in inside:
        return 1.0
    split = quoted.split()
    triples = [" ".join(split[place : place + 3]) for place in range(len(split) - 2)]
    found = sum(f" {triple} " in inside for triple in triples)
    return min(found / len(triples), 0.99) if triples else 0.0


def broken_words(quote: str, text: str) -> list[str]:
    """The words of a quote that are missing where the text comes nearest to it; all of them where nothing is near."""
    quoted, there = words(quote).split(), words(text).split()
    wanted: dict[tuple[str, ...], int] = {tuple(quoted[place : place + 2]): place for place in range(len(quoted) - 1)}
    best = quoted
    for place in range(len(there) - 1):
        offset = wanted.get((there[place], there[place + 1]))
        if offset is not None:
            begin = max(0, place - offset - _SLACK)
            window = set(there[begin : begin + len(quoted) + 2 * _SLACK])
            best = min(best, [word for word in quoted if word not in window], key=len)
    return best


def holds(text: str, question: RealQuestion, evidence: Evidence) -> bool:
    """Whether a passage holds the evidence: all of it, or most of it with an accepted answer."""
    share = share_held(evidence.quote, text)
    if share == 1.0:
        return True
    inside = f" {words(text)} "
    answered = question.asks_yes_no or any(f" {words(answer)} " in inside for answer in question.answers)
    return share >= _MOST and answered


def place_of_evidence(question: RealQuestion, evidence: Evidence, hits: Sequence[Hit]) -> int | None:
    """The rank, from 1, of the first hit that holds the evidence."""
    return next((rank for rank, hit in enumerate(hits, 1) if holds(hit.passage.text, question, evidence)), None)


# ---------------------------------------------------------------------------------------------- blame


@dataclass(frozen=True, slots=True)
class Judgement:
    """One question's answer, judged."""

    outcome: Outcome
    stage: Stage | None = None  # to blame, where the outcome is a failure
    detail: str = ""
    rank: int | None = None  # of the first hit that holds the evidence


def judged(question: RealQuestion, trace: Trace, answered: bool, documents: Mapping[str, str]) -> Judgement:
    """The outcome and the stage to blame. The trace holds what would be said; `answered` is whether it was said.

    `documents` are the stored texts, by document.
    """
    text = trace.answer.text if trace.answer else None
    rank = place_of_evidence(question, question.evidence, trace.hits) if question.evidence else None
    if not question.answerable:
        return Judgement("wrong", "judging", rank=rank) if answered else Judgement("rightly declined", rank=rank)
    assert question.evidence is not None
    if answered and is_right(text, question):
        lucky = not trace.candidates or not _candidate_right(trace.candidates[0], question, question.evidence)
        return Judgement("right", detail=BY_CHANCE if question.asks_yes_no and lucky else "", rank=rank)
    outcome: Outcome = "wrong" if answered else "wrongly declined"
    stage, detail = _blamed(question, question.evidence, trace, rank, answered, documents)
    return Judgement(outcome, stage, detail, rank)


def _blamed(
    question: RealQuestion,
    evidence: Evidence,
    trace: Trace,
    rank: int | None,
    answered: bool,
    documents: Mapping[str, str],
) -> tuple[Stage, str]:
    text = trace.answer.text if trace.answer else None
    if not answered and not question.asks_yes_no and is_right(text, question):
        return "judging", "what was withheld is right"
    read = [place for place, each in enumerate(trace.candidates) if _candidate_right(each, question, evidence)]
    first = read[0] if read else None
    stage = lost_at(first, answered, lambda: _stored(question, evidence, documents), rank)
    details = {
        "judging": "the first candidate is right",
        "ranking": f"at {rank}",
        "reading": NONE_RIGHT if first is None else f"candidate {first + 1} is right",
    }
    return stage, details.get(stage, "")


def _candidate_right(candidate: Candidate, question: RealQuestion, evidence: Evidence) -> bool:
    """For yes and no, a candidate is right that points into the evidence."""
    if not question.asks_yes_no:
        return is_right(candidate.text, question)
    said, quoted = f" {words(candidate.text)} ", f" {words(evidence.quote)} "
    return holds(candidate.passage.text, question, evidence) and (said in quoted or quoted in said)


def _stored(question: RealQuestion, evidence: Evidence, documents: Mapping[str, str]) -> bool:
    """Whether any document holds the evidence whole, or its own one nearly so and with the words of an answer."""
    if any(share_held(evidence.quote, text) == 1.0 for text in documents.values()):
        return True
    broken = broken_words(evidence.quote, documents.get(evidence.document, ""))
    if len(broken) > _BROKEN * len(words(evidence.quote).split()):
        return False
    return question.asks_yes_no or any(not set(broken) & set(words(answer).split()) for answer in question.answers)


# -------------------------------------------------------------------------------------------- baseline


def first_sentence(hits: Sequence[Hit]) -> str | None:
    """What a search alone would say: the first sentence of the passage that BM25 puts first."""
    if not hits:
        return None
    text = max(hits, key=lambda hit: hit.features.get("retrieve", hit.score)).passage.text
    start, end = next(iter(sentences(text)), (0, len(text)))
    return text[start:end]
