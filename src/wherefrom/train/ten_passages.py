"""The stage that builds the ten-passage set, for systems that learn or are measured from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, read_json

if TYPE_CHECKING:
    from wherefrom.evaluate.ten_passages import Split

NOTE = "ten-passages.json"  # what the set was made of; written last


def ten_passages(
    folder: Path,
    data: Path,
    say: Say,
    made_of: Callable[[], Facts] = dict,
    splits: Sequence[Split] = ("valid", "train"),
) -> Stage:
    """The set in this folder, or these splits of it, built of the datasets; what is there is taken as it is."""

    def make(path: Path) -> Facts:
        there = [split for split in ("valid", "train") if (path / f"{split}.jsonl.gz").exists()]
        if not (path / NOTE).exists() or any(split not in there for split in splits):
            from wherefrom.evaluate.ten_passages import SPLITS, build

            say(f"ten-passages: building the ten-passage set in {path}")
            # It reports splits in turn; a pace a split.
            paces: dict[str, Callable[[int, int], None]] = {
                split: paced(f"ten-passages, {split}", say) for split in SPLITS
            }
            wanted = [split for split in SPLITS if split in splits or split in there]
            build(data, path, report=lambda split, done, total: paces[split](done, total), splits=wanted)
        return read_json(path / NOTE)

    return Stage("ten-passages", folder, made_of, make, in_place=True)
