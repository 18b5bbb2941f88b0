"""BLEU: how many of a text's n-grams its references hold (Papineni et al. 2002).

The corpus is scored as one: matches and lengths are summed over all texts before they are divided. So `counted`
looks at one text, and `bleu` at the sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from wherefrom.metrics.checks import check_references, check_same_length, check_some
from wherefrom.metrics.overlap import counts, ngrams

Tokens = Sequence[str]
Smoothing = Literal["none", "coco"]

_TINY, _SMALL = 1e-15, 1e-9  # coco-caption's guards against division by zero


class BleuCounts(NamedTuple):
    """What BLEU needs to know of a text, or summed, of a corpus: `same[n-1]` of `predicted[n-1]` n-grams are right."""

    length: int
    wanted_length: int
    same: tuple[int, ...]
    predicted: tuple[int, ...]


def closest_length(length: int, references: Iterable[int]) -> int:
    """The reference length nearest to the text's; of two as near, the shorter (Papineni et al. 2002, section 2.2.2)."""
    return min((abs(wanted - length), wanted) for wanted in references)[1]


def counted(prediction: Tokens, references: Sequence[Tokens], max_n: int = 4) -> BleuCounts:
    """Σ over the text's n-grams of min(count, highest count in one reference) (Papineni et al. 2002, section 2.1)."""
    check_references(references)
    same: list[int] = []
    for n in range(1, max_n + 1):
        # An n-gram can only be right if the shorter ones inside it are: where none were, none will be.
        same.append(_clipped(prediction, references, n) if not same or same[-1] else 0)
    size = len(prediction)
    return BleuCounts(
        size, closest_length(size, map(len, references)), tuple(same), tuple(max(0, size - n) for n in range(max_n))
    )


def bleu(texts: Sequence[BleuCounts], brevity: bool = True, smoothing: Smoothing = "none") -> tuple[float, ...]:
    """BLEU-1 ... BLEU-N: BP·(Π_{k≤n} p_k)^{1/n}, with p_k = same/predicted and BP = min(1, exp(1 − r/c)) (Eq. 1-3).

    Without smoothing an order with no match makes itself and all longer ones 0; "coco" adds the tiny numbers of
    coco-caption, which MS MARCO's and NarrativeQA's figures contain, so that such a score is small instead.
    `brevity=False` leaves out BP.
    """
    check_some(texts, "texts")
    tiny, small = (_TINY, _SMALL) if smoothing == "coco" else (0.0, 0.0)
    same = [sum(column) for column in zip(*(text.same for text in texts), strict=True)]
    predicted = [sum(column) for column in zip(*(text.predicted for text in texts), strict=True)]
    penalty = brevity_penalty(
        sum(text.length for text in texts) + tiny, sum(text.wanted_length for text in texts) + small
    )
    scores: list[float] = []
    product = 1.0
    for n, (right, all_of_them) in enumerate(zip(same, predicted, strict=True), start=1):
        product *= (right + tiny) / (all_of_them + small) if all_of_them + small else 0.0
        scores.append((penalty if brevity else 1.0) * product ** (1 / n))
    return tuple(scores)


def brevity_penalty(length: float, wanted_length: float) -> float:
    """BP = exp(1 − r/c) if the texts are shorter than wanted (c < r), else 1; 0 for texts without a token."""
    if length >= wanted_length:
        return 1.0
    return math.exp(1 - wanted_length / length) if length > 0 else 0.0


def corpus_bleu(
    predictions: Sequence[Tokens],
    references: Sequence[Sequence[Tokens]],
    max_n: int = 4,
    brevity: bool = True,
    smoothing: Smoothing = "none",
) -> tuple[float, ...]:
    """BLEU-1 ... BLEU-N of a corpus of texts, each with its references."""
    check_same_length(predictions=predictions, lists_of_references=references)
    texts = [counted(text, wanted, max_n) for text, wanted in zip(predictions, references, strict=True)]
    return bleu(texts, brevity, smoothing)


def sentence_bleu(
    prediction: Tokens,
    references: Sequence[Tokens],
    max_n: int = 4,
    brevity: bool = True,
    smoothing: Smoothing = "none",
) -> tuple[float, ...]:
    """BLEU-1 ... BLEU-N of one text; their mean is not the BLEU of the corpus."""
    return bleu([counted(prediction, references, max_n)], brevity, smoothing)


def _clipped(prediction: Tokens, references: Sequence[Tokens], n: int) -> int:
    allowed = counts(ngrams(references[0], n))
    for reference in references[1:]:
        for gram, count in counts(ngrams(reference, n)).items():
            if count > allowed.get(gram, 0):
                allowed[gram] = count
    same = 0
    for gram, count in counts(ngrams(prediction, n)).items():
        same += min(count, allowed.get(gram, 0))
    return same
