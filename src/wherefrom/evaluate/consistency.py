"""Whether one system says the same in two styles, question by question; no gold is needed for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from wherefrom.evaluate.predictions import Prediction
from wherefrom.metrics.styles import contradictions, zero_overlap
from wherefrom.metrics.tokens import narrative_tokens
from wherefrom.types import STYLES
from wherefrom.write.attest import tells


@dataclass(frozen=True, slots=True)
class Consistency:
    """Answers in the style `one` beside those in the style `other`; shares in per cent of the questions."""

    one: str
    other: str
    questions: int  # answered in both
    one_alone: int  # answered in the first and declined in the second
    other_alone: int
    agrees: float  # the answer in the longer style holds that in the shorter one
    zero_overlap: float  # they have no word in common
    contradicts: float  # one begins with yes, the other with no
    words_one: float  # mean length of the answers that are compared
    words_other: float


def consistency(
    one: Mapping[str, Prediction], other: Mapping[str, Prediction], questions: Sequence[str]
) -> Consistency | None:
    """None where the styles are the same or not known (only traces tell them), or nothing is answered in both."""
    pairs = [(one[id], other[id]) for id in questions if id in one and id in other]
    pairs = [(left, right) for left, right in pairs if left.style and right.style and left.style != right.style]
    both = [(left, right) for left, right in pairs if left.text and right.text]
    if not both:
        return None
    texts, other_texts = [left.text or "" for left, _ in both], [right.text or "" for _, right in both]
    return Consistency(
        both[0][0].style,
        both[0][1].style,
        len(both),
        sum(bool(left.text) and not right.text for left, right in pairs),
        sum(bool(right.text) and not left.text for left, right in pairs),
        100.0 * fmean(_agree(left, right) for left, right in both),
        100.0 * zero_overlap(texts, other_texts),
        100.0 * contradictions(texts, other_texts),
        fmean(len(narrative_tokens(text)) for text in texts),
        fmean(len(narrative_tokens(text)) for text in other_texts),
    )


def _agree(left: Prediction, right: Prediction) -> bool:
    """Whether the answer in the longer style holds that in the shorter one; styles stand from short to long."""
    short, long = sorted((left, right), key=lambda prediction: [*STYLES, prediction.style].index(prediction.style))
    return tells(long.text or "", short.text or "")
