"""Reading a table: what is kept, and mistakes named by file, row and field."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from paper_files import FIRST, HEAD, PLANNED, PRIOR, STAND_INS, WHOLE, sample, write

from wherefrom.papers.faults import TableFault
from wherefrom.papers.runner import resolved
from wherefrom.papers.table import Paper, load


def test_reads_what_is_printed(tmp_path: Path) -> None:
    paper = sample(tmp_path)
    assert (paper.slug, paper.title, paper.source) == ("sample", "A Paper", "paper.txt")
    assert [row.id for row in paper.rows] == ["prior", "first", "second", "later"]
    assert str(paper.row("second").reported["map"]) == "0.700"
    assert paper.row("later").reported == {"em": Decimal(70)}
    assert paper.row("second").data == "Half of the data."


def test_settings_are_read_and_planned_ones_kept_apart(tmp_path: Path) -> None:
    paper = sample(tmp_path)
    real, planned = paper.row("first").recipe, paper.row("later").recipe
    assert real is not None
    assert planned is not None
    assert (real.system, real.measure, real.settings) == ("rankqa", "", {"pipeline": {"retrieve": {"k": 7}}})
    assert real.planned == {}
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


def with_settings(folder: Path, **files: str) -> Paper:
    """The sample with these settings files; `real` is that of its first row."""
    place = write(folder, HEAD + STAND_INS + FIRST + PLANNED)
    for name, text in files.items():
        (place / "settings" / f"{name}.toml").write_text(text)
    return load(place)


REAL = 'system = "rankqa"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[settings]\nk = 3\n", "sample/settings/real.toml: system is missing"),
        (REAL + "[setings]\nk = 3\n", "sample/settings/real.toml: setings is not a field; did you mean settings?"),
        (REAL + "[training.rankqa]\n", "sample/settings/real.toml: training is not a field"),
        ("system = 7\n", "sample/settings/real.toml: system must be text, not 7"),
        (REAL + "settings = 3\n", "sample/settings/real.toml: settings must be a table, not 3"),
        (REAL + "[uses]\nmasque = 3\n", "sample/settings/real.toml: uses.masque names a settings file, not 3"),
        ("planned = 3\n", "sample/settings/real.toml: planned must be a table, not 3"),
        ("[planned]\nranker = 'pair'\n", "sample/settings/real.toml: planned.ranker is a section of settings"),
        ("base = 'none.toml'\n", "sample/settings/real.toml: base names no file beside it: 'none.toml'"),
        ("base = 'real.toml'\n", "sample/settings/real.toml: base leads back to real.toml"),
        ("[settings\n", "sample/settings/real.toml: is not TOML"),
    ],
)
def test_mistakes_in_settings_are_named_too(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableFault) as raised:
        with_settings(tmp_path, real=text)
    assert message in str(raised.value)


def test_a_settings_file_changes_what_it_is_based_on(tmp_path: Path) -> None:
    first = REAL + 'measure = "reader"\n[settings.task]\ntop_k = 4\nwidth = 8\n[uses]\npart = "other.toml"\n'
    second = 'base = "first.toml"\n[settings.task]\ntop_k = 5\n[settings.loop]\nepochs = 2\n'
    recipe = with_settings(tmp_path, first=first, second=second, real='base = "second.toml"\nmeasure = ""\n').recipes[
        "real.toml"
    ]
    assert (recipe.file, recipe.system, recipe.measure) == ("real.toml", "rankqa", "")
    assert recipe.settings == {"task": {"top_k": 5, "width": 8}, "loop": {"epochs": 2}}
    assert recipe.uses == {"part": "other.toml"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[settings.pipeline.retrieve]\nkk = 3\n", "pipeline.retrieve.kk is not a setting; did you mean pipeline.ret"),
        ("[settings.pipeline.retrieve]\nk = 'many'\n", "pipeline.retrieve.k must be a whole number"),
    ],
)
def test_a_slip_among_the_systems_settings_names_the_file(tmp_path: Path, settings: str, message: str) -> None:
    pytest.importorskip("torch", reason="loads a system: pip install 'wherefrom[train]'")
    with pytest.raises(TableFault) as raised:
        resolved(with_settings(tmp_path, real=REAL + settings), "real.toml")
    assert message in str(raised.value)
    assert "sample/settings/real.toml" in str(raised.value)
    with pytest.raises(TableFault, match=r"sample/settings/reel.toml: there is no such file; did you mean real.toml"):
        resolved(with_settings(tmp_path / "again", real=REAL), "reel.toml")
