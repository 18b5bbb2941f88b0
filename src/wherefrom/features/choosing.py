"""Which statements are told: the best that say something new, as long as there is room for them.

Maximal marginal relevance (Carbonell and Goldstein 1998): worth minus a share of the likeness to what is chosen
already. A statement that leans on the one before it is told with that one or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from wherefrom.features.statements import Statement

_AGAIN = 0.5  # share of a statement's three words in a row that stand in what is chosen; of more it says the same again


def chosen(
    pool: Sequence[Statement],
    worth: NDArray[numpy.float32],
    likeness: NDArray[numpy.float32],
    words: int,
    most: int | None = None,
    least: float = 0.0,
    novelty: float = 0.3,
) -> list[int]:
    """The places of the chosen statements, best first; together at most `words` words and `most` statements.

    One of worth below `least` is left out, unless nothing is chosen yet. `novelty` is the share of likeness that is
    taken off: 0 chooses by worth alone.
    """
    lengths = [each.length for each in pool]
    grams = [_trigrams(each.text) for each in pool]
    grams_so_far: set[tuple[str, ...]] = set()
    taken: list[int] = []
    nearest = numpy.zeros(len(pool), numpy.float32)  # likeness to what is chosen
    open_places = numpy.array([length > 0 for length in lengths], bool)
    room = words
    while open_places.any() and room > 0 and (most is None or len(taken) < most):
        gain = numpy.where(open_places, worth - novelty * nearest, -numpy.inf)
        place = int(gain.argmax())  # the first of those that gain equally
        open_places[place] = False
        if worth[place] < least and taken:
            continue
        together = _with_what_it_leans_on(pool, place, taken)
        fresh = [at for at in together if at not in taken]
        size = sum(lengths[at] for at in fresh)
        if not together or size > room or (most is not None and len(taken) + len(fresh) > most):
            continue
        if grams[place] and len(grams[place] & grams_so_far) > _AGAIN * len(grams[place]):
            continue
        taken += fresh
        room -= size
        for at in fresh:
            grams_so_far |= grams[at]
            nearest = numpy.maximum(nearest, likeness[at])
            open_places[at] = False
    return taken


def in_reading_order(pool: Sequence[Statement], places: Sequence[int]) -> list[int]:
    """The places in the order of the documents: of the best hit first, and within each as its text goes."""
    first: dict[str, int] = {}
    for at in places:
        document = pool[at].passage.document_id
        first[document] = min(first.get(document, pool[at].hit), pool[at].hit)
    return sorted(places, key=lambda at: (first[pool[at].passage.document_id], pool[at].place))


def _with_what_it_leans_on(pool: Sequence[Statement], place: int, taken: Sequence[int]) -> list[int]:
    """The statement after those without which it is not understood; none where these are missing."""
    together = [place]
    while pool[together[0]].hanging and together[0] not in taken:
        before = pool[together[0]].before
        if before < 0 or len(together) > 2:
            return []
        together.insert(0, before)
    return together


def _trigrams(text: str) -> set[tuple[str, ...]]:
    tokens = [token.strip(".,;:!?()\"'").lower() for token in text.split()]
    return set(zip(tokens, tokens[1:], tokens[2:], strict=False))
