"""Memory that is free goes back to the system, so that a server that runs for months is as large as what it holds.

glibc keeps what was freed, and has a heap for every few threads: each of them grows to the most that its threads ever
needed at once, and one small thing at its end keeps all of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Give back what is free, also between what is not; some milliseconds of work."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """glibc's `malloc_trim`; None where the C library is another."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # the last: Windows has no name for the whole process
        return None
    return trim
