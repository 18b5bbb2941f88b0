"""Pages of papers: figures are those of the rows, verdicts were written for them, reported and measured stay apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from bench.runs import RUNS, RunFault

from bench import claims
from wherefrom.papers import results, table

CLAIM = claims.Claim(
    says="re-ranking helps",
    verdict="seen",
    because="it does",
    written_for="Acc +2.00 (38.00 to 40.00)",
    rows=["rankqa:accuracy - drqa:accuracy"],
)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder of runs with two rows of RankQA: 38 and 40 of a hundred."""
    paper = table.paper("rankqa")
    some = next(iter(results.read(RUNS, paper).values()))
    for row, share in (("drqa", 0.38), ("rankqa", 0.40)):
        figures = {"accuracy": share}
        results.save(tmp_path, paper, results.Measured("rankqa", row, figures, some.run))
    return tmp_path


def changed(**values: object) -> claims.Claim:
    return msgspec.structs.replace(CLAIM, **values)


@pytest.mark.parametrize("name", claims.names())
def test_every_verdict_was_written_for_the_figures_of_today(name: str) -> None:
    for claim in claims.given(name).claim:
        assert not claims.faults(name, claim), f"{claim.says}: read it again; now it is {claims.measured(name, claim)}"
        assert claim.because.strip(), claim.says
    assert not [each for each in claims.stale() if each.startswith(f"{name}:")]


@pytest.mark.parametrize("name", claims.names())
def test_a_page_says_first_of_all_what_it_cannot_say(name: str) -> None:
    """Where nothing was seen, in bold before the first heading."""
    page = claims.given(name)
    text = (claims.DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8")
    before = text.partition("\n## ")[0]
    silent = not any(claim.verdict == "seen" for claim in page.claim)
    assert ("**" in before) is silent
    assert "to be read again" not in text


@pytest.mark.parametrize("name", claims.names())
def test_every_plot_is_shown_on_its_page(name: str) -> None:
    text = (claims.DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8")
    assert claims.given(name).plot
    for plot in claims.given(name).plot:
        assert f"../images/papers/{name}-{plot.name}.svg" in text
        ElementTree.fromstring(claims.picture(name, plot))


def test_reported_and_measured_are_of_the_same_rows(runs: Path) -> None:
    assert claims.reported("rankqa", CLAIM, runs) == "Acc +5.54 (26.25 to 31.79)"
    assert claims.measured("rankqa", CLAIM, runs) == "Acc +2.00 (38.00 to 40.00)"
    assert claims.state("rankqa", CLAIM, runs) == "stand-in"
    assert not claims.faults("rankqa", CLAIM, runs)


def test_a_row_that_was_not_run_is_called_so_and_takes_no_reported_figure(runs: Path) -> None:
    claim = changed(rows=["no-tags:accuracy - rankqa:accuracy"], verdict="cannot say yet", written_for="not run")
    assert claims.measured("rankqa", claim, runs) == "not run"
    assert "not run" in claims.state("rankqa", claim, runs)
    assert not claims.faults("rankqa", claim, runs)


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        (changed(written_for="Acc +3.00 (38.00 to 41.00)"), "the words were written for Acc +3.00"),
        (changed(rows=["drqa:accuracy - rankqa:accuracy", "drqa:accuracy"]), "written for"),
        (changed(rows=["no-tags:accuracy"], verdict="not seen", written_for="not run"), "nothing was measured"),
        (changed(rows=["no-tags:accuracy"], written_for="not run"), "no measured figure has the sign"),
        (changed(rows=[], verdict="not seen", written_for="nothing"), "nothing was measured"),
    ],
)
def test_words_that_no_longer_go_with_their_figures(runs: Path, claim: claims.Claim, fault: str) -> None:
    assert any(fault in each for each in claims.faults("rankqa", claim, runs))
    page = claims.PaperPage(1, "RankQA", "an idea", [claim])
    shown = claims.claims_table("rankqa", page, runs)
    assert "**to be read again**" in shown
    assert claim.because not in shown


def test_a_row_run_again_changes_plots_and_makes_verdicts_stale(runs: Path, tmp_path: Path) -> None:
    plot = claims.Plot("table", "accuracy", pairs={"RankQA": "rankqa:accuracy"})
    paper, later = table.paper("rankqa"), tmp_path / "later"
    for row, result in results.read(runs, paper).items():
        results.save(later, paper, replace(result, metrics={"accuracy": 0.3}) if row == "rankqa" else result)
    before, after = (claims.picture("rankqa", plot, folder) for folder in (runs, later))
    assert ">31.79<" in before
    assert ">31.79<" in after  # what is reported stays
    assert ">40.00<" in before
    assert ">40.00<" not in after
    assert ">30.00<" in after
    written, sign = claims.faults("rankqa", CLAIM, later)
    assert "Acc +2.00" in written
    assert "sign" in sign


@pytest.mark.parametrize(
    ("rows", "message"), [(["nothing:accuracy"], "no row and measure 'nothing:accuracy'"), (["drqa:map"], "drqa:map")]
)
def test_a_slip_in_a_row_is_named(runs: Path, rows: list[str], message: str) -> None:
    with pytest.raises(RunFault, match=message):
        claims.measured("rankqa", changed(rows=rows), runs)


def test_a_line_that_is_not_there_is_named() -> None:
    line = claims.Line("reranking", "no library", "RankQA", "em")
    with pytest.raises(RunFault, match="reranking: 0 lines of 'RankQA' over 'no library' with em"):
        claims.measured("rankqa", changed(rows=[], lines=[line]))


def test_settings_are_those_that_are_trained_with() -> None:
    page = claims.PaperPage(
        1,
        "Masque",
        "an idea",
        [],
        columns={"all": {"nlg.toml": "masque/nlg.toml", "gold": "masque/gold-ranker.toml"}},
        setting=[
            claims.Setting("steps", "80,000", "time", path="loop.steps"),
            claims.Setting("ranker", "point", "said to be", path="network.ranker"),
            claims.Setting("quota", "none", "the other's", path="task.batch.quota"),
            claims.Setting("titles", "none", "ours have some", ours="shown"),
            claims.Setting("elsewhere", "1", "no", path="loop.seed", group="other"),
        ],
    )
    assert claims.settings_table(page).splitlines()[2:] == [
        "| steps | 80,000 | 700 | 700 | time |",
        "| ranker | point | point | gold | said to be |",
        "| quota | none | 27 of 44 | 27 of 44 | the other's |",
        "| titles | none | shown | shown | ours have some |",
    ]
