"""Reading a table: what is kept, and mistakes named by file, row and field."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from paper_files import FIRST, HEAD, PLANNED, PRIOR, STAND_INS, WHOLE, sample, write

from wherefrom.papers.faults import TableFault
from wherefrom.papers.table import load


def test_reads_what_is_printed(tmp_path: Path) -> None:
    paper = sample(tmp_path)
    assert (paper.slug, paper.title, paper.source) == ("sample", "A Paper", "paper.txt")
    assert [row.id for row in paper.rows] == ["prior", "first", "second", "later"]
    assert str(paper.row("second").reported["map"]) == "0.700"
    assert paper.row("later").reported == {"em": Decimal(70)}
    assert paper.row("second").data == "Half of the data."


def test_settings_are_resolved_and_planned_ones_kept_apart(tmp_path: Path) -> None:
    paper = sample(tmp_path)
    real, planned = paper.row("first").recipe, paper.row("later").recipe
    assert real is not None
    assert planned is not None
    assert (real.settings.retrieve.k, real.planned) == (7, {})
    assert planned.planned == {"masque.ranker": "pair", "masque.p2p": True}


def test_a_rows_tolerance_goes_before_the_files_and_the_measures(tmp_path: Path) -> None:
    table = HEAD + "[tolerance]\nem = 2.0\n" + FIRST
    assert sample(tmp_path / "file", table).row("first").tolerance == {"em": 2.0, "f1": 1.0}
    one = table + "tolerance = { f1 = 0.2 }\n"
    assert sample(tmp_path / "row", one).row("first").tolerance == {"em": 2.0, "f1": 0.2}
    both = table + "tolerance = 0.3\n"
    assert sample(tmp_path / "number", both).row("first").tolerance == {"em": 0.3, "f1": 0.3}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A Paper"', "", "sample/table.toml: title is missing"),
        ('title = "A Paper"', 'titel = "A Paper"', "sample/table.toml: titel is not a field; did you mean title?"),
        ('title = "A Paper"', "title = 7", "sample/table.toml: title must be text, not 7"),
        ('title = "A Paper"', 'title = ""', "sample/table.toml: title is empty"),
        ('id = "first"', 'id = "The First"', "row The First: id is kebab-case, such as t3-no-ranker, not 'The First'"),
        ('id = "first"', 'id = "../first"', "id is kebab-case"),
        ('id = "first"\n', "", "sample/table.toml, row 2: id is missing"),
        ('id = "second"', 'id = "first"', "row first: id is taken by an earlier row"),
        ('model = "System"\n', "", "sample/table.toml, row first: model is missing"),
        ('model = "System"\n', 'modle = "System"\n', "row first: modle is not a field; did you mean model?"),
        ("em = 50.0", "rogue_l = 50.0", "row first: reported.rogue_l is not a measure; did you mean rouge_l?"),
        ("em = 50.0", 'em = "50.0"', "row first: reported.em must be a number, not '50.0'"),
        ("em = 50.0", "em = true", "row first: reported.em must be a number, not True"),
        ("em = 50.0", "em = nan", "row first: reported.em must be a number, not NaN"),
        ("em = 50.0", "em = 500", "row first: reported.em cannot be 500 where the scale is percent"),
        ("map = 0.700", "map = 70.0", "row second: reported.map cannot be 70.0 where the scale is fraction"),
        ("{ map = 0.700 }", "{}", "row second: reported is empty"),
        ("{ map = 0.700 }", "0.7", "row second: reported must be a table, not Decimal('0.7')"),
        ('scale = "fraction"', 'scale = "fractions"', "row second: scale is percent or fraction, not 'fractions'"),
        ("ours = false", 'ours = "no"', "row prior: ours must be true or false, not 'no'"),
        ("ours = false", "", "row prior: ours is missing"),
        ("ours = false", 'ours = false\nsettings = "real.toml"', "row prior: settings belongs to rows that are ours"),
        ("ours = false", "ours = true", "row prior: settings is missing; a row of ours names the file"),
        ('"planned.toml"', '"plan.toml"', "row later: settings names no file of sample/settings: 'plan.toml'"),
        ('"planned.toml"', '"../table.toml"', "row later: settings names no file"),
        ('data = "less"', 'data = "les"', "row second: data names no sentence of [stand_ins]: 'les'; did you mean"),
        ('less = "Half of the data."', "less = 0.5", "sample/table.toml: stand_ins.less must be text"),
        ('data = "less"', 'data = "less"\ntolerance = -1', "row second: tolerance must be at least 0, not -1"),
        ('data = "less"', 'data = "less"\ntolerance = { em = 1 }', "row second: tolerance.em is for a measure"),
        ("[stand_ins]", "[tolerance]\nexact_match = 1\n[stand_ins]", "tolerance.exact_match is not a measure"),
        ("[stand_ins]", "[stand_ins", "sample/table.toml: is not TOML: "),
    ],
)
def test_mistakes_are_named_by_file_row_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WHOLE
    with pytest.raises(TableFault) as raised:
        sample(tmp_path, WHOLE.replace(old, new, 1))
    assert message in str(raised.value)


def test_a_table_without_rows_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(TableFault, match="row is missing"):
        sample(tmp_path / "none", HEAD)
    with pytest.raises(TableFault, match=r"row must be a list of tables, each begun with \[\[row\]\]"):
        sample(tmp_path / "single", HEAD + PRIOR.replace("[[row]]", "[row]"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[retrieve]\nkk = 3\n",
            "retrieve.kk is not a setting; did you mean retrieve.k? (in sample/settings/real.toml)",
        ),
        ("[retrieve]\nk = 'many'\n", "retrieve.k must be a whole number"),
        ("planned = 3\n", "sample/settings/real.toml: planned.planned is a section of settings, not a value"),
        ("[planned]\nranker = 'pair'\n", "sample/settings/real.toml: planned.ranker is a section of settings"),
        ("[retrieve\n", "sample/settings/real.toml: is not TOML"),
    ],
)
def test_mistakes_in_settings_are_named_too(tmp_path: Path, text: str, message: str) -> None:
    folder = write(tmp_path, HEAD + STAND_INS + FIRST + PLANNED)
    (folder / "settings" / "real.toml").write_text(text)
    with pytest.raises(TableFault) as raised:
        load(folder)
    assert message in str(raised.value)
