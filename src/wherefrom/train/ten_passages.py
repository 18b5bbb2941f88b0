"""The stage that builds the ten-passage set, for systems that learn or are measured from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, read_json

NOTE = "ten-passages.json"  # what the set was made of; written last


def ten_passages(folder: Path, data: Path, say: Say, made_of: Callable[[], Facts] = dict) -> Stage:
    """The set in this folder, built of the folder of datasets; one that is there is taken as it is."""

    def make(path: Path) -> Facts:
        if not (path / NOTE).exists():
            from wherefrom.evaluate.ten_passages import build

            say(f"ten-passages: building the ten-passage set in {path}")
            # It reports splits in turn; a pace a split.
            paces = {split: paced(f"ten-passages, {split}", say) for split in ("valid", "train")}
            build(data, path, report=lambda split, done, total: paces[split](done, total))
        return read_json(path / NOTE)

    return Stage("ten-passages", folder, made_of, make, in_place=True)
