"""The numbers of BM25 as tantivy has them, for an index that keeps a weight a term and passage.

    weight(f, L) = f (k1 + 1) / (f + k1 (1 - b + b L / mean)),     idf(n) = ln(1 + (N - n + 1/2) / (n + 1/2))

A passage scores the sum over the question's terms of idf times weight, where f is how often the passage holds the term,
L how many terms it has, `mean` that of all N passages, and n the passages that hold the term (Robertson and Zaragoza
2009, equation 3.15, with one added inside of the logarithm so that common terms do not count against a passage).
"""

from __future__ import annotations

import math
from bisect import bisect_right

K1 = 1.2
B = 0.75


def weight(frequency: float, length: int, mean: float) -> float:
    """What a term that stands so often in a passage of this length adds, before its idf."""
    return frequency * (K1 + 1) / (frequency + _longer(length, mean))


def frequency(weight: float, length: int, mean: float) -> int:
    """How often a term stands in a passage, from its weight there."""
    return max(1, round(weight * _longer(length, mean) / (K1 + 1 - weight)))


def idf(passages: int, of_all: int) -> float:
    """What a term is worth that so many of all passages hold."""
    return math.log(1 + (of_all - passages + 0.5) / (passages + 0.5))


def kept_length(terms: int) -> int:
    """A length as tantivy keeps it, in a byte: exact below 40, then the next smaller one of ever wider steps."""
    return _LENGTHS[bisect_right(_LENGTHS, terms) - 1]


def _longer(length: int, mean: float) -> float:
    return K1 * (1 - B + B * length / mean)


def _lengths() -> list[int]:
    """24 exact ones, then floating point of three binary digits beside the leading one."""
    steps = [*range(8), *((8 | digits) << exponent for exponent in range(28) for digits in range(8))]
    return [*range(24), *(24 + step for step in steps)]


_LENGTHS = _lengths()
