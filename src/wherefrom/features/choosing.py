"""Which statements are told: the best that say something new, as long as there is room for them.

Maximal marginal relevance (Carbonell and Goldstein 1998): worth minus a share of the likeness to what is chosen
already. A statement that leans on the one before it is told with that one or not at all. Code and synopses are told
only where they hold what was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from wherefrom.features.statements import Statement

MOST = 5  # sentences of an explanation
LEAST = 2
WORDS = 150  # of all of them; a list or a piece of code is one sentence here
_NOVELTY = 0.2  # of an explanation
_AGAIN = 0.5  # share of a statement's three words in a row that stand in what is chosen; of more it says the same again


def explaining(
    pool: Sequence[Statement],
    worth: NDArray[numpy.float32],
    likeness: NDArray[numpy.float32],
    least: float,
    leading: int | None = None,
) -> list[int]:
    """The places of the statements of an explanation, best first: two to five sentences."""
    places = chosen(pool, worth, likeness, WORDS, MOST, least, _NOVELTY, leading)
    if len(places) < LEAST and all(pool[at].kind == "sentence" for at in places):
        places = chosen(pool, worth, likeness, WORDS, LEAST, 0.0, _NOVELTY, leading)
    return places


def chosen(
    pool: Sequence[Statement],
    worth: NDArray[numpy.float32],
    likeness: NDArray[numpy.float32],
    words: int,
    most: int | None = None,
    least: float = 0.0,
    novelty: float = 0.3,
    leading: int | None = None,
) -> list[int]:
    """The places of the chosen statements, best first; together at most `words` words and `most` statements.

    One of worth below `least` is left out, unless nothing is chosen yet. `novelty` is the share of likeness that is
    taken off: 0 chooses by worth alone. The one at `leading` is told in any case, if there is room for it, even where
    nothing stands before it that it could lean on: a heading does.
    """
    lengths = [each.length for each in pool]
    grams = [_trigrams(each.text) for each in pool]
    grams_so_far: set[tuple[str, ...]] = set()
    taken: list[int] = []
    nearest = numpy.zeros(len(pool), numpy.float32)  # likeness to what is chosen
    open_places = numpy.array([each.length > 0 and each.kind != "code" for each in pool], bool)
    if leading is not None:
        open_places[leading] = True
    room = words
    while open_places.any() and room > 0 and (most is None or len(taken) < most):
        gain = numpy.where(open_places, worth - novelty * nearest, -numpy.inf)
        place = leading if leading is not None and not taken and open_places[leading] else int(gain.argmax())
        open_places[place] = False
        if worth[place] < least and taken:
            continue
        together = _with_what_it_leans_on(pool, place, taken) or ([place] if place == leading else [])
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


def in_reading_order(pool: Sequence[Statement], places: Sequence[int], leading: int | None = None) -> list[int]:
    """The places in the order of the documents: of the leading one or the best hit first, each as its text goes."""
    first: dict[str, int] = {}
    for at in places:
        document = pool[at].passage.document_id
        first[document] = min(first.get(document, pool[at].hit), -1 if at == leading else pool[at].hit)
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
