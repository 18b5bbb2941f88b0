"""Plots as plain SVG text: lines, horizontal bars with their intervals, reported beside measured, and fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 420, 300
_LEFT, _BOTTOM, _TOP, _RIGHT = 48, 40, 28, 12
_COLOURS = ("#1f6f8b", "#c8553d", "#588b4a", "#7a5ba6", "#8a6d3b")


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve: its name, and its points from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class BarPair:
    """What is reported beside what was measured; either may be missing."""

    name: str
    reported: float | None = None
    measured: float | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; `low` and `high` are the ends of its interval where there is one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


def line_plot(title: str, x: str, y: str, lines: Sequence[Curve], diagonal: bool = False) -> str:
    """Curves over the unit square; `diagonal` draws the line where both axes agree."""
    parts = [text_at(_WIDTH / 2, 16, title, "middle", bold=True)]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line x1="{_x(tick)}" y1="{_y(0)}" x2="{_x(tick)}" y2="{_y(1)}" class="grid"/>')
        parts.append(f'<line x1="{_x(0)}" y1="{_y(tick)}" x2="{_x(1)}" y2="{_y(tick)}" class="grid"/>')
        parts.append(text_at(_x(tick), _y(0) + 14, f"{tick:g}", "middle"))
        parts.append(text_at(_x(0) - 6, _y(tick) + 4, f"{tick:g}", "end"))
    if diagonal:
        parts.append(f'<line x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}" class="diagonal"/>')
    for number, line in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{_x(a):.1f},{_y(b):.1f}" for a, b in line.points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(line.points) <= 20:
            parts += [f'<circle cx="{_x(a):.1f}" cy="{_y(b):.1f}" r="3" fill="{colour}"/>' for a, b in line.points]
        if len(lines) > 1:
            parts.append(text_at(_x(1) - 4, _y(0) - 8 - 14 * number, line.name, "end", colour=colour))
    parts.append(text_at((_x(0) + _x(1)) / 2, _HEIGHT - 6, x, "middle"))
    parts.append(text_at(14, (_y(0) + _y(1)) / 2, y, "middle", turned=90))
    return svg(title, _WIDTH, _HEIGHT, parts)


def bar_plot(title: str, bars: Sequence[Bar], unit: str = "", left: float = 130) -> str:
    """Horizontal bars from 0, in the given order, with the value at the end; `left`: room for their names."""
    row, wide = 20, left + 270
    most = max((bar.high if bar.high is not None else bar.value for bar in bars), default=1.0) or 1.0
    scale = (wide - left - 60) / most
    parts = [text_at(wide / 2, 16, title, "middle", bold=True)]
    for number, bar in enumerate(bars):
        top = _TOP + number * row
        parts.append(text_at(left - 6, top + 13, bar.name, "end"))
        width = max(bar.value, 0.0) * scale
        parts.append(f'<rect x="{left}" y="{top + 2}" width="{width:.1f}" height="{row - 6}" fill="{_COLOURS[0]}"/>')
        end = left + width
        if bar.low is not None and bar.high is not None:
            a, b, middle = left + bar.low * scale, left + bar.high * scale, top + row / 2 - 1
            parts.append(f'<line x1="{a:.1f}" y1="{middle}" x2="{b:.1f}" y2="{middle}" class="interval"/>')
            end = max(end, b)
        parts.append(text_at(end + 5, top + 13, f"{bar.value:.1f}{unit}", "start"))
    return svg(title, wide, _TOP + row * len(bars) + 8, parts)


def pair_plot(title: str, pairs: Sequence[BarPair], digits: int = 1, line: Bar | None = None, left: float = 130) -> str:
    """Hollow bars for what is reported, full ones below them for what was measured; `left`: room for their names.

    The two are of different data: nothing but their order may be compared. `line`: a value to look at the measured
    ones by, a stroke beside each of them and of no reported one.
    """
    row, bar, wide, top = 34, 11, left + 330, 46
    values = [value for pair in pairs for value in (pair.reported, pair.measured) if value is not None]
    scale = (wide - left - 60) / (max([*values, line.value if line else 0.0], default=1.0) or 1.0)
    parts = [text_at(wide / 2, 16, title, "middle", bold=True)]
    for place, name in ((left, "reported"), (left + 90, "measured")):
        parts += [_bar_of(name, place, 26, 22, bar), text_at(place + 27, 35, name, "start")]
    for number, pair in enumerate(pairs):
        y = top + row * number
        parts.append(text_at(left - 6, y + 15, pair.name, "end"))
        for kind, value, at in (("reported", pair.reported, y + 1), ("measured", pair.measured, y + 13)):
            if value is None:
                parts.append(text_at(left + 4, at + 9, f"not {kind}", "start"))
                continue
            parts.append(_bar_of(kind, left, at, max(value, 0.0) * scale, bar))
            parts.append(text_at(left + max(value, 0.0) * scale + 5, at + 9, f"{value:.{digits}f}", "start"))
        if line:
            across = left + line.value * scale
            parts.append(f'<line x1="{across:.1f}" y1="{y + 13}" x2="{across:.1f}" y2="{y + 26}" class="interval"/>')
    if line:
        parts.append(text_at(wide - 6, top + row * len(pairs) + 12, f"{line.name} {line.value:.{digits}f}", "end"))
    return svg(title, wide, top + row * len(pairs) + (20 if line else 6), parts)


def _bar_of(kind: str, x: float, y: float, width: float, height: float) -> str:
    """What is reported is an outline, what was measured is filled."""
    paint = f'fill="{_COLOURS[0]}"' if kind == "measured" else f'fill="none" stroke="{_COLOURS[1]}" stroke-width="1.2"'
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" {paint}/>'


def field(title: str, groups: Sequence[tuple[str, Sequence[str]]], seen: Sequence[Sequence[bool]]) -> str:
    """Which of a sequence's tokens (rows) may see which (columns): full where it may, empty where not.

    Tokens come in groups, such as query and document; a line parts them.
    """
    side, left, top = 17, 80, 72
    names = [name for _, members in groups for name in members]
    wide = left + side * len(names)
    parts = [text_at(6, 16, title, "start", bold=True)]
    for place, name in enumerate(names):
        parts.append(text_at(left + side * place + 12, top - 6, name, "start", turned=60))
        parts.append(text_at(left - 6, top + side * place + 12, name, "end"))
    for line, row in enumerate(seen):
        for place, may in enumerate(row):
            paint = f'fill="{_COLOURS[0]}" fill-opacity="0.85"' if may else 'fill="none" class="grid"'
            x, y = left + side * place, top + side * line
            parts.append(f'<rect x="{x}" y="{y}" width="{side - 2}" height="{side - 2}" {paint}/>')
    first, end = 0, side * len(names)
    for name, members in groups:
        if first:
            cut = side * first - 1
            for x1, y1, x2, y2 in ((left, top + cut, wide, top + cut), (left + cut, top, left + cut, top + end)):
                parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="interval"/>')
        middle = side * (first + len(members) / 2)
        parts.append(text_at(left + middle, top + end + 14, name, "middle", bold=True))
        parts.append(text_at(wide + 14, top + middle, name, "middle", bold=True, turned=90))
        first += len(members)
    return svg(title, wide + 24, top + end + 22, parts)


def heatmap(title: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    """A field for each row and column, the fuller the nearer its value is to 1; values below 0 are as 0."""
    side, left, top = 18, 90, 110
    parts = [text_at(left, 16, title, "start", bold=True)]
    for place, name in enumerate(columns):
        parts.append(text_at(left + side * place + 13, top - 6, name, "start", turned=60))
    for line, name in enumerate(rows):
        parts.append(text_at(left - 6, top + side * line + 13, name, "end"))
        for place, value in enumerate(values[line]):
            share = min(max(value, 0.0), 1.0)
            parts.append(
                f'<rect x="{left + side * place}" y="{top + side * line}" width="{side - 1}" height="{side - 1}" '
                f'fill="{_COLOURS[0]}" fill-opacity="{share:.2f}"><title>{value:.2f}</title></rect>'
            )
    return svg(title, left + side * len(columns) + 60, top + side * len(rows) + 8, parts)


STYLE = """
svg { font: 11px system-ui, sans-serif; fill: currentColor; }
svg .grid { stroke: currentColor; stroke-opacity: .12; }
svg .diagonal { stroke: currentColor; stroke-opacity: .5; stroke-dasharray: 4 3; }
svg .interval { stroke: currentColor; stroke-width: 1.5; }
"""


# A file of its own has no page whose colours it could take: it brings paper and ink, by day and by night.
_ALONE = """svg { color: #1b1f24; background: #ffffff; }
@media (prefers-color-scheme: dark) { svg { color: #e3e6ea; background: #16191d; } }
"""


def standalone(drawn: str) -> str:
    """A plot as a file of its own: with the style that a page would give it."""
    return drawn.replace(">", f"><style>{STYLE}{_ALONE}</style>", 1) + "\n"


def svg(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    """The parts as one picture; the title is what is read aloud."""
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">\n{inside}\n</svg>'
    )


def text_at(
    x: float, y: float, text: str, anchor: str, bold: bool = False, colour: str = "", turned: float = 0.0
) -> str:
    """A line of text; `turned` by so many degrees against the clock."""
    extra = ' font-weight="bold"' if bold else ""
    extra += f' fill="{colour}"' if colour else ""
    extra += f' transform="rotate({-turned:g} {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)
