"""A small paper on disk, written by the tests that read, run and compare one."""

from __future__ import annotations

from pathlib import Path

from wherefrom.papers.results import Measured, Run
from wherefrom.papers.table import Paper, Row, load

HEAD = """\
title = "A Paper"
authors = "A. Author"
system = "System"
source = "paper.txt"
"""
STAND_INS = """\
[stand_ins]
less = "Half of the data."
"""
PRIOR = """\
[[row]]
id = "prior"
table = "Table 1"
model = "Others"
dataset = "Set"
split = "test"
reported = { em = 40.0 }
ours = false
"""
FIRST = """\
[[row]]
id = "first"
table = "Table 1"
model = "System"
dataset = "Set"
split = "test"
reported = { em = 50.0, f1 = 60.25 }
ours = true
settings = "real.toml"
"""
SECOND = """\
[[row]]
id = "second"
table = "Table 2"
model = "System, less data"
dataset = "Set"
split = "test"
scale = "fraction"
reported = { map = 0.700 }
ours = true
settings = "real.toml"
data = "less"
"""
PLANNED = """\
[[row]]
id = "later"
table = "Table 2"
model = "System, to come"
dataset = "Set"
split = "test"
reported = { em = 70 }
ours = true
settings = "planned.toml"
"""
WHOLE = HEAD + STAND_INS + PRIOR + FIRST + SECOND + PLANNED


def write(folder: Path, table: str = WHOLE) -> Path:
    """The folder of a paper with that table, one real and one planned settings file."""
    paper = folder / "sample"
    (paper / "settings").mkdir(parents=True)
    (paper / "table.toml").write_text(table, encoding="utf-8")
    (paper / "settings" / "real.toml").write_text('system = "rankqa"\n[settings.pipeline.retrieve]\nk = 7\n')
    (paper / "settings" / "planned.toml").write_text('[planned.masque]\nranker = "pair"\np2p = true\n')
    return paper


def sample(folder: Path, table: str = WHOLE) -> Paper:
    return load(write(folder, table))


def result(row: Row, as_printed: bool = True, **metrics: float) -> Measured:
    """A measured result, as a run would have saved it."""
    run = Run("real.toml", {}, 1, (), as_printed, None, False, "0.1.0", "3.11.0", "2026-01-01T00:00:00+00:00", 1.0)
    return Measured(row.paper, row.id, metrics, run)
