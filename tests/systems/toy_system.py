"""A system and a paper that nobody wrote: what a new one must bring, and nothing else."""

from __future__ import annotations

from pathlib import Path

ABOUT = """
from dataclasses import dataclass
from pathlib import Path
from wherefrom.systems.contract import About, given

@dataclass(frozen=True, slots=True)
class Inputs:
    data: Path = given("the folder that holds numbers.txt")
    every: int = given("only every N-th number", default=1)

ABOUT = About("toy", "Make the mean of numbers.", Inputs, ("numbers", "weights"), "it is in {weights}", needs=())
"""
SYSTEM = """
import json
from dataclasses import dataclass
from wherefrom.origin import file_hash
from wherefrom.systems.contract import Scores
from wherefrom.train.stages import Stage, needed, run

@dataclass(frozen=True)
class Rounding:
    digits: int = 3

@dataclass(frozen=True)
class Settings:
    factor: float = 1.0
    rounding: Rounding = Rounding()

DEFAULTS = Settings()

def stages(settings, inputs, out, say):
    source, numbers = inputs.data / "numbers.txt", out / "numbers.json"

    def read(path):
        found = [float(line) for line in source.read_text().split()][:: inputs.every]
        path.write_text(json.dumps(found))
        return {"numbers": len(found)}

    def weigh(path):
        found = json.loads(needed(numbers, "numbers").read_text())
        path.mkdir()
        mean = round(settings.factor * sum(found) / len(found), settings.rounding.digits)
        (path / "mean.json").write_text(json.dumps(mean))

    return [
        Stage("numbers", numbers, lambda: {"data": file_hash(source), "every": inputs.every}, read),
        Stage("weights", out / "weights", lambda: {"numbers": file_hash(needed(numbers, "numbers")),
              "factor": settings.factor}, weigh, weights=True),
    ]

def measure(settings, inputs, wanted, out, say):
    run("toy", stages(settings, inputs, out, say), out, say=say)
    mean = json.loads((out / "weights" / "mean.json").read_text())
    return Scores({"em": mean / 100 if wanted.measure == "percent" else mean}, 7, (inputs.data / "numbers.txt",))
"""
TABLE = """
title = "On means"
authors = "A. Nobody"
system = "Toy"
source = "none"
scale = "percent"

[[row]]
id = "mean"
table = "Table 1"
model = "Mean"
dataset = "numbers"
split = "all"
reported = { em = 20.0 }
ours = true
settings = "mean.toml"

[[row]]
id = "twice"
table = "Table 1"
model = "Mean, twice"
dataset = "numbers"
split = "all"
reported = { em = 40.0 }
ours = true
settings = "twice.toml"
"""
MEAN = 'system = "toy"\nmeasure = "percent"\n[settings]\nfactor = 1.0\n'
TWICE = 'base = "mean.toml"\n[settings]\nfactor = 2.0\n'


def write_toy(folder: Path) -> None:
    """The package `toy_package` and the paper `toy-paper`, and the data they are made from."""
    package, paper = folder / "toy_package", folder / "shelf" / "toy-paper"
    (paper / "settings").mkdir(parents=True)
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "about.py").write_text(ABOUT)
    (package / "system.py").write_text(SYSTEM)
    (paper / "table.toml").write_text(TABLE)
    (paper / "settings" / "mean.toml").write_text(MEAN)
    (paper / "settings" / "twice.toml").write_text(TWICE)
    (folder / "data").mkdir()
    (folder / "data" / "numbers.txt").write_text("10\n20\n30\n")
