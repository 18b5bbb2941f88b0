"""Tokenised English put back together: `It 's ( almost ) done .` becomes `It's (almost) done.`

Rules for the marks of the Penn Treebank tokeniser. What the tokeniser threw away (the apostrophe in
`Louise s car`) cannot be brought back.
"""

from __future__ import annotations

import re

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_BRACKET = re.compile("|".join(_BRACKETS), re.IGNORECASE)
_STEPS = (
    (re.compile(r"``\s*"), '"'),
    (re.compile(r"\s*''"), '"'),
    (re.compile(r"(?<=\w) (n[’']t|[’'](?:s|re|ve|ll|d|m))\b", re.IGNORECASE), r"\1"),
    (re.compile(r"\b(can|gon|wan|got) (not|na|ta)\b(?!-)", re.IGNORECASE), r"\1\2"),
    (re.compile(r"\s+([.,;:!?%…)\]}])"), r"\1"),
    (re.compile(r"([(\[{])\s+"), r"\1"),
    (re.compile(r"([$£€#])\s+(?=\d)"), r"\1"),
    (re.compile(r'(?<!\S)" ([^"]*?) "(?=\s|[.,;:!?)]|$)'), r'"\1"'),
)


def detokenized(text: str) -> str:
    """The text as it would be printed."""
    text = _BRACKET.sub(lambda match: _BRACKETS[match[0].upper()], text)
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return text
