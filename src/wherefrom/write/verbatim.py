"""The answer in the documents' own words: nothing is written that does not stand in a passage.

Use it whenever every word has to be quotable. `short` gives the candidate as it was read, `sentence` the
sentences that hold it (or the row of a table, or the item of a list: `quoting.py`), `passage` the whole passage.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.stages import OnWords
from wherefrom.text import words
from wherefrom.types import Answer, Candidate, Hit, Passage, Question, Style, Word, joined
from wherefrom.write.quoting import quotation


class VerbatimWriter:
    """Quotes the best candidate, every word with the characters it was copied from."""

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],  # noqa: ARG002 - quotes only what was read
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        on_words: OnWords | None = None,  # noqa: ARG002 - all words are there at once
    ) -> list[Answer]:
        return [
            _quoted(read[0], style, chance) if read else Answer(None, style, chance)
            for _, read, chance in zip(questions, candidates, chances, strict=True)
        ]


def _quoted(candidate: Candidate, style: Style, chance: float) -> Answer:
    quoted = _words(candidate, style)
    return Answer(joined(quoted), style, chance, quoted, (candidate.passage,), how="quoted")


def _words(candidate: Candidate, style: Style) -> tuple[Word, ...]:
    """What the style quotes of the passage."""
    passage = candidate.passage
    if style == "passage":
        return copied_words(passage, 0, len(passage.text))
    if style in ("sentence", "explain"):  # several sentences are chosen by another: explaining.py
        return quotation(candidate) or copied_words(passage, candidate.start, candidate.end)
    return copied_words(passage, candidate.start, candidate.end)


def copied_words(passage: Passage, start: int, end: int) -> tuple[Word, ...]:
    """The words of `passage.text[start:end]`, each with where it stands; together they spell that text."""
    copied = []
    before = start
    for first, last in words(passage.text[start:end]):
        a, b = start + first, start + last
        copied.append(Word(passage.text[a:b], "passage", passage.id, a, b, 1.0, passage.text[before:a]))
        before = b
    return tuple(copied)
