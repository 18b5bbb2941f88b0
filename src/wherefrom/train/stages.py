"""Stages of making a system: each leaves a file or a folder, and is skipped where that was made of the same.

OUT/made/<stage>.json     what a stage was made of, by which code, and what it counted or measured
OUT/<output>              whole or not there at all; a stage that works in place goes on where it was interrupted
OUT/weights/provenance.json   all notes together, in every folder of weights
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherefrom.durable import force_names, remove_unfinished, write_text
from wherefrom.origin import commit_of, file_hash
from wherefrom.train.errors import TrainingError
from wherefrom.train.provenance import PROVENANCE, versions

if TYPE_CHECKING:
    from wherefrom.train.settings import LoopSettings
    from wherefrom.train.task import Batch, Network, Task

Facts = Mapping[str, Any]  # what JSON can hold
Say = Callable[[str], None]
NOTES = "made"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step on the way from datasets to weights."""

    name: str
    output: Path  # a file or a folder
    made_of: Callable[[], Facts]  # hashes of files and settings: where they change, the stage runs again
    make: Callable[[Path], Facts | None]  # fills the path it is given; counts and figures go into the note
    in_place: bool = False  # fills `output` itself, over several runs, and complains where that was begun otherwise
    extra: bool = False  # runs only when it is named
    weights: bool = False  # the output is a folder of weights: provenance.json goes into it
    replaces: bool = False  # an output that was made elsewhere is not taken as it is, but made anew


def run(
    system: str, stages: Sequence[Stage], out: Path, chosen: Collection[str] | None = None, say: Say = print
) -> None:
    """Run the chosen stages (all but the extra ones), in their order."""
    out.mkdir(parents=True, exist_ok=True)
    remove_unfinished(out)
    for stage in stages:
        if stage.name in chosen if chosen is not None else not stage.extra:
            _run(stage, out, say)
            write_provenance(system, stages, out)


def note_of(out: Path, stage: str) -> dict[str, Any]:
    """What is noted of a stage; empty where it has not run."""
    return read_json(out / NOTES / f"{stage}.json")


def needed(path: Path, stage: str) -> Path:
    """The path, if the stage that makes it has run."""
    if not path.exists():
        raise TrainingError(f"{path} is not there yet; run the stage {stage} first (--stage {stage})")
    return path


def training(
    name: str,
    folder: Path,
    task: Callable[[], Task[Network, Batch]],
    loop: LoopSettings,
    made_of: Callable[[], Facts],
    device: str,
    say: Say,
    beside: Mapping[str, Facts] | None = None,
) -> Stage:
    """The stage that fits a task, or goes on with it; one that was finished elsewhere is taken over if it is the same.

    `beside`: JSON files that are written into the folder first, such as the settings of the network.
    """

    def make(path: Path) -> Facts:
        from wherefrom.train.loop import fitted

        for file, values in (beside or {}).items():
            write_json(path / file, values)
        return fitted(task(), loop, path, device, lambda line: say(f"{name}: {line}"))

    return Stage(name, folder, lambda: {**made_of(), "loop": _learnt(loop)}, make, in_place=True)


def write_provenance(system: str, stages: Sequence[Stage], out: Path) -> None:
    """Into every folder of weights all that is known so far of where it comes from.

    A folder that was made of earlier weights brings their provenance along, and keeps what stands there.
    """
    notes = {stage.name: note for stage in stages if (note := note_of(out, stage.name))}
    commit, changed = commit_of()
    for stage in stages:
        if stage.weights and stage.name in notes and stage.output.is_dir():
            earlier = read_json(stage.output / PROVENANCE)
            provenance = {
                "model": earlier.get("model", system),
                "commit": commit,
                "uncommitted_changes": changed,
                "versions": versions(),
                "files": _hashes(stage.output),
                "stages": {**earlier.get("stages", {}), **notes},
            }
            write_json(stage.output / PROVENANCE, provenance)


def read_json(path: Path) -> dict[str, Any]:
    """A file of ours; empty where there is none, or none that can be read: then its stage runs again."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def write_json(path: Path, values: Facts) -> None:
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def plain(values: Facts) -> dict[str, Any]:
    """As JSON gives it back: keys are text, tuples are lists."""
    read: dict[str, Any] = json.loads(json.dumps(values))
    return read


# Inside.


def _run(stage: Stage, out: Path, say: Say) -> None:
    made_of = plain(stage.made_of())
    note = note_of(out, stage.name)
    if stage.output.exists() and note.get("made_of") == made_of:
        say(f"{stage.name}: already made")
        return
    if stage.output.exists() and not note and not (stage.in_place or stage.replaces):
        say(f"{stage.name}: {stage.output} was not made here; taken as it is")
        _write_note(stage, out, {"made_of": made_of, "made_here": False})
        return
    commit, changed = commit_of()
    begun = time.monotonic()
    facts = _filled(stage)
    about = {"commit": commit, "uncommitted_changes": changed, "versions": versions()}
    seconds = round(time.monotonic() - begun, 1)
    _write_note(stage, out, {"made_of": made_of, "made_here": True, **about, "seconds": seconds, "facts": facts or {}})
    say(f"{stage.name}: made {stage.output.name}")


def _filled(stage: Stage) -> Facts | None:
    if stage.in_place:
        stage.output.mkdir(parents=True, exist_ok=True)
        return stage.make(stage.output)
    stage.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=stage.output.parent) as workplace:
        fresh = Path(workplace) / stage.output.name
        facts = stage.make(fresh)
        for file in [fresh] if fresh.is_file() else [path for path in fresh.rglob("*") if path.is_file()]:
            _force(file)
        if stage.output.is_dir():
            shutil.rmtree(stage.output)
        fresh.replace(stage.output)
    if stage.output.is_file():
        _vouch(stage.output)
    force_names(stage.output.parent)
    return facts


def _vouch(file: Path) -> None:
    """Into the provenance of weights that a file now lies beside: they are read only where it names their bytes."""
    provenance = read_json(file.parent / PROVENANCE)
    if "files" in provenance:
        hashes = {**provenance["files"], file.name: file_hash(file)}
        write_json(file.parent / PROVENANCE, {**provenance, "files": hashes})


def _force(file: Path) -> None:
    """To the disk, and readable as the user's umask has it: safetensors makes files for their owner alone."""
    umask = os.umask(0)
    os.umask(umask)
    file.chmod(0o666 & ~umask)
    with file.open("rb+") as handle:
        os.fsync(handle.fileno())


def _write_note(stage: Stage, out: Path, note: Facts) -> None:
    (out / NOTES).mkdir(exist_ok=True)
    files = {} if stage.in_place else {"sha256": _hash(stage.output)}
    write_json(out / NOTES / f"{stage.name}.json", {"stage": stage.name, **note, **files})


def _hash(path: Path) -> str | dict[str, str]:
    return _hashes(path) if path.is_dir() else file_hash(path)


def _hashes(folder: Path) -> dict[str, str]:
    return {
        file.name: file_hash(file) for file in sorted(folder.iterdir()) if file.name != PROVENANCE and file.is_file()
    }


def _learnt(loop: LoopSettings) -> dict[str, Any]:
    """The loop's settings that decide what is learnt; warm-ups by group count where there are some."""
    nothing = {"checkpoint_every"} if loop.group_warmups else {"checkpoint_every", "group_warmups"}
    return loop.described(*nothing)
