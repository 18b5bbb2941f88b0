"""Where an answer stands in a passage, for datasets that give its wording alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wherefrom.data.examples import GoldSpan
from wherefrom.types import Passage


def occurrences(answer: str, passage: Passage) -> Iterator[GoldSpan]:
    """Every place of the answer in the passage, as whole words, whatever the case and the white space.

    The spans are not sure: the words may stand there by chance (qasa 3.1.5 calls them pseudo labels).
    """
    words = answer.split()
    if not words:
        return
    wanted = r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)"
    for match in re.finditer(wanted, passage.text, re.IGNORECASE):
        yield GoldSpan(passage.id, match.start(), match.end(), match[0], sure=False)
