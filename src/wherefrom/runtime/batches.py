"""Windows of tokens put together so that little is padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class _Tokens(Protocol):
    @property
    def tokens(self) -> list[int]: ...


_Window = TypeVar("_Window", bound=_Tokens)


def batches_of(windows: Sequence[_Window], most: int) -> list[list[_Window]]:
    """Windows of similar length together, longest first; a batch has at most so many tokens, padding included."""
    batches: list[list[_Window]] = []
    for window in sorted(windows, key=lambda window: -len(window.tokens)):
        if batches and (len(batches[-1]) + 1) * len(batches[-1][0].tokens) <= most:
            batches[-1].append(window)
        else:
            batches.append([window])
    return batches
