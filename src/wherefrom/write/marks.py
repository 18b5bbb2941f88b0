"""Vocabulary entries that BERT left unused, and what a writer uses them for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

# `narrative` is NarrativeQA's way of answering: free words, but no whole sentence.
WrittenStyle = Literal["short", "sentence", "narrative"]
WRITTEN_STYLES: tuple[WrittenStyle, ...] = get_args(WrittenStyle)

NAMES = {"end": "[unused1]", "short": "[unused2]", "sentence": "[unused3]", "narrative": "[unused4]"}


@dataclass(frozen=True, slots=True)
class Marks:
    """Token ids with a meaning of their own; the defaults are those of BERT's uncased vocabulary."""

    end: int = 2
    short: int = 3
    sentence: int = 4
    narrative: int = 5
    padding: int = 0
    unknown: int = 100
    classify: int = 101
    separate: int = 102

    def style(self, style: WrittenStyle) -> int:
        """The token that begins an answer of this style."""
        return {"short": self.short, "sentence": self.sentence, "narrative": self.narrative}[style]
