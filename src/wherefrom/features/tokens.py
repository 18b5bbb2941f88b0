"""Text cut as the classic readers and the tagger take it: runs of letters and digits, and every sign by itself."""

from __future__ import annotations

import re

from wherefrom.text import Span

_TOKEN = re.compile(r"\w+|[^\w\s]")


def tokens(text: str) -> list[Span]:
    """The tokens of a text by character offsets; an answer inside a hyphened word still begins at one."""
    return [match.span() for match in _TOKEN.finditer(text)]
