"""Loss and metric curves as one SVG that needs nothing beside itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

Point = tuple[float, float]

_WIDTH, _HEIGHT = 460, 260  # of one panel
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 18, 34, 34  # its margins
_MOST_POINTS = 400  # a curve; longer ones are averaged in bins
_STYLE = """
svg { background: #ffffff; font: 12px system-ui, sans-serif; }
text { fill: #333333; } .title { font-weight: 600; font-size: 13px; } .tick { fill: #777777; font-size: 11px; }
.grid { stroke: #e4e4e4; } .curve { stroke: #2463a8; stroke-width: 1.8; fill: none; stroke-linejoin: round; }
.metric .curve { stroke: #b3541e; } .dot { fill: #2463a8; } .metric .dot { fill: #b3541e; }
@media (prefers-color-scheme: dark) {
  svg { background: #16181c; } text { fill: #dddddd; } .tick { fill: #9a9a9a; } .grid { stroke: #33363c; }
  .curve { stroke: #6aa9ef; } .dot { fill: #6aa9ef; }
  .metric .curve { stroke: #f0975a; } .metric .dot { fill: #f0975a; }
}
"""


def curves(rows: Sequence[Mapping[str, Any]], title: str, kept_step: int | None = None) -> str:
    """The log's rows as an SVG: a panel for each loss, then for each metric; a ring marks the kept step."""
    panels = [
        _panel(name, points, kind, kept_step if kind == "metric" else None)
        for kind, column in (("loss", "losses"), ("metric", "metrics"))
        for name, points in _series(rows, column).items()
    ]
    columns = min(2, max(1, len(panels)))
    width, height = columns * _WIDTH, 40 + math.ceil(len(panels) / columns) * _HEIGHT
    placed = [
        f'<g transform="translate({index % columns * _WIDTH},{40 + index // columns * _HEIGHT})">{panel}</g>'
        for index, panel in enumerate(panels)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style>",
            f'<text class="title" x="16" y="26">{escape(title)}</text>',
            *placed,
            "</svg>\n",
        ]
    )


def _series(rows: Sequence[Mapping[str, Any]], column: str) -> dict[str, list[Point]]:
    """Each named number of a column over the steps."""
    series: dict[str, list[Point]] = {}
    for row in rows:
        for name, value in row[column].items():
            series.setdefault(name, []).append((float(row["step"]), float(value)))
    return series


def _panel(name: str, points: Sequence[Point], kind: str, kept_step: int | None) -> str:
    """One curve with its axes and its last value."""
    kept = [point for point in points if point[0] == kept_step]
    last = points[-1][1]
    points = _thinned(points)
    across, up = _ticks([x for x, _ in points]), _ticks([y for _, y in points])
    parts = [f'<text class="title" x="{_LEFT}" y="20">{escape(name)}</text>']
    numbers = " · ".join([*(f"kept {value:.4g}" for _, value in kept), f"last {last:.4g}"])
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="20" text-anchor="end">{numbers}</text>')
    for value in up:
        y = _place(value, up, _HEIGHT - _BOTTOM, _TOP)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in across:
        x = _place(value, across, _LEFT, _WIDTH - _RIGHT)
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{value:g}</text>'
        )

    def at(point: Point) -> tuple[float, float]:
        return _place(point[0], across, _LEFT, _WIDTH - _RIGHT), _place(point[1], up, _HEIGHT - _BOTTOM, _TOP)

    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, points))
    parts.append(f'<polyline class="curve" points="{path}"/>')
    if len(points) <= 40:
        parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in map(at, points)]
    for point in kept:
        x, y = at(point)
        parts.append(f'<circle class="curve" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
    return f'<g class="{kind}">{"".join(parts)}</g>'


def _thinned(points: Sequence[Point]) -> list[Point]:
    """At most about 400 points: neighbours are averaged."""
    size = math.ceil(len(points) / _MOST_POINTS)
    bins = [points[start : start + size] for start in range(0, len(points), size)]
    return [(sum(x for x, _ in members) / len(members), sum(y for _, y in members) / len(members)) for members in bins]


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers that enclose the values, about five of them."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - (abs(low) or 1.0) * 0.5, high + (abs(high) or 1.0) * 0.5
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(multiple * power for multiple in (1, 2, 2.5, 5, 10) if multiple * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]


def _place(value: float, ticks: Sequence[float], start: float, end: float) -> float:
    """Where a value lies between the first tick (at `start`) and the last (at `end`)."""
    return start + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (end - start)
