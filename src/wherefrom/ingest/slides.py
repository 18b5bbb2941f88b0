"""Presentations as text: the slides in their order, each with its title, its words and the speaker's notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wherefrom.ingest.places import TextBlock, laid_out
from wherefrom.types import Place


@dataclass(frozen=True, slots=True)
class Slide:
    """What stands on one slide."""

    number: int
    title: str
    blocks: tuple[TextBlock, ...]
    notes: tuple[str, ...] = ()


def slides_text(slides: Sequence[Slide]) -> tuple[str, tuple[Place, ...]]:
    """All slides as one text, and where each begins; those that say nothing keep their numbers."""
    pieces: list[str] = []
    places: list[Place] = []
    length = 0
    for slide in slides:
        blocks = [*([TextBlock(slide.title)] if slide.title else []), *slide.blocks]
        notes = [TextBlock(f"Notes: {note}" if index == 0 else note) for index, note in enumerate(slide.notes)]
        text, _ = laid_out([*blocks, *notes], "")
        if not text:
            continue
        if pieces:
            pieces.append("\n\n")
            length += 2
        places.append(Place(length, f"slide {slide.number}", slide.number))
        pieces.append(text)
        length += len(text)
    return "".join(pieces), tuple(places)
