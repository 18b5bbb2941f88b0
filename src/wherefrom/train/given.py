"""Files that a system is given by name: whether they are there, and where trained weights come from."""

from __future__ import annotations

from pathlib import Path

from wherefrom.errors import NotFound
from wherefrom.train.provenance import PROVENANCE
from wherefrom.train.stages import Facts, read_json

START = "start.json"  # in a training's folder: the history of the weights that it goes on from


def named(path: Path, option: str) -> Path:
    """The path, if it is there; `option` is what named it."""
    if not path.exists():
        raise NotFound(f"{path} is not there; {option} names it")
    return path


def history(weights: Path) -> Facts:
    """What is known of weights that a training goes on from, and of their own start."""
    return {"training": read_json(weights.parent / PROVENANCE), "start": read_json(weights.parent / START)}
