"""Whether a short answer is right.

The rules are those of SQuAD (Rajpurkar et al. 2016, 2018); `rules` says of which version:

| case                          | "1.1"                 | "2.0" (default)                                        |
|-------------------------------|-----------------------|--------------------------------------------------------|
| no gold at all                | MetricError           | no answer exists: only an empty prediction is right    |
| gold that normalises to ""    | kept                  | left out; if none remains, no answer exists            |
| both sides normalise to ""    | EM 1, token F1 0      | EM 1, token F1 1                                       |
| one side normalises to ""     | 0                     | 0                                                      |

A text of punctuation or articles alone normalises to "". Letters of any script are kept, punctuation is that of
ASCII only, and repeated words count as often as both sides have them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from wherefrom.metrics.checks import MetricError, check_numbers, check_same_length, check_some
from wherefrom.metrics.overlap import NOTHING, Score, counts, f_beta, shared
from wherefrom.text import normalized as normalized  # also at run time, where answers that say the same are counted

Rules = Literal["1.1", "2.0"]

# A run of letters, digits and the marks that belong to them, or any other visible character.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_TOKEN = re.compile(rf"(?:[^\W_]|[{_MARKS}])+|[^\s\w]|_")


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The threshold under which a score is best: answers whose no-answer score is above it are withheld."""

    score: float
    threshold: float


@lru_cache(maxsize=1 << 12)
def _bag(text: str) -> tuple[int, dict[str, int]]:
    """The number of tokens of a text and how often each occurs; kept, since golds meet many predictions."""
    tokens = normalized(text).split()
    return len(tokens), counts(tokens)


def exact_match(prediction: str, golds: Sequence[str], rules: Rules = "2.0") -> float:
    """EM = 1 if the normalised prediction equals any normalised gold, else 0 (SQuAD)."""
    predicted = normalized(prediction)
    return float(any(predicted == normalized(gold) for gold in _usable(golds, rules)))


def token_overlap(prediction: str, gold: str, rules: Rules = "2.0") -> Score:
    """P = same/|prediction|, R = same/|gold|, F1 = 2PR/(P+R), where same = Σ min of both bags of tokens (SQuAD)."""
    size, predicted_counts = _bag(prediction)
    gold_size, gold_counts = _bag(gold)
    if not size or not gold_size:
        return Score(1.0, 1.0, 1.0) if rules == "2.0" and size == gold_size else NOTHING
    same = shared(predicted_counts, gold_counts)
    precision, recall = same / size, same / gold_size
    return Score(precision, recall, f_beta(precision, recall))


def token_f1(prediction: str, golds: Sequence[str], rules: Rules = "2.0") -> float:
    """The best token F1 over the golds (SQuAD)."""
    return max(token_overlap(prediction, gold, rules).f for gold in _usable(golds, rules))


def token_precision(prediction: str, golds: Sequence[str], rules: Rules = "2.0") -> float:
    """The best token precision over the golds."""
    return max(token_overlap(prediction, gold, rules).precision for gold in _usable(golds, rules))


def token_recall(prediction: str, golds: Sequence[str], rules: Rules = "2.0") -> float:
    """The best token recall over the golds: what QASA's Eq. 4.2 prints under the name of F1."""
    return max(token_overlap(prediction, gold, rules).recall for gold in _usable(golds, rules))


def with_threshold(
    scores: Sequence[float], no_answer_scores: Sequence[float], answerable: Sequence[bool], threshold: float
) -> list[float]:
    """The scores once every answer whose no-answer score is above the threshold is withheld (SQuAD 2.0).

    Withholding is right (1) for a question without an answer and wrong (0) for any other.
    """
    check_same_length(scores=scores, no_answer_scores=no_answer_scores, answerable=answerable)
    check_numbers(no_answer_scores, "no-answer scores")
    return [
        float(not has_answer) if doubt > threshold else score
        for score, doubt, has_answer in zip(scores, no_answer_scores, answerable, strict=True)
    ]


def best_no_answer_threshold(
    scores: Sequence[float], no_answer_scores: Sequence[float], answerable: Sequence[bool], predictions: Sequence[str]
) -> BestThreshold:
    """The best mean EM or F1 that a threshold on the no-answer scores reaches (SQuAD 2.0: best_exact, best_f1).

    Questions are let through in the order of their no-answer scores. Letting one through adds its score if it has
    an answer, and takes 1 away if it has none and something was predicted; all withheld is the beginning, with
    threshold 0. As in the official script equal no-answer scores are let through one by one, so where many are equal
    the best score can be one that no threshold reaches: `with_threshold` tells what is reached.
    """
    check_same_length(scores=scores, no_answer_scores=no_answer_scores, answerable=answerable, predictions=predictions)
    check_some(scores, "questions")
    check_numbers(no_answer_scores, "no-answer scores")
    check_numbers(scores, "scores")
    current = float(sum(not has_answer for has_answer in answerable))
    best, threshold = current, 0.0
    for index in sorted(range(len(scores)), key=no_answer_scores.__getitem__):
        if answerable[index]:
            current += scores[index]
        elif predictions[index]:
            current -= 1
        if current > best:
            best, threshold = current, no_answer_scores[index]
    return BestThreshold(best / len(scores), threshold)


def contains_answer(text: str, golds: Sequence[str]) -> bool:
    """Whether any gold stands in the text as whole tokens, in any case (Chen et al. 2017, DrQA's distant supervision).

    An empty gold stands nowhere. "Cage" is in "Nicolas Cage's", not in "birdcages".
    """
    inside = _padded(text)
    return any((gold := _padded(answer)) != "  " and gold in inside for answer in golds)


def matches_pattern(prediction: str, patterns: Sequence[str]) -> float:
    """1 if any regular expression matches at the beginning of the prediction (CuratedTREC, as DrQA scores it).

    Letters match in any case, and ^ and $ match at every line. A pattern that is not a regular expression is a
    MetricError which names it.
    """
    return float(any(_compiled(pattern).match(prediction) for pattern in patterns))


def contains_pattern(text: str, patterns: Sequence[str]) -> bool:
    """Whether any regular expression matches anywhere in the text (CuratedTREC, as DrQA scores retrieval)."""
    return any(_compiled(pattern).search(text) for pattern in patterns)


def _usable(golds: Sequence[str], rules: Rules) -> Sequence[str]:
    if rules == "2.0":
        return [gold for gold in golds if normalized(gold)] or [""]
    if not golds:
        raise MetricError('a question without golds has no score under the rules of SQuAD 1.1; use rules="2.0"')
    return golds


@lru_cache(maxsize=1 << 14)
def _padded(text: str) -> str:
    """The tokens with a blank before, between and after them, so that only whole tokens are found."""
    return " " + " ".join(_TOKEN.findall(unicodedata.normalize("NFC", text).lower())) + " "


@lru_cache(maxsize=1 << 12)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise MetricError(f"the answer pattern {pattern!r} is not a regular expression: {error}") from error
