"""Which light markup a plain text is written in, where its own marks leave no doubt.

Manuals in AsciiDoc and reStructuredText often end in .txt. What plain texts hold as well, such as an underlined heading
or a word between stars, is no evidence; only marks that nobody writes by chance are counted, each sort of them once.
"""

from __future__ import annotations

import re
from typing import Literal

Markup = Literal["asciidoc", "rst"]

_LOOKED_AT = 65_536  # characters from the beginning
_LEAST_SORTS = 2  # of marks
_LEAST_MARKS = 3  # all together

# Each looks at a line, or at a few words of one, and gives nothing back that it has matched.
_ASCIIDOC = (
    r"^\[(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION|verse|quote|listing|literal|source|horizontal|abstract)"
    r"(?:,[^\]\n]{0,80})?\]$",
    r"^(?:include|ifdef|ifndef|ifeval|endif|image|toc)::[^\s\[\]]{0,200}\[[^\]\n]{0,200}\]$",
    r"^\[(?:\[[\w:.-]{1,80}\]|[#\.][\w-]{1,80})\]",
    r"\b(?:linkgit|man|link|xref):[^\s\[\]]{1,200}\[[^\]\n]{0,200}\]",
    r"<<[\w:.-]{1,80}(?:,[^<>\n]{1,120})?>>",
    r"^(?!\s)\S[^\n]{0,80}::$(?=\n(?:\n|[ \t]|\+$))",
    r"^[\w.-]{1,60}\([1-9][a-z]?\)\n={3,}$",  # a manual page's title
    r"^:(?:toc|doctype|icons|experimental|sectnums|source-highlighter|imagesdir|idprefix|compat-mode)!?:",
)
_RST = (
    r"^[ \t]*\.\. [a-z][\w-]{0,40}(?::[\w-]{1,40})?::(?:\s|$)",
    r"^\.\. _[^\n:]{1,100}:(?:\s|$)",
    r":(?:[a-z]{1,12}:)?[a-z]{2,20}:`[^`\n]{1,200}`",
    r"(?<!\w)`[^`\n]{1,120}`__?(?!\w)",
    r"^\.\. \|[^|\n]{1,60}\| ",
)


def markup_of(text: str) -> Markup | None:
    """The markup of a text that is called plain; None for what may as well be plain."""
    start = text[:_LOOKED_AT].replace("\r\n", "\n")
    evidence: list[tuple[int, Markup]] = [
        (_evidence(start, _of_asciidoc), "asciidoc"),
        (_evidence(start, _of_rst), "rst"),
    ]
    most, markup = max(evidence)
    return markup if most else None


def _evidence(text: str, sorts: tuple[re.Pattern[str], ...]) -> int:
    """How many marks there are, each line once; 0 where they are few, or all of one sort."""
    counts = [len({match.start() for match in sort.finditer(text)}) for sort in sorts]
    enough = sum(count > 0 for count in counts) >= _LEAST_SORTS and sum(counts) >= _LEAST_MARKS
    return sum(counts) if enough else 0


_of_asciidoc = tuple(re.compile(each, re.MULTILINE) for each in _ASCIIDOC)
_of_rst = tuple(re.compile(each, re.MULTILINE) for each in _RST)
