"""The answer in the documents' own words: nothing is written that does not stand in a passage.

Use it whenever every word has to be quotable. `short` gives the candidate as it was read, `sentence` the
sentences that hold it, `passage` the whole passage.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.stages import OnWords
from wherefrom.text import Span, sentences_around, words
from wherefrom.types import Answer, Candidate, Hit, Passage, Question, Style, Word


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
    passage = candidate.passage
    start, end = _extent(candidate, style)
    return Answer(
        text=passage.text[start:end],
        style=style,
        chance=chance,
        words=copied_words(passage, start, end),
        evidence=(passage,),
    )


def _extent(candidate: Candidate, style: Style) -> Span:
    """The part of the passage that the style quotes."""
    if style == "passage":
        return 0, len(candidate.passage.text)
    if style == "sentence":
        return sentences_around(candidate.passage.text, (candidate.start, candidate.end))
    return candidate.start, candidate.end


def copied_words(passage: Passage, start: int, end: int) -> tuple[Word, ...]:
    """The words of `passage.text[start:end]`, each with where it stands; together they spell that text."""
    copied = []
    before = start
    for first, last in words(passage.text[start:end]):
        a, b = start + first, start + last
        copied.append(Word(passage.text[a:b], "passage", passage.id, a, b, 1.0, passage.text[before:a]))
        before = b
    return tuple(copied)
