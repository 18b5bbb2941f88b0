"""Reported and measured side by side: states, differences, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from paper_files import result, sample

from wherefrom.papers.compare import compare, listing
from wherefrom.papers.render import HEADINGS, as_markdown, as_objects, as_text, lines
from wherefrom.papers.table import Paper


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    return sample(tmp_path)


def test_within_tolerance_is_reproduced(paper: Paper) -> None:
    found = compare(paper.row("first"), result(paper.row("first"), em=0.509, f1=0.5925))
    assert found.state == "reproduced"
    assert [cell.difference for cell in found.cells] == [pytest.approx(0.9), pytest.approx(-1.0)]


def test_lower_is_different_and_says_by_how_much(paper: Paper) -> None:
    found = compare(paper.row("first"), result(paper.row("first"), em=0.47, f1=0.6025))
    assert found.state == "different"
    assert found.cells[0].difference == pytest.approx(-3.0)
    assert [cell.within for cell in found.cells] == [False, True]


def test_higher_than_reported_is_also_a_difference(paper: Paper) -> None:
    found = compare(paper.row("first"), result(paper.row("first"), em=0.55, f1=0.6025))
    assert found.state == "different"
    assert found.cells[0].difference == pytest.approx(5.0)


def test_fractions_are_compared_as_fractions(paper: Paper) -> None:
    row = paper.row("second")
    assert compare(row, result(row, map=0.709)).state == "reproduced"
    assert compare(row, result(row, map=0.711)).state == "different"
    assert compare(row, result(row, map=0.709)).cells[0].measured == 0.709


def test_other_data_is_never_a_reproduction(paper: Paper) -> None:
    row = paper.row("second")
    assert compare(row, result(row, as_printed=False, map=0.7)).state == "stand-in"
    assert compare(row, result(row, as_printed=False, map=0.2)).state == "stand-in"


def test_without_a_result_a_row_is_not_run_and_shows_no_number_of_ours(paper: Paper) -> None:
    found = listing([paper])
    assert [comparison.state for comparison in found] == ["not run"] * 4
    assert all(cell.measured is None and cell.difference is None for comparison in found for cell in comparison.cells)
    assert all(shown["measured"] == {} and shown["run"] is None for shown in as_objects(found))


def test_results_find_their_rows(paper: Paper) -> None:
    found = listing([paper], [result(paper.row("second"), map=0.7)])
    assert [comparison.state for comparison in found] == ["not run", "not run", "reproduced", "not run"]


def test_text_is_aligned_a_column_a_measure(paper: Paper) -> None:
    measured = [result(paper.row("first"), em=0.471, f1=0.60254), result(paper.row("second"), False, map=0.65)]
    assert (
        as_text(listing([paper], measured))
        == """\
sample, Table 1

row    model   on                     EM     F1     state
-----  ------  ---------  ----------  -----  -----  ---------
prior  Others  Set, test  reported    40.0   -      not run
first  System  Set, test  reported    50.0   60.25  different
                          measured    47.1   60.25
                          difference  -2.9!  +0.00

sample, Table 2

row     model              on                     MAP      EM  state
------  -----------------  ---------  ----------  -------  --  --------
second  System, less data  Set, test  reported    0.700    -   stand-in
                                      measured    0.650    -
                                      difference  -0.050!  -
later   System, to come    Set, test  reported    -        70  not run

4 rows: 1 different, 1 stand-in, 2 not run
"""
    )


def test_markdown_holds_the_tables_and_tells_the_stand_ins(paper: Paper) -> None:
    text = as_markdown(listing([paper], [result(paper.row("first"), em=0.5, f1=0.6)]))
    assert "### sample, Table 1\n\n| row | model | on |  | EM | F1 | state |\n| --- |" in text
    assert "| first | System | Set, test | reported | 50.0 | 60.25 | reproduced |" in text
    assert "|  |  |  | measured | 50.0 | 60.00 |  |" in text
    assert "- Half of the data. (sample/second)" in text


def test_lines_for_pipes_stand_alone(paper: Paper) -> None:
    line = lines(listing([paper], [result(paper.row("first"), em=0.51, f1=0.6)]))[1]
    assert dict(zip(HEADINGS, line, strict=True)) == {
        "paper": "sample",
        "row": "first",
        "table": "Table 1",
        "model": "System",
        "on": "Set, test",
        "reported": "EM 50.0, F1 60.25",
        "measured": "EM 51.0 (+1.0), F1 60.00 (-0.25)",
        "state": "reproduced",
    }


def test_objects_are_json_and_keep_reported_and_measured_apart(paper: Paper) -> None:
    shown = json.loads(json.dumps(as_objects(listing([paper], [result(paper.row("first"), em=0.25, f1=0.5)]))))
    assert shown[1]["reported"] == {"em": 50.0, "f1": 60.25}
    assert shown[1]["measured"] == {"em": 25.0, "f1": 50.0}
    assert shown[1]["difference"] == {"em": -25.0, "f1": -10.25}
    assert shown[1]["run"]["seed"] == 1
    assert shown[3]["planned"] == ["masque.ranker", "masque.p2p"]


def test_nothing_to_show_is_said() -> None:
    assert as_text([]) == "no rows\n"
