"""A picture of how one answer was written: bars of each word's shares, and a map of where the network looked."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from wherefrom.plots import standalone, svg, text_at
from wherefrom.text import clean
from wherefrom.types import joined
from wherefrom.write.explain import Explanation, NamedSource

# Okabe and Ito's colours, which are told apart by the colour-blind too.
_OF_KIND = {"vocabulary": "#8c8c8c", "question": "#0072b2", "answer": "#e69f00"}
_OF_PASSAGES = ("#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#c9b800")
_MOST_COLUMNS = 40
_HARDLY = 0.002  # a weight that is not to be seen
_CELL = 18  # a row or a column of the map
_BAR, _BARS = 30, 120  # the width that a word's bar has, and the height of them all
_LETTER = 6.6  # about as wide as one is, at 11 pixels
_LONGEST = 24  # letters of a word that are shown
_MARGIN = 16


def picture(explanation: Explanation) -> str:
    """Both pictures in one SVG file."""
    chosen = most_looked_at(explanation)
    columns = _Columns(explanation, chosen, _row_label(explanation))
    turned = max((_wide(_short(word.text)) for word in explanation.words), default=0.0) * 0.72
    slanted = max((_wide(_short(explanation.seen[place].text)) for place in chosen), default=0.0) * 0.5
    wide = max(columns.right + slanted + _MARGIN, _MARGIN * 3 + _BAR * len(explanation.words) + 60, 560.0)
    parts: list[str] = []
    top = _heading(parts, explanation, wide)
    top = _legend(parts, explanation, chosen, top)
    top = _bars(parts, explanation, top + 24) + turned + 44
    bottom = _map(parts, explanation, columns, top)
    answer = clean(joined(explanation.words))
    return standalone(svg(f"How an answer was written: {answer}", round(wide), round(bottom + _MARGIN), parts))


def most_looked_at(explanation: Explanation, most: int = _MOST_COLUMNS) -> list[int]:
    """The words that were looked at most over the whole answer, in the order of their texts."""
    weights = [sum(row[place] for row in explanation.looked) for place in range(len(explanation.seen))]
    best = sorted(range(len(weights)), key=lambda place: (-weights[place], place))[:most]
    return sorted(place for place in best if any(row[place] >= _HARDLY for row in explanation.looked))


@dataclass(frozen=True, slots=True)
class _Column:
    place: int  # among the words that were seen
    x: float


class _Columns:
    """Where the words that were looked at stand in the map: apart where their source ends, or words are left out."""

    def __init__(self, explanation: Explanation, chosen: Sequence[int], left: float) -> None:
        self.left = left
        self.columns: list[_Column] = []
        x = left
        for place in chosen:
            if self.columns:
                before = self.columns[-1].place
                other = explanation.seen[before].source != explanation.seen[place].source
                x += _CELL + (12 if other else 5 if place > before + 1 else 0)
            self.columns.append(_Column(place, x))
        self.right = x + _CELL


def _heading(parts: list[str], explanation: Explanation, wide: float) -> float:
    """Question and answer; where they end."""
    top = _MARGIN + 8.0
    letters = max(20, int((wide - 2 * _MARGIN) / _LETTER))
    for text, bold in ((explanation.question, False), (joined(explanation.words), True)):
        for line in textwrap.wrap(clean(text), letters)[:4]:
            parts.append(text_at(_MARGIN, top, line, "start", bold=bold))
            top += 15
    return top


def _legend(parts: list[str], explanation: Explanation, chosen: Sequence[int], top: float) -> float:
    """The sources that are to be seen in the picture."""
    top += 4
    shown = {explanation.seen[place].source for place in chosen}
    for number, source in enumerate(explanation.sources):
        if number in shown or any(row[number] >= 0.005 for row in explanation.shares):
            parts.append(_rect(_MARGIN, top - 9, 10, 10, _colour(explanation.sources, number)))
            parts.append(
                text_at(_MARGIN + 16, top, textwrap.shorten(clean(source.name), 80, placeholder=" …"), "start")
            )
            top += 15
    return top


def _bars(parts: list[str], explanation: Explanation, top: float) -> float:
    """A bar a word, of its shares one above the other; where the bars end."""
    left = _MARGIN + 30.0
    parts.append(
        text_at(_MARGIN, top - 10, "Mixture: what each source gave to the word that was written", "start", True)
    )
    right = left + _BAR * len(explanation.words)
    for tick in (0.0, 0.5, 1.0):
        y = top + _BARS * (1 - tick)
        parts.append(f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(text_at(left - 6, y + 4, f"{tick:g}", "end"))
    for place, (word, shares) in enumerate(zip(explanation.words, explanation.shares, strict=True)):
        x, y = left + _BAR * place, top + _BARS
        for number, share in enumerate(shares):
            if share >= _HARDLY:
                y -= _BARS * share
                tooltip = f"{word.text}: {explanation.sources[number].name}, {share:.3f}"
                parts.append(_rect(x + 4, y, _BAR - 8, _BARS * share, _colour(explanation.sources, number), tooltip))
        parts.append(text_at(x + _BAR / 2 + 4, top + _BARS + 12, _short(word.text), "end", turned=45))
    return top + _BARS


def _map(parts: list[str], explanation: Explanation, columns: _Columns, top: float) -> float:
    """A row a written word, a column a word that was looked at; where the map ends."""
    whole = sum(map(sum, explanation.looked))
    shown = sum(row[column.place] for row in explanation.looked for column in columns.columns)
    part = f", {100 * shown / whole:.1f} % of it in these columns" if whole else ""
    parts.append(text_at(_MARGIN, top, f"Attention: the weight of copying from each word{part}", "start", True))
    top = _shades(parts, top + 18)
    longest = max((_wide(_short(explanation.seen[column.place].text)) for column in columns.columns), default=0.0)
    top += longest * 0.87 + 24
    for column in columns.columns:
        seen = explanation.seen[column.place]
        colour = _colour(explanation.sources, seen.source)
        parts.append(text_at(column.x + 11, top - 9, _short(seen.text), "start", turned=60))
        parts.append(_rect(column.x, top - 5, _CELL, 3, colour, explanation.sources[seen.source].name))
    for row, (word, looked) in enumerate(zip(explanation.words, explanation.looked, strict=True)):
        y = top + row * _CELL
        parts.append(text_at(columns.left - 6, y + 13, _short(word.text), "end"))
        parts.append(f'<line x1="{columns.left:.1f}" y1="{y:.1f}" x2="{columns.right:.1f}" y2="{y:.1f}" class="grid"/>')
        for column in columns.columns:
            weight = looked[column.place]
            if weight >= _HARDLY:
                seen = explanation.seen[column.place]
                colour, tooltip = _colour(explanation.sources, seen.source), f"{word.text} ← {seen.text}: {weight:.3f}"
                parts.append(_rect(column.x, y, _CELL, _CELL, colour, tooltip, _shade(weight)))
    return top + _CELL * len(explanation.words)


def _shades(parts: list[str], top: float) -> float:
    """What the shades mean."""
    for number, weight in enumerate((0.01, 0.1, 0.5, 1.0)):
        x = _MARGIN + 60.0 * number
        parts.append(_rect(x, top - 11, 14, 14, "currentColor", "", _shade(weight)))
        parts.append(text_at(x + 19, top, f"{weight:g}", "start"))
    return top


def _shade(weight: float) -> float:
    """How dark a weight is: by its root, or a tenth would hardly be seen."""
    return math.sqrt(min(1.0, max(weight, 0.0)))


def _colour(sources: Sequence[NamedSource], number: int) -> str:
    source = sources[number]
    if source.kind != "passage":
        return _OF_KIND[source.kind]
    first = next(place for place, one in enumerate(sources) if one.kind == "passage")
    return _OF_PASSAGES[(number - first) % len(_OF_PASSAGES)]


def _rect(x: float, y: float, wide: float, high: float, colour: str, tooltip: str = "", shade: float = 1.0) -> str:
    """A filled box, with words for those who point at it."""
    box = f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{colour}"'
    box += f' fill-opacity="{shade:.2f}"' if shade < 1.0 else ""
    return f"{box}><title>{escape(clean(tooltip))}</title></rect>" if tooltip else f"{box}/>"


def _row_label(explanation: Explanation) -> float:
    """Where the map begins: right of the longest written word."""
    return _MARGIN + 10 + max((_wide(_short(word.text)) for word in explanation.words), default=0.0)


def _short(word: str) -> str:
    word = " ".join(clean(word).split())
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


def _wide(text: str) -> float:
    return _LETTER * len(text)
