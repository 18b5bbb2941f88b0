"""What makers of weights share: stages in their order, notes of what was made of what, folders put in place whole."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from wherefrom.durable import remove_unfinished, write_text
from wherefrom.origin import file_hash
from wherefrom.train.errors import TrainingError
from wherefrom.train.loop import PROVENANCE
from wherefrom.train.progress import paced

START = "start.json"  # in a training's folder: where the weights that it goes on from come from
Stage = TypeVar("Stage", bound=str)
BuildTenPassages = Callable[[Path, Path, Callable[[str, int, int], None]], object]
"""Makes the ten-passage set of a folder of datasets, in a folder; it reports split, done and total."""


def run_stages(made: Mapping[Stage, Callable[[], None]], chosen: Sequence[Stage], out: Path) -> None:
    """Run the chosen stages, in the order of `made`; what an interrupted one left unfinished is removed before."""
    if out.exists():
        remove_unfinished(out)
    for stage, make in made.items():
        if stage in chosen:
            make()


def needed(path: Path, stage: str) -> Path:
    """The path, if the stage that makes it has run."""
    if not path.exists():
        raise TrainingError(f"{path} is not there yet; run the stage {stage} first (--stage {stage})")
    return path


def read_json(path: Path) -> dict[str, Any]:
    """A file of ours; empty where there is none, or none that can be read: then its stage runs again."""
    try:
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def note_start(training: Path, start: Path) -> None:
    """Beside a training what is known of the weights that it goes on from, and of their own start."""
    earlier = start.parent
    told = {"training": read_json(earlier / PROVENANCE), "start": read_json(earlier / START)}
    training.mkdir(parents=True, exist_ok=True)
    write_json(training / START, told)


def preference(facts: Mapping[str, Any]) -> dict[str, Any]:
    """How much shorter spans were preferred, among what weights or figures were made of; nothing where not at all."""
    return {name: value for name, value in facts.items() if name == "brevity"}


def already_made(
    material: Path, note: Path, made_of: Mapping[str, Any], say: Callable[[str], None], stage: str = "material"
) -> bool:
    """Whether the material is there, made of the same; one without a note was put there by hand, and is taken as it is.

    Trainings elsewhere may have been made with it.
    """
    found = read_json(note)
    if material.exists() and not found:
        say(f"{stage}: {material} was not made here; taken as it is")
        found = {"made_of": dict(made_of), "sha256": file_hash(material), "made here": False}
        write_json(note, found)
    there = material.exists() and found.get("made_of") == made_of
    if there:
        say(f"{stage}: already made")
    return there


def ten_passages(build: BuildTenPassages, data: Path, folder: Path, say: Callable[[str], None]) -> None:
    """The ten-passage set in this folder, built if it is not there."""
    if (folder / "ten-passages.json").exists():
        return
    say(f"material: building the ten-passage set in {folder}")
    # It reports splits in turn; a pace a split.
    paces = {split: paced(f"ten-passages, {split}", say) for split in ("valid", "train")}
    build(data, folder, lambda split, done, total: paces[split](done, total))


@contextmanager
def put_in_place(folder: Path) -> Iterator[Path]:
    """A fresh folder to fill, which takes the place of `folder` once it is whole."""
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder.parent) as workplace:
        fresh = Path(workplace) / folder.name
        yield fresh
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
