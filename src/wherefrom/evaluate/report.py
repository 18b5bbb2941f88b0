"""Scores as a page: Markdown with tables, or one self-contained HTML file with tables and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from wherefrom.errors import WherefromError
from wherefrom.evaluate.score import FRACTIONS
from wherefrom.plots import STYLE, Bar, Curve, bar_plot, line_plot

_NOT_METRICS = (
    "dataset",
    "examples",
    "missing",
    "unknown",
    "intervals",
    "by_type",
    "by_keyword",
    "lengths",
    "curves",
    "run",
    "against",
    "styles",
)
_HEADLINE = ("em", "f1", "rouge_l", "bleu_1", "accuracy", "map", "mrr", "rouge_1_f", "rouge_2_f")


class ReportError(WherefromError):
    """A file of scores cannot be rendered; the message says why."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under headings; the first column names, the others count."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def write_report(files: Sequence[Path], out: Path, title: str) -> None:
    """Render files that `wherefrom score --out` wrote; the suffix of `out` decides how."""
    read = [(file.stem, _read(file)) for file in files]
    if out.suffix == ".html":
        text = html_page(title, read)
    elif out.suffix == ".md":
        text = markdown_page(title, read)
    else:
        raise ReportError(f"{out} must end in .html or .md")
    fresh = out.with_name(out.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(out)


def markdown_page(title: str, runs: Sequence[tuple[str, dict[str, Any]]]) -> str:
    parts = [f"# {title}\n"]
    for name, scores in runs:
        parts.append(f"## {name}\n\n{_summary(scores)}\n")
        for heading, table in _tables(scores):
            parts.append(f"### {heading}\n\n{_markdown(table)}\n")
    return "\n".join(parts)


def html_page(title: str, runs: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """One file that needs no other: styles and plots are inside, scripts there are none."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for name, scores in runs:
        parts.append(f"<section><h2>{escape(name)}</h2><p>{escape(_summary(scores))}</p>")
        parts += [f"<figure>{plot}</figure>" for plot in plots(scores)]
        parts += [f"<h3>{escape(heading)}</h3>{_html(table)}" for heading, table in _tables(scores)]
        parts.append("</section>")
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>'
        f"<style>{_PAGE_STYLE}{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def plots(scores: dict[str, Any]) -> Iterator[str]:
    """The plots that these scores have numbers for."""
    curves: dict[str, list[dict[str, float]]] = scores.get("curves", {})
    if points := curves.get("precision_recall"):
        line = Curve("answerable", [(point["recall"], point["precision"]) for point in points])
        yield line_plot("Answerability: precision and recall", "recall", "precision", [line])
    if points := curves.get("calibration"):
        line = Curve("chance", [(point["chance"], point["truth"]) for point in points])
        yield line_plot("Calibration of the chance", "chance said", "share answerable", [line], diagonal=True)
    if points := curves.get("risk_coverage"):
        line = Curve("risk", [(point["coverage"], point["risk"]) for point in points])
        yield line_plot("Risk and coverage", "share of questions answered", "share of those wrong", [line])
    for metric in _drawn(scores):
        for key, group_name in (("by_type", "question type"), ("by_keyword", "keyword")):
            groups = [(name, values) for name, values in scores.get(key, {}).items() if metric in values]
            scale = 100.0 if metric in FRACTIONS else 1.0
            bars = [Bar(f"{name} ({values['examples']:.0f})", values[metric] * scale) for name, values in groups]
            if len(bars) > 1:
                yield bar_plot(f"{metric} by {group_name}", bars)
    if len(scores["lengths"]) > 1:
        bars = [Bar(name, value) for name, value in scores["lengths"].items()]
        yield bar_plot("Words of an answer by question type", bars)


def _drawn(scores: dict[str, Any]) -> list[str]:
    """The metrics that are drawn by group: the first there is, and of written answers ROUGE-L in any case."""
    headline = [name for name in _HEADLINE if name in scores]
    return list(dict.fromkeys([*headline[:1], *(name for name in headline if name == "rouge_l")]))


def _read(file: Path) -> dict[str, Any]:
    try:
        scores = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise ReportError(f"{file} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ReportError(f"{file} is not a file of scores ({error}); make one with `wherefrom score --out`") from error
    missing = [name for name in ("dataset", "examples", "by_type", "lengths") if name not in scores]
    if missing:
        raise ReportError(f"{file} has no {', '.join(missing)}; make it with `wherefrom score --out`")
    return scores


def _summary(scores: dict[str, Any]) -> str:
    text = f"{scores['dataset']}, {scores['examples']:,} examples, {scores.get('missing', 0):,} without a prediction."
    if "all" in scores["lengths"]:
        text += f" An answer has {scores['lengths']['all']:.1f} words."
    run = scores.get("run") or {}
    facts = [
        f"{label} {run[name]}"
        for name, label in (
            ("passages_from", "passages from"),
            ("style", "style"),
            ("file", "file"),
            ("commit", "commit"),
        )
        if run.get(name)
    ]
    return text + (f" {'; '.join(facts).capitalize()}." if facts else "")


def _tables(scores: dict[str, Any]) -> Iterator[tuple[str, Table]]:
    metrics = {name: value for name, value in scores.items() if name not in _NOT_METRICS}
    intervals: dict[str, list[float]] = scores.get("intervals", {})
    rows: list[tuple[str, ...]] = []
    for name, value in metrics.items():
        low, high = intervals.get(name, (None, None))
        interval = f"{_number(low)} to {_number(high)}" if low is not None and high is not None else ""
        rows.append((name, _number(value), interval))
    yield "Metrics", Table(("metric", "value", "95 %"), tuple(rows))
    names = [name for name in _HEADLINE if name in metrics]
    for heading, key in (("By question type", "by_type"), ("By keyword", "by_keyword")):
        groups: dict[str, dict[str, float]] = scores.get(key, {})
        if names and len(groups) > 1:
            columns = [*names, *(["words"] if any("words" in values for values in groups.values()) else [])]
            rows = [
                (group, f"{values['examples']:,.0f}", *(_number(values.get(name)) for name in columns))
                for group, values in groups.items()
            ]
            yield heading, Table(("group", "examples", *columns), tuple(rows))
    against: dict[str, dict[str, float]] = scores.get("against", {})
    if against:
        compared = ("one", "other", "difference", "t_test_p", "bootstrap_p")
        rows = [(name, *(_number(values[column]) for column in compared)) for name, values in against.items()]
        yield "Against another system", Table(("metric", *compared), tuple(rows))
    styles: dict[str, Any] = scores.get("styles") or {}
    if styles:
        rows = [
            (name, value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.2f}")
            for name, value in styles.items()
        ]
        yield "Two styles", Table(("", "value"), tuple(rows))


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if abs(value) <= 1.0 else f"{value:.2f}"


def _markdown(table: Table) -> str:
    lines = ["| " + " | ".join(table.headings) + " |", "|---" + "|--:" * (len(table.headings) - 1) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table.rows]
    return "\n".join(lines)


def _html(table: Table) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in table.headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
figure { display: inline-block; margin: .5rem 1rem .5rem 0; max-width: 100%; }
figure svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin-bottom: 1rem; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #8884; text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
"""
