"""Some of many, evenly spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def evenly_spread(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of them, every n-th, so that all articles stay in; 0 is all of them."""
    if not most or len(items) <= most:
        return list(items)
    return [items[place * len(items) // most] for place in range(most)]
