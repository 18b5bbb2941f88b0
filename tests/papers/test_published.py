"""The shipped tables: complete, well-formed, and the numbers those of the sources."""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from wherefrom.config import names
from wherefrom.errors import NotFound
from wherefrom.papers.results import measured
from wherefrom.papers.runner import resolved
from wherefrom.papers.table import Paper, Row, paper, papers, slugs
from wherefrom.systems import table as systems

# Rows of each table, counted by hand in the sources. One line of a source is several rows where it spans several
# datasets or tasks: TREC-QA raw and cleaned, NLG and Q&A, the four columns of Table 5.4 and its shares.
ROWS = {
    "rankqa": {"Various experiments and their results": 5},
    "qasa": {"Table 4.4": 4, "Table 4.5": 6, "Section 4.2": 2, "Section 2.4": 1},
    "cete": {
        "Table 3.2": 2 * 10 + 6 + 9,
        "Table 3.3": 10 + 13,
        "Table 3.4": 10 + 1,
        "Table 3.5": 10,
        "Table 3.6": 10 + 1,
        "Table 3.7": 10 + 1,
        "Table 3.8": 8,
        "Figure 3.4": 3,
    },
    "bertsum": {"Table 4.1": 10, "Table 4.2": 5, "Table 4.3": 6},
    "pqsum": {"Table 4.5": 8, "Table 4.6": 9, "Table 4.7": 9, "Table 4.8": 4},
    "masque": {"Table 2": 22, "Table 3": 6, "Table 4": 5, "Figure 4": 1, "Table 5": 9},
    "preast": {
        "Table 5.4": 4 * 15 + 14,
        "Table 5.5": 3,
        "Table 5.7": 7,
        "Table A.1": 10,
        "Table A.2": 2,
        "Section 5.2.1": 4,
        "Section 5.2.2": 3,
        "Introduction": 3,
        "Section 5.3": 2,
    },
}

# Typed from the sources, apart from the tables. Digits count: 0.950 is not 0.95.
SPOTS = [
    ("rankqa", "drqa", "accuracy", "26.25"),
    ("rankqa", "rankqa", "accuracy", "31.79"),
    ("rankqa", "no-aggregation", "accuracy", "31.46"),
    ("rankqa", "no-tags", "accuracy", "26.26"),
    ("qasa", "t4-4-qasa", "top_1", "32.67"),
    ("qasa", "t4-4-r3", "top_3", "51.30"),
    ("qasa", "t4-4-kickout", "top_5", "53.20"),
    ("qasa", "t4-5-qasa-drqa", "em", "40.50"),
    ("qasa", "t4-5-kickout-drqa", "f1", "43.39"),
    ("qasa", "t4-5-bidaf", "em", "25.90"),
    ("qasa", "s4-2-ceiling", "ceiling", "77.37"),
    ("cete", "t3-2-trec-raw-roberta-large", "map", "0.950"),
    ("cete", "t3-2-trec-clean-garg", "map", "0.943"),
    ("cete", "t3-2-trec-raw-tymoshenko", "mrr", "0.869"),
    ("cete", "t3-2-trec-clean-bert-base", "mrr", "0.953"),
    ("cete", "t3-3-wikiqa-elmo", "map", "0.762"),
    ("cete", "t3-3-wikiqa-zhang", "mrr", "0.780"),
    ("cete", "t3-3-wikiqa-roberta-large", "mrr", "0.915"),
    ("cete", "t3-4-yahoo-tay", "mrr", "0.801"),
    ("cete", "t3-4-yahoo-xlnet-base", "map", "0.939"),
    ("cete", "t3-5-semeval15-glove", "mrr", "0.864"),
    ("cete", "t3-6-semeval16-bert-large-embeddings", "map", "0.765"),
    ("cete", "t3-7-semeval17-xlnet-large", "mrr", "0.962"),
    ("cete", "t3-8-trec-raw-untuned", "map", "0.41"),
    ("cete", "t3-8-semeval16-untuned", "mrr", "0.67"),
    ("cete", "f3-4-bert-base", "map_gain", "25.23"),
    ("cete", "f3-4-elmo", "mrr_gain", "41.32"),
    ("bertsum", "t4-1-vanilla", "rouge_1_p", "35.7"),
    ("bertsum", "t4-1-dda-augmented", "rouge_2_f", "29.4"),
    ("bertsum", "t4-1-rsa", "rouge_1_r", "53.1"),
    ("bertsum", "t4-1-qd", "rouge_l_f", "57.7"),
    ("bertsum", "t4-1-bidirectional", "rouge_1_f", "58.5"),
    ("bertsum", "t4-2-bidirectional", "bleu_1", "80.4"),
    ("bertsum", "t4-3-msmarco-no-query", "rouge_l", "61.50"),
    ("bertsum", "t4-3-debatepedia-qd", "rouge_2_r", "45.21"),
    ("pqsum", "t4-5-dual-ces", "rouge_1_r", "40.82"),
    ("pqsum", "t4-5-rsa", "rouge_su4_r", "15.73"),
    ("pqsum", "t4-6-querysum", "rouge_1_f", "41.6"),
    ("pqsum", "t4-6-weak-bertsum-ext", "rouge_2_f", "10.94"),
    ("pqsum", "t4-7-weak-roberta", "rouge_su4_f", "17.72"),
    ("pqsum", "t4-7-abs", "rouge_2_r", "10.79"),
    ("pqsum", "t4-8-no-distant-supervision", "rouge_1_f", "41.88"),
    ("masque", "t2-nlg-masque-nlg", "bleu_1", "49.63"),
    ("masque", "t2-qa-masque-qa-ensemble", "rouge_l", "52.20"),
    ("masque", "t2-nlg-human", "rouge_l", "63.21"),
    ("masque", "t3-masque", "rouge_l", "69.77"),
    ("masque", "t3-gold-ranker", "bleu_1", "78.14"),
    ("masque", "t4-no-decoder", "mrr", "67.49"),
    ("masque", "f4-masque", "threshold", "0.4411"),
    ("masque", "t5-masque-nqa", "meteor", "26.13"),
    ("masque", "t5-single-style", "bleu_4", "20.98"),
    ("preast", "t5-5-preast", "answerable_f1", "79.81"),
    ("preast", "t5-5-masque", "rouge_l", "67.60"),
    ("preast", "t5-7-pair-lin", "map", "67.23"),
    ("preast", "t5-7-pair-max-no-p2p", "mrr", "66.63"),
    ("preast", "ta-1-preast", "qa_bleu_1", "43.49"),
    ("preast", "ta-1-masque-selective-lr3e4", "qa_rouge_l", "50.8"),
    ("preast", "ta-1-masque-bs88", "threshold", "0.4522"),
    ("preast", "ta-2-tied", "bleu_1", "63.66"),
    ("preast", "t5-4-aug-keyword-definition", "rouge_l", "62.28"),
    ("preast", "t5-4-selective-type-person", "rouge_l", "73.76"),
    ("preast", "t5-4-style-keyword-where", "rouge_l", "91.59"),
    ("preast", "t5-4-all-keyword-why", "rouge_l", "47.89"),
    ("preast", "t5-4-share-type-description", "group_share", "55"),
    ("preast", "s5-2-1-style-transfer", "bleu_1", "87.09"),
    ("preast", "s5-2-2-zero-overlap-preast", "zero_overlap", "4.6"),
]

WAITING: set[str] = set()  # built, and their rows cannot run yet


@pytest.fixture(scope="module")
def shelf() -> dict[str, Paper]:
    return {paper.slug: paper for paper in papers()}


@pytest.fixture(scope="module")
def rows(shelf: dict[str, Paper]) -> list[Row]:
    return [row for paper in shelf.values() for row in paper.rows]


def test_every_folder_is_a_paper(shelf: dict[str, Paper]) -> None:
    assert sorted(shelf) == slugs() == sorted(ROWS)


@pytest.mark.parametrize("slug", ROWS)
def test_every_row_of_every_table_is_there(shelf: dict[str, Paper], slug: str) -> None:
    assert Counter(row.table for row in shelf[slug].rows) == ROWS[slug]


@pytest.mark.parametrize(("slug", "row_id", "measure", "printed"), SPOTS)
def test_numbers_are_as_printed(shelf: dict[str, Paper], slug: str, row_id: str, measure: str, printed: str) -> None:
    assert str(shelf[slug].row(row_id).reported[measure]) == printed


def test_ids_are_unique_in_a_paper(shelf: dict[str, Paper]) -> None:
    for found in shelf.values():
        assert len({row.id for row in found.rows}) == len(found.rows)


def test_no_result_is_entered_twice(rows: list[Row]) -> None:
    """A line copied and not changed: the same table, model, data and group."""
    places = Counter((row.paper, row.table, row.model, row.dataset, row.split, row.group) for row in rows)
    assert [place for place, times in places.items() if times > 1] == []


def test_every_settings_file_is_used_and_every_used_one_exists(shelf: dict[str, Paper]) -> None:
    for slug, found in shelf.items():
        folder = files("wherefrom.papers") / slug / "settings"
        there = {file.name: tomllib.loads(file.read_text(encoding="utf-8")) for file in folder.iterdir()}
        used = {row.recipe.file for row in found.rows if row.recipe}
        used |= {values["base"] for values in there.values() if "base" in values}
        used |= {other for recipe in found.recipes.values() for other in recipe.uses.values()}
        ours = {"masque-pair-lin.toml", "masque-point-max.toml"} if slug == "preast" else set()  # no row has them
        assert set(there) == used | ours, slug


def test_every_settings_file_is_one_of_its_system(shelf: dict[str, Paper]) -> None:
    pytest.importorskip("torch", reason="loads every system: pip install 'wherefrom[train]'")
    for found in shelf.values():
        for recipe in found.recipes.values():
            if recipe.system:
                resolved(found, recipe.file)  # or a slip in it is told
            for other in recipe.uses.values():
                resolved(found, other)


def test_the_results_kept_in_the_repository_are_of_these_rows(shelf: dict[str, Paper]) -> None:
    runs = Path(__file__).parents[2] / "runs"
    if not runs.exists():
        pytest.skip("runs/ lies in the repository alone")
    kept = measured(runs, shelf.values())  # each is checked against its row
    assert {result.row_id for result in kept if result.paper == "rankqa"} == {row.id for row in shelf["rankqa"].rows}
    for result in kept:
        recipe = shelf[result.paper].row(result.row_id).recipe
        assert recipe is not None
        assert result.run.settings_file == recipe.file
        assert result.run.system == recipe.system
        assert result.run.commit
        assert not result.run.changed


def test_rows_of_ours_say_how_they_run_and_prior_work_does_not(rows: list[Row]) -> None:
    for row in rows:
        assert row.ours == (row.recipe is not None), row.id
        assert row.ours or not row.stands_in, row.id


def test_planned_settings_do_not_exist_yet(rows: list[Row]) -> None:
    """When one comes to exist, its settings files must begin to use it; those of WAITING have been built since."""
    planned = {name for row in rows if row.recipe for name in row.recipe.planned}
    assert not planned & set(names())
    assert {name.partition(".")[0] for name in planned} & set(systems.SYSTEMS) == WAITING


def test_same_settings_give_the_same_numbers_where_a_table_repeats_another(shelf: dict[str, Paper]) -> None:
    preast = shelf["preast"]
    repeats = {
        "t5-5-preast": "ta-1-preast",
        "t5-5-masque": "ta-1-masque-bs88",
        "t5-7-masque-pair-max": "ta-1-masque-pair-max",
    }
    for repeated, original in repeats.items():
        assert preast.row(repeated).recipe == preast.row(original).recipe
    for repeated, original in {**repeats, "ta-2-preast": "ta-1-preast"}.items():
        for name, value in preast.row(repeated).reported.items():
            assert value == preast.row(original).reported[name]


def test_rows_that_are_compared_differ_in_their_settings(shelf: dict[str, Paper]) -> None:
    tied, untied = (shelf["preast"].row(f"ta-2-{name}").recipe for name in ("tied", "preast"))
    assert tied is not None
    assert untied is not None
    assert tied.settings != untied.settings


def test_the_mean_of_the_yearly_tables_is_the_ablation_table(shelf: dict[str, Paper]) -> None:
    pqsum = shelf["pqsum"]
    for name, mean in pqsum.row("t4-8-full").reported.items():
        yearly = [float(pqsum.row(f"t4-{table}-weak-roberta").reported[name]) for table in (5, 6, 7)]
        assert sum(yearly) / 3 == pytest.approx(float(mean), abs=0.005)


def test_rounded_tables_agree_with_the_full_ones(shelf: dict[str, Paper]) -> None:
    cete = shelf["cete"]
    for name, table in [("trec-raw", "3-2"), ("wikiqa", "3-3"), ("yahoo", "3-4"), ("semeval16", "3-6")]:
        for measure, rounded in cete.row(f"t3-8-{name}-tuned").reported.items():
            full = cete.row(f"t{table}-{name}-bert-large").reported[measure]
            assert abs(full - rounded) <= type(full)("0.005")


def test_the_contradiction_in_table_5_4_is_told(shelf: dict[str, Paper]) -> None:
    assert "65.28" in shelf["preast"].row("t5-4-aug-keyword-definition").note


def test_tolerances_are_in_the_units_that_are_printed(shelf: dict[str, Paper]) -> None:
    assert shelf["cete"].row("t3-3-wikiqa-elmo").tolerance["map"] == pytest.approx(0.01)  # one point
    assert shelf["masque"].row("t4-masque").tolerance["map"] == pytest.approx(0.3)  # the file's own
    assert shelf["masque"].row("f4-masque").tolerance["threshold"] == pytest.approx(0.05)  # never in percent


def test_an_unknown_paper_or_row_suggests_the_nearest() -> None:
    with pytest.raises(NotFound, match=r"there is no paper 'masqe'; did you mean masque\?"):
        paper("masqe")
    with pytest.raises(NotFound, match="there are bertsum, cete"):
        paper("xyz")
    with pytest.raises(NotFound, match=r"masque has no row 't3-masqe'; did you mean t3-masque\?"):
        paper("masque").row("t3-masqe")
