"""Reports: tables in Markdown, tables and plots in one HTML file without outside parts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import msgspec
import pytest

from wherefrom.data import catalog
from wherefrom.data.examples import Example, whole
from wherefrom.evaluate.consistency import consistency
from wherefrom.evaluate.predictions import Prediction
from wherefrom.evaluate.report import ReportError, plots, write_report
from wherefrom.evaluate.score import score
from wherefrom.plots import Bar, BarPair, Curve, bar_plot, line_plot, pair_plot
from wherefrom.types import Question


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    passage = whole("p", "It opened in 1908.")
    examples = [
        Example(
            Question(str(n), f"{'When' if n % 2 else 'Who'} <b>?"),
            (passage,),
            answers=("1908",) if n % 3 else (),
            answerable=bool(n % 3),
        )
        for n in range(12)
    ]
    predictions = {str(n): Prediction(str(n), "1908" if n % 4 else "", "1908", n / 12) for n in range(12)}
    path = tmp_path / "a-run.json"
    path.write_bytes(msgspec.json.encode(score(catalog.dataset("squad2"), examples, predictions).flat()))
    return path


def test_markdown_has_the_metrics_and_their_intervals(scores: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.md"
    write_report([scores], out, "Our results")
    text = out.read_text()
    assert text.startswith("# Our results\n")
    assert re.search(r"^\| em \| [\d.]+ \| [\d.]+ to [\d.]+ \|$", text, re.MULTILINE)
    assert "### By question type" in text


def test_the_curve_of_answerability_goes_through_its_points(scores: Path) -> None:
    """Eight of twelve are answerable: saying yes to all has recall 1 and precision 8/12."""
    flat = msgspec.json.decode(scores.read_bytes())
    last = flat["curves"]["precision_recall"][-1]
    assert (last["recall"], last["precision"]) == (1.0, pytest.approx(8 / 12))
    drawn = next(plot for plot in plots(flat) if "precision and recall" in plot)
    assert drawn.count("<circle") == len(flat["curves"]["precision_recall"])


def test_written_answers_have_rouge_and_lengths_by_group(tmp_path: Path) -> None:
    passage = whole("p", "The mill was built in 1908 by Ines Rey.")
    examples = [
        Example(Question(id, question), (passage,), answers=(short,), sentences=(sentence,))
        for id, question, short, sentence in (
            ("1", "When was the mill built?", "1908", "The mill was built in 1908."),
            ("2", "Who built the mill?", "Ines Rey", "Ines Rey built the mill."),
        )
    ]
    texts = {"1": "The mill was built in 1908.", "2": "Ines Rey built it."}
    predictions = {id: Prediction(id, text, style="sentence") for id, text in texts.items()}
    short = {"1": Prediction("1", "1908", style="short"), "2": Prediction("2", "Ines Rey", style="short")}
    flat = score(catalog.dataset("qa2d"), examples, predictions).flat() | {
        "styles": consistency(predictions, short, ["1", "2"])
    }
    path = tmp_path / "written.json"
    path.write_bytes(msgspec.json.encode(flat))
    write_report([path], tmp_path / "report.md", "x")
    text = (tmp_path / "report.md").read_text()
    assert "An answer has 5.0 words." in text
    assert re.search(r"^\| group \| examples \| em \| f1 \| rouge_l \| bleu_1 \| words \|$", text, re.MULTILINE)
    assert re.search(r"^\| when \| 1 \|.* 100.00 \|.* 6.00 \|$", text, re.MULTILINE)
    assert "### Two styles" in text
    assert "| agrees | 100.00 |" in text
    names = [re.findall('aria-label="([^"]*)"', plot)[0] for plot in plots(flat)]
    assert "rouge_l by question type" in names
    assert "rouge_l by keyword" in names


def test_html_is_one_file_with_every_plot(scores: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    write_report([scores, scores], out, "Our <results>")
    text = out.read_text()
    for plot in (
        "precision and recall",
        "Calibration",
        "Risk and coverage",
        "by question type",
        "by keyword",
        "Words of an answer",
    ):
        assert re.search(f'aria-label="[^"]*{plot}', text), plot
    assert "Our &lt;results&gt;" in text
    assert not re.search(r"<script|<link|src=|url\(|@import", text), "the page must need nothing else"


@pytest.mark.parametrize(
    ("content", "message"), [("{}", "has no dataset"), ("nope", "is not a file of scores"), (None, "cannot be read")]
)
def test_what_is_no_file_of_scores_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "scores.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ReportError, match=message):
        write_report([path], tmp_path / "report.md", "x")
    assert not (tmp_path / "report.md").exists()


def test_an_unknown_kind_of_report_is_refused(scores: Path, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"\.html or \.md"):
        write_report([scores], tmp_path / "report.pdf", "x")


def test_plots_are_well_formed_pictures() -> None:
    line = line_plot(
        "a <b>", "x & y", "y", [Curve("one", [(0, 0), (1, 1)]), Curve("two", [(0, 1), (1, 0)])], diagonal=True
    )
    bars = bar_plot("bars", [Bar("first", 10.0, 8.0, 12.0), Bar("empty", 0.0)], "%")
    for picture in (line, bars):
        ElementTree.fromstring(picture)
    assert line.count("<polyline") == 2
    assert bars.count("<rect") == 2
    ElementTree.fromstring(bar_plot("none", []))


def test_reported_is_an_outline_and_measured_is_filled() -> None:
    pairs = [BarPair("both", 40.0, 20.0), BarPair("not run", 30.0), BarPair("never printed", None, 10.0)]
    picture = pair_plot("a & b", pairs, digits=1, line=Bar("the least", 5.0))
    squares = [each.attrib for each in ElementTree.fromstring(picture) if each.tag.endswith("rect")][2:]  # the key
    outlined = [float(each["width"]) for each in squares if each["fill"] == "none"]
    filled = [float(each["width"]) for each in squares if each["fill"] != "none"]
    assert outlined == [outlined[0], outlined[0] * 0.75]
    assert filled == [outlined[0] / 2, outlined[0] / 4]
    assert ">not measured<" in picture
    assert ">not reported<" in picture
    assert ">the least 5.0<" in picture
    ElementTree.fromstring(pair_plot("none", []))
