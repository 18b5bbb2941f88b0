"""The signs by which a judge tells right answers from wrong ones: numbers of one question, its passages and candidates.

None of them grows with the library or counts its passages, and all are bounded, so that a judge that was fitted on one
kind of documents can be used on another. The first six belong to the judge of earlier versions, which gave the chance
that there is an answer at all; `judge.json` names those that it uses.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wherefrom.features.chance import probability
from wherefrom.features.expected import expected, holds
from wherefrom.features.matching import Matcher
from wherefrom.features.merits import BOUND, NAME, NUMBER, around, bounded, different, log_sum, share_missing
from wherefrom.features.overlap import Stems, coverage, rarity
from wherefrom.features.polarity import asks_yes_no, pooled_truth
from wherefrom.features.querytype import query_type
from wherefrom.runtime.reader import PassageReading
from wherefrom.text import FUNCTION_WORDS, normalized
from wherefrom.types import Candidate, Hit, Passage

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

# In the reader's order, whatever a re-ranker did: the chance that there is an answer.
OF_READING = ("relevance", "other relevance", "span", "margin", "same passage", "coverage")
# Of the answer that is given, the first candidate: the chance that it is right.
OF_ANSWER = (
    "answer relevance",
    "relevance lag",
    "null margin",
    "best null margin",
    "own passage",
    "share",
    "kin",
    "lead",
    "elsewhere",
    "near coverage",
    "passage coverage",
    "hits coverage",
    "rarest missing",
    "names missing",
    "numbers missing",
    "retrieved",
    "kind fits",
    "kind misses",
    "answer length",
    "echo",
    "question length",
    "keywords",
    "description",
    "yes or no",
)
# How nearly the words of the answer's passage mean what the question's do; all 0 without a matcher.
OF_MEANING = ("nearness", "near nearness", "nearness lead")
# Of the word that the passages decide on, where a question asks for yes or no and the network says which; else all 0.
OF_WORD = (
    "truth",
    "sureness",
    "sure and relevant",
    "agreeing",
    "leading relevance",
    "leading coverage",
    "leading rarest missing",
    "leading names missing",
)
# By the order that a re-ranker put the answers in; both 0 where none did.
OF_ORDER = ("order share", "order lead")
# What another network thinks of the answer (`second.py`); all 0 without one.
OF_SECOND = ("second first", "second mean", "second place", "second answerable")
NAMES = (*OF_READING, *OF_ANSWER, *OF_WORD, *OF_MEANING, *OF_ORDER, *OF_SECOND)

_NOTHING = -6.0  # relevance of a passage that has nothing to do with the question
_CANDIDATES = 10  # that it was fitted on
_PASSAGES = 5  # that decide between yes and no


def features(
    question: str,
    hits: Sequence[Hit],
    readings: Sequence[PassageReading],
    candidates: Sequence[Candidate],
    stems: Stems,
    matcher: Matcher | None = None,
    second: Sequence[float] = (0.0,) * len(OF_SECOND),
) -> tuple[float, ...] | None:
    """What a judge can look at, in the order of NAMES; None where there is nothing to look at."""
    if not readings or not candidates:
        return None
    held = [frozenset(stems(_whole(hit.passage))) for hit in hits]
    wanted = rarity(stems(question), held)
    return (
        *_of_reading(wanted, hits, readings, as_read(candidates), stems),
        *_of_reader(hits, readings, candidates[:_CANDIDATES]),
        *_of_words(question, wanted, hits, held, candidates[0], stems),
        *_of_shape(question, wanted, candidates[0], stems),
        *_of_word(question, wanted, hits, held, readings),
        *_of_meaning(question, hits, candidates[0], matcher),
        *_of_order(candidates),
        *second,
    )


def as_read(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best candidates in the order and with the scores that the reader gave them."""
    if any("rerank" in candidate.features for candidate in candidates):
        candidates = [replace(c, score=c.features.get("read", c.score)) for c in candidates]
        candidates = sorted(candidates, key=lambda c: (-c.score, c.passage.id, c.start, c.end))
    return list(candidates[:_CANDIDATES])


# Whether there is an answer.


def _of_reading(
    wanted: Mapping[str, float],
    hits: Sequence[Hit],
    readings: Sequence[PassageReading],
    candidates: Sequence[Candidate],
    stems: Stems,
) -> tuple[float, ...]:
    """relevance: the best passage's logit. other relevance: that of the best passage that does not say the same. span:
    the log probability of the best candidate and all that say the same. margin: the best candidate's lead over the next
    different answer. same passage: whether the most relevant passage says it. coverage: how much of the question's
    words, the rarer the more, stands around the best candidate.
    """
    best = candidates[0]
    answer = best.text.casefold()
    alike = [c.features.get("span", c.score) for c in candidates if c.text.casefold() == answer]
    next_best = next((c.score for c in candidates if c.text.casefold() != answer), best.score - BOUND)
    first, top = max(zip(hits, readings, strict=True), key=lambda pair: pair[1].relevance)
    others = [
        reading.relevance
        for hit, reading in zip(hits, readings, strict=True)
        if answer not in hit.passage.text.casefold()
    ]
    return (
        bounded(top.relevance),
        min(max(_NOTHING, *others), BOUND) if others else _NOTHING,
        max(log_sum(alike), -BOUND),
        min(best.score - next_best, BOUND),
        float(answer in first.passage.text.casefold()),
        coverage(wanted, frozenset(stems(f"{best.passage.title}\n{around(best)}"))),
    )


# Whether it is right, by the reader.


def _of_reader(
    hits: Sequence[Hit], readings: Sequence[PassageReading], candidates: Sequence[Candidate]
) -> tuple[float, ...]:
    """answer relevance: of the answer's passage; relevance lag: how far that is behind the best passage's. null margin:
    how much likelier the reader finds the answer than that its passage has none; best null margin: the same of the best
    span of any passage. own passage: the answer's log probability among all spans of its passage and no answer. share:
    the log share of its text among the candidates; kin: also of texts that hold it or are held by it. lead: over the
    next text that is no kin. elsewhere: whether other places say the same.
    """
    best = candidates[0]
    reading = _reading_of(best.passage, hits, readings)
    start, end = _logits(best, reading)
    own = start - _log_sum_exp(reading.start, reading.no_answer) + end - _log_sum_exp(reading.end, reading.no_answer)
    nulls = [
        (float(each.start.max()) + float(each.end.max())) / 2 - each.no_answer for each in readings if len(each.start)
    ]
    form = normalized(best.text) or best.text
    scores = [candidate.features.get("read", candidate.score) for candidate in candidates]
    forms = [normalized(candidate.text) or candidate.text for candidate in candidates]
    total = log_sum(scores)
    same = log_sum([score for score, other in zip(scores, forms, strict=True) if other == form])
    kin = [_are_kin(form, other) for other in forms]
    alike = log_sum([score for score, is_kin in zip(scores, kin, strict=True) if is_kin])
    rivals = [score for score, is_kin in zip(scores, kin, strict=True) if not is_kin]
    places = {candidate.passage.id for candidate, other in zip(candidates, forms, strict=True) if other == form}
    return (
        bounded(reading.relevance),
        min(max(each.relevance for each in readings) - reading.relevance, BOUND),
        bounded((start + end) / 2 - reading.no_answer),
        bounded(max(nulls, default=-BOUND)),
        max(own, -BOUND),
        max(same - total, -BOUND),
        max(alike - total, -BOUND),
        bounded(same - max(rivals)) if rivals else BOUND,
        float(len(places) > 1),
    )


def _reading_of(passage: Passage, hits: Sequence[Hit], readings: Sequence[PassageReading]) -> PassageReading:
    for hit, reading in zip(hits, readings, strict=True):
        if hit.passage.id == passage.id and len(reading.start):
            return reading
    return max(readings, key=lambda reading: reading.relevance)  # a candidate from elsewhere


def _logits(answer: Candidate, reading: PassageReading) -> tuple[float, float]:
    """The best start and the best end inside the answer: words were made whole, so that its own ends may be dull."""
    inside = (reading.spans[:, 0] < answer.end) & (reading.spans[:, 1] > answer.start)
    if not inside.any():
        return -BOUND, -BOUND
    return float(reading.start[inside].max()), float(reading.end[inside].max())


def _are_kin(one: str, other: str) -> bool:
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "


# Whether it is right, by the words.


def _of_words(
    question: str,
    wanted: Mapping[str, float],
    hits: Sequence[Hit],
    held: Sequence[Collection[str]],
    best: Candidate,
    stems: Stems,
) -> tuple[float, ...]:
    """near coverage, passage coverage, hits coverage: the share of the question's words, the rarer the more, around the
    answer, in its passage with title and section, and in all passages. rarest missing: how rare the rarest word is that
    the passage lacks. names missing, numbers missing: the share of names, numbers and quotations that it lacks.
    retrieved: the index's score of the passage, as a share of the best one's.
    """
    whole = _whole(best.passage)
    own = frozenset(stems(whole))
    near = frozenset(stems(f"{best.passage.title}\n{best.passage.section}\n{around(best)}"))
    rarest = math.log((len(hits) + 1) / 0.5)
    missing = max((weight for stem, weight in wanted.items() if stem not in own), default=0.0)
    small = whole.casefold()
    names = [match[1] or match[0] for match in NAME.finditer(question) if match.start() > 0]
    return (
        coverage(wanted, near),
        coverage(wanted, own),
        coverage(wanted, frozenset().union(*held)),
        missing / rarest,
        share_missing([name for name in names if name.casefold() not in FUNCTION_WORDS], small),
        share_missing(NUMBER.findall(question), small),
        _retrieved(best.passage, hits),
    )


def _retrieved(passage: Passage, hits: Sequence[Hit]) -> float:
    scores = {hit.passage.id: hit.features.get("retrieve", 1.0) for hit in hits}
    best = max(scores.values())
    return max(scores.get(passage.id, best) / best, 0.0) if best > 0 else 1.0


# Whether it looks like an answer.


def _of_shape(question: str, wanted: Collection[str], best: Candidate, stems: Stems) -> tuple[float, ...]:
    """kind fits, kind misses: whether the answer holds what the question word asks for, or lacks it. answer length,
    question length: log of their words. echo: the share of the answer's words that the question has too. keywords: no
    sentence, but words as typed into a search box. description: asks how, why or what something is. yes or no.
    """
    kind = expected(question)
    fits = holds(kind, best.text)
    spoken = stems(best.text)
    small = question.casefold().split()
    return (
        float(kind != "anything" and fits),
        float(not fits),
        math.log1p(len(best.text.split())),
        sum(stem in wanted for stem in spoken) / len(spoken) if spoken else 0.0,
        math.log1p(len(small)),
        float("?" not in question and not any(word in _ASKING for word in small)),
        float(query_type(question) == "DESCRIPTION"),
        float(asks_yes_no(question)),
    )


# Whether it is near in meaning.


def _of_meaning(
    question: str, hits: Sequence[Hit], best: Candidate, matcher: Matcher | None
) -> tuple[float, float, float]:
    """nearness: of the answer's passage. near nearness: of its headings and what stands around the answer. nearness
    lead: over the nearest other passage, below 0 where that is nearer.
    """
    if matcher is None:
        return 0.0, 0.0, 0.0
    others = [hit.passage for hit in hits if hit.passage.id != best.passage.id]
    beside = f"{best.passage.title}\n{best.passage.section}\n{around(best)}"
    own, near, *rest = matcher.scores(question, [_whole(best.passage), beside, *(_whole(each) for each in others)])
    return own, near, own - max(rest, default=0.0)


# Whether it leads clearly.


def _of_order(candidates: Sequence[Candidate]) -> tuple[float, float]:
    """order share: the log share of the answer among all different answers, by the re-ranker's scores. order lead: over
    the next different one.
    """
    chosen = different(candidates)
    scores = [candidate.features["rerank"] for candidate in chosen if "rerank" in candidate.features]
    if len(scores) < len(chosen):
        return 0.0, 0.0
    lead = bounded(scores[0] - max(scores[1:])) if len(scores) > 1 else BOUND
    return max(scores[0] - log_sum(scores), -BOUND), lead


# Whether the word is right.


def _of_word(
    question: str,
    wanted: Mapping[str, float],
    hits: Sequence[Hit],
    held: Sequence[Collection[str]],
    readings: Sequence[PassageReading],
) -> tuple[float, ...]:
    """truth: the logit of yes of the most relevant passages together; sureness: how far that is from 0; sure and
    relevant: times the chance that the leading passage, the most relevant one that says so, is relevant at all.
    agreeing: the share of what is relevant that says so. leading relevance, coverage, rarest missing, names missing: of
    that passage, as of an answer's.
    """
    truths = [reading.truth for reading in readings[:_PASSAGES] if reading.truth is not None]
    if not truths or len(truths) < len(readings[:_PASSAGES]) or not asks_yes_no(question):
        return (0.0,) * len(OF_WORD)
    relevances = [reading.relevance for reading in readings[:_PASSAGES]]
    truth = pooled_truth(relevances, truths)
    agreeing = [place for place, own in enumerate(truths) if (own >= 0) == (truth >= 0)]
    leading = max(agreeing, key=lambda place: relevances[place])
    shares = [math.exp(relevance - max(relevances)) for relevance in relevances]
    rarest = math.log((len(hits) + 1) / 0.5)
    names = [match[1] or match[0] for match in NAME.finditer(question) if match.start() > 0]
    return (
        bounded(truth),
        abs(bounded(truth)),
        abs(bounded(truth)) * probability(relevances[leading]),
        sum(shares[place] for place in agreeing) / sum(shares),
        bounded(relevances[leading]),
        coverage(wanted, frozenset(held[leading])),
        max((weight for stem, weight in wanted.items() if stem not in held[leading]), default=0.0) / rarest,
        share_missing(
            [n for n in names if n.casefold() not in FUNCTION_WORDS], _whole(hits[leading].passage).casefold()
        ),
    )


_ASKING = frozenset(
    "what which who whom whose when where why how is are was were do does did can could has have had will would".split()
)


# Small things.


def _whole(passage: Passage) -> str:
    return f"{passage.title}\n{passage.section}\n{passage.text}"


def _log_sum_exp(values: NDArray[numpy.float32], one_more: float) -> float:
    import numpy

    most = max(float(values.max(initial=-numpy.inf)), one_more)
    return most + math.log(float(numpy.exp(values - most).sum()) + math.exp(one_more - most))
