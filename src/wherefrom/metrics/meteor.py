"""METEOR: words matched one to one, by form, then stem, then meaning, and how scattered the matches are.

This is the METEOR of Banerjee & Lavie (2005) with the parameter names of Lavie & Agarwal (2007), as
nltk.translate.meteor_score computes it: α = 0.9, β = 3, γ = 0.5. It is not METEOR 1.5 (Denkowski & Lavie 2014), the
Java program behind the published NarrativeQA figures, which weighs function words and paraphrases; the two are not
comparable. WordNet cannot be shipped, so words match by meaning only if `synonyms` is given; it is asked for the word
itself, where NLTK looks up its stem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from wherefrom.metrics.checks import check_references
from wherefrom.metrics.porter import stem

Tokens = Sequence[str]
Synonyms = Callable[[str], Collection[str]]


def meteor(
    prediction: Tokens,
    references: Sequence[Tokens],
    synonyms: Synonyms | None = None,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> float:
    """The best METEOR over the references: (1 − γ·(chunks/m)^β) · P·R / (α·P + (1 − α)·R).

    P = m/|text| and R = m/|reference|, where m is the number of matched words, and a chunk is a run of them that
    stands in the same order on both sides. Nothing matched, as with an empty text, is 0. One matched word is one
    chunk, so even equal texts of one word get 1 − γ.
    """
    check_references(references)
    predicted = [token.lower() for token in prediction]
    return max(
        _against([token.lower() for token in reference], predicted, synonyms, alpha, beta, gamma)
        for reference in references
    )


def aligned(prediction: Tokens, reference: Tokens, synonyms: Synonyms | None = None) -> list[tuple[int, int]]:
    """The matched words as (place in the text, place in the reference), in the order of the text.

    Each stage, from the last word backwards, gives a word the last free equal of the reference: greedy, as in
    NLTK, where METEOR's definition would search for the fewest crossings.
    """
    free_predicted = list(range(len(prediction)))
    free_wanted = list(range(len(reference)))
    pairs: list[tuple[int, int]] = []
    for stage in (_same_form, _same_stem, *([_synonym_of(synonyms)] if synonyms else [])):
        places: dict[str, list[int]] = {}
        for place in free_wanted:
            places.setdefault(stage(reference[place])[0], []).append(place)
        for place in reversed(free_predicted):
            open_places = [places[form] for form in stage(prediction[place]) if places.get(form)]
            if open_places:
                pairs.append((place, max(open_places, key=lambda free: free[-1]).pop()))
        taken_predicted, taken_wanted = {predicted for predicted, _ in pairs}, {wanted for _, wanted in pairs}
        free_predicted = [place for place in free_predicted if place not in taken_predicted]
        free_wanted = [place for place in free_wanted if place not in taken_wanted]
    return sorted(pairs)


def chunks(pairs: Sequence[tuple[int, int]]) -> int:
    """How many runs the matches fall into: the next match must stand next on both sides to stay in the run."""
    breaks = sum(following != (predicted + 1, wanted + 1) for (predicted, wanted), following in pairwise(pairs))
    return breaks + 1 if pairs else 0


def _against(
    reference: Tokens, prediction: Tokens, synonyms: Synonyms | None, alpha: float, beta: float, gamma: float
) -> float:
    pairs = aligned(prediction, reference, synonyms)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(prediction), len(pairs) / len(reference)
    mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
    return (1 - gamma * math.pow(chunks(pairs) / len(pairs), beta)) * mean


# A stage tells the forms under which a word of the text may be met; a word of the reference stands under the first.


def _same_form(word: str) -> tuple[str, ...]:
    return (word,)


def _same_stem(word: str) -> tuple[str, ...]:
    return (stem(word, "nltk"),)


def _synonym_of(synonyms: Synonyms) -> Callable[[str], tuple[str, ...]]:
    return lambda word: (word, *synonyms(word))
