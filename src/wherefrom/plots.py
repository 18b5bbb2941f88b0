"""Plots as plain SVG text: lines, horizontal bars with their intervals, and fields by how full they are."""

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


def bar_plot(title: str, bars: Sequence[Bar], unit: str = "") -> str:
    """Horizontal bars from 0, in the given order, with the value at the end."""
    row, left, wide = 20, 130, 400
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
