"""Names in code, options and paths are found whole and in parts: `shared_buffers`, `--dry-run`, `/etc/passwd`.

An index cuts texts at whatever is no letter or digit, so that the parts of most names are words of it anyway, and a
name is no more than they are. Behind each name stands here what it is whole, as a single word; and of those written in
one, such as `maxConnections`, the parts. Both passages and questions are treated so: whoever types the name exactly
finds the passages that have it before those that only have its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = r"[A-Za-z][A-Za-z0-9]*"
_SNAKE = rf"_*{_NAME}(?:_+[A-Za-z0-9]+)+"
_CAMEL = r"[a-z][a-z0-9]*+(?:[A-Z][a-z0-9]*)+|(?:[A-Z][a-z0-9]+){2,}"
_DOTTED = r"[A-Za-z]\w+(?:(?:\.|::|->)[A-Za-z]\w+)+"
_OPTION = rf"--?{_NAME}(?:-[A-Za-z0-9]+)+|--{_NAME}|-[A-Za-z](?![\w-])"
_PATH = r"(?:~|\.{1,2})?(?:/[A-Za-z0-9_.+-]*[A-Za-z0-9_+])+/?"
_SIGNED = r"[A-Za-z](?:\+\+|#)(?!\w)"  # C++, C#
_ALL = re.compile(
    rf"(?<![\w/.~@:-])(?:(?P<option>{_OPTION})|(?P<path>{_PATH})|(?P<signed>{_SIGNED})|(?P<dotted>{_DOTTED})(?![\w@]))"
    rf"|(?<![A-Za-z0-9_])(?P<name>{_SNAKE}|{_CAMEL})(?![A-Za-z0-9_])"
)
# Most passages have no name, and most words of those that have some are none. What is looked for begins with one
# of a few signs, so that all others are passed over at once: tried at every letter, it took half the time of indexing.
_QUICK = re.compile(
    r"[A-Z_/~#+.:-](?:(?<=[a-z][A-Z])|(?<=[A-Za-z]_)|(?<=[/~#+])|(?<=-)[A-Za-z-]"
    r"|(?<=[A-Za-z]\.)[A-Za-z]|(?<=[A-Za-z]:):[A-Za-z]|(?<=[A-Za-z]-)>[A-Za-z])"
)
_HINT = re.compile(r"[A-Z_/~#+.:>-](?:(?<=[a-z0-9][A-Z])|(?<=[_/~#+])|(?<=-)[A-Za-z-]|(?<=[.:>])[A-Za-z])")
_HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_NO_LETTERS = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 60  # characters: longer ones are data


def with_names(text: str) -> str:
    """The text with the whole and the parts of each name behind it."""
    return "".join(_pieces(text)) if _QUICK.search(text) else text


def _pieces(text: str) -> Iterator[str]:
    """The text bit by bit; no name has a blank in it, so that looking for them between two blanks is enough."""
    done = 0
    for hint in _HINT.finditer(text):
        if hint.start() >= done:
            begin = text.rfind(" ", done, hint.start()) + 1 or done
            end = text.find(" ", hint.end())
            end = len(text) if end < 0 else end
            yield text[done:begin]
            yield _ALL.sub(_spelled_out, text[begin:end])
            done = end
    yield text[done:]


def _spelled_out(match: re.Match[str]) -> str:
    written = match[0]
    if len(written) > _LONGEST:
        return written
    more = _whole(match)
    parts = _HUMP.findall(written) if match["name"] and "_" not in written else []
    return " ".join([written, more, *(parts if len(parts) > 1 else [])])


def _whole(match: re.Match[str]) -> str:
    """A name as one word that no other text has."""
    letters = _NO_LETTERS.sub("", match[0])
    if match["option"]:
        return f"option{letters}"
    if match["path"]:
        return f"path{letters}"
    if match["signed"]:
        return f"{letters}sharp" if match[0].endswith("#") else f"{letters}plusplus"
    return letters
