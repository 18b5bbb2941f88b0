"""What sets answers of different styles and to different kinds of questions apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal, get_args

from wherefrom.metrics.checks import MetricError, check_numbers, check_same_length, check_some
from wherefrom.metrics.overlap import ngrams
from wherefrom.metrics.tokens import narrative_tokens
from wherefrom.types import Answer, Word

Tokenizer = Callable[[str], Sequence[str]]

# In the order of PREAST-QA's Table 5.4: of two keywords the first one here decides.
Keyword = Literal["what", "how", "definition", "where", "who", "when", "which", "why", "other"]
KEYWORDS: tuple[Keyword, ...] = get_args(Keyword)


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean of a group with its standard error s/√n (0 for a group of one) and the group's share of all."""

    count: int
    share: float
    mean: float
    standard_error: float


def zero_overlap(one: Sequence[str], other: Sequence[str], n: int = 1, tokens: Tokenizer = narrative_tokens) -> float:
    """The share of questions whose answers in two styles have no n-gram in common (PREAST-QA, section 5.2).

    Unigrams suffice: without one in common there is no longer one. An empty answer shares nothing with any.
    """
    check_same_length(answers_in_one_style=one, answers_in_the_other=other)
    check_some(one, "answers")
    apart = sum(
        set(ngrams(tokens(left), n)).isdisjoint(ngrams(tokens(right), n))
        for left, right in zip(one, other, strict=True)
    )
    return apart / len(one)


def contradictions(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of questions whose answers in two styles begin with yes here and with no there."""
    check_same_length(answers_in_one_style=one, answers_in_the_other=other)
    check_some(one, "answers")
    pairs = zip(map(_first_word, one), map(_first_word, other), strict=True)
    return sum({left, right} == {"yes", "no"} for left, right in pairs) / len(one)


def _first_word(answer: str) -> str:
    """The first word of an answer."""
    return next(iter(narrative_tokens(answer)), "")


def repeated_ngram_rate(texts: Sequence[str], n: int = 3, tokens: Tokenizer = narrative_tokens) -> float:
    """The share of n-grams that stood in the same text before: 1 − Σ different / Σ all; 0 where all are too short."""
    check_some(texts, "texts")
    all_of_them = different = 0
    for text in texts:
        grams = ngrams(tokens(text), n)
        all_of_them += len(grams)
        different += len(set(grams))
    return 1 - different / all_of_them if all_of_them else 0.0


def attested_share(answers: Sequence[Answer]) -> float:
    """The share of words that stand at the very place of the evidence they point to, over all answers.

    Words from the question or the writer's vocabulary are not attested, nor is a copied word whose passage is not
    in the answer's evidence or reads otherwise there. Declined answers have no words.
    """
    words = [(word, answer) for answer in answers for word in answer.words]
    if not words:
        raise MetricError(f"none of {len(answers)} answers has words: their attested share is not defined")
    return sum(is_attested(word, answer) for word, answer in words) / len(words)


def is_attested(word: Word, answer: Answer) -> bool:
    """Whether the word of the answer stands where it says."""
    if word.source != "passage" or word.start is None or word.end is None:
        return False
    return any(
        passage.id == word.passage_id and passage.text[word.start : word.end] == word.text
        for passage in answer.evidence
    )


def keywords(question: str) -> tuple[Keyword, ...]:
    """The keywords a question contains, in the order of `KEYWORDS`; "define" counts as "definition"."""
    words = set(narrative_tokens(question))
    if "define" in words:
        words.add("definition")
    return tuple(keyword for keyword in KEYWORDS if keyword in words and keyword != "other")


def keyword(question: str) -> Keyword:
    """The keyword that a question is counted under: the first one, or "other"."""
    return next(iter(keywords(question)), "other")


def by_group(groups: Sequence[str], values: Sequence[float]) -> dict[str, GroupMean]:
    """Means of values by group, such as scores by question type; groups in the order they first appear."""
    check_same_length(groups=groups, values=values)
    check_some(values, "values")
    check_numbers(values, "values")
    members: dict[str, list[float]] = {}
    for group, value in zip(groups, values, strict=True):
        members.setdefault(group, []).append(value)
    return {
        group: GroupMean(
            count=len(own_values),
            share=len(own_values) / len(values),
            mean=fmean(own_values),
            standard_error=stdev(own_values) / math.sqrt(len(own_values)) if len(own_values) > 1 else 0.0,
        )
        for group, own_values in members.items()
    }


def length_by_group(
    groups: Sequence[str], texts: Sequence[str], tokens: Tokenizer = narrative_tokens
) -> dict[str, GroupMean]:
    """Mean answer length in words by group: by style, or by question type (Masque, figure 5)."""
    return by_group(groups, [float(len(tokens(text))) for text in texts])
