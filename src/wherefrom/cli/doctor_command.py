"""`wherefrom doctor`: whether this machine has all that is needed, and how fast it answers."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from wherefrom import __version__
from wherefrom.cli.options import json_option, library_options, named, opened, settings
from wherefrom.cli.output import print_json, say, styled
from wherefrom.errors import LibraryMissing, WherefromError

if TYPE_CHECKING:
    from wherefrom.config import Settings
    from wherefrom.library import Library

State = Literal["fine", "note", "wrong"]

_COLOURS: Mapping[State, str] = {"fine": "green", "note": "yellow", "wrong": "red"}
_FOR_MAKERS = ("dev", "docs", "train", "scale")  # extras that nobody needs to ask questions
_SHOWN = ("onnxruntime", "tantivy", "numpy")  # whose versions tell most when something is odd
_MEASURING = 1.0  # seconds
_SLOW = 1.5  # seconds for an answer, from which on it is worth saying what makes it faster
_LEAST_SPACE = 1e9
_REINSTALL = "install wherefrom again: pip install --force-reinstall wherefrom"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do about it where it is not fine."""

    about: str
    state: State
    what: str
    remedy: str = ""


@click.command("doctor")
@json_option
@library_options
def command(as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]) -> None:
    """Look whether all is there to answer questions: versions, networks and their hashes, the library, the disk.

    Also measures for a second how fast this machine answers. Says what is missing and what to do about it; changes
    nothing. The exit code is 1 if something is wrong. `wherefrom check` looks at every byte of a library.
    """
    chosen = settings(toml, overrides)
    findings = [*_versions(), *_packages(), *_networks(chosen)]
    if not any(finding.state == "wrong" for finding in findings):
        findings += _guarded("speed", lambda: _speed(chosen))
    with opened(named(library), toml, overrides) as opened_library:
        findings += _guarded("library", lambda: _library(opened_library))
    sound = all(finding.state != "wrong" for finding in findings)
    if as_json:
        print_json({"sound": sound, "findings": findings})
    else:
        for finding in findings:
            say(f"{styled(f'{finding.state:<5}', _COLOURS[finding.state])}  {finding.about:<9} {finding.what}")
            if finding.remedy:
                say(f"                 {finding.remedy}")
        say("Nothing is wrong." if sound else "Something is wrong; see above what to do about it.")
    if not sound:
        sys.exit(1)


def _guarded(about: str, look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """What a look gives; an error of ours, which names its remedy, is a finding too."""
    findings: list[Finding] = []
    try:
        findings.extend(look())
    except WherefromError as error:
        findings.append(Finding(about, "wrong", str(error)))
    return findings


def _versions() -> Iterator[Finding]:
    system = f"{platform.system()} {platform.release()} on {platform.machine()}, {os.cpu_count()} cores"
    yield Finding("version", "fine", f"wherefrom {__version__}, Python {platform.python_version()}, {system}")
    versions = [f"{name} {version}" for name in _SHOWN if (version := _version(name))]
    yield Finding("version", "fine", ", ".join([*versions, f"SQLite {sqlite3.sqlite_version}"]))


def _packages() -> Iterator[Finding]:
    """What wherefrom needs, and what its extras add."""
    missing: dict[str, list[str]] = {}
    for requirement in metadata.requires("wherefrom") or ():
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement)
        if name is not None and not (extra and extra[1] in _FOR_MAKERS):
            lacking = missing.setdefault(extra[1] if extra else "", [])
            lacking += [name[0]] * (_version(name[0]) is None)
    for extra_name, names in missing.items():
        if not extra_name:
            state: State = "wrong" if names else "fine"
            what = f"packages are missing: {', '.join(names)}" if names else "all packages are there"
            yield Finding("packages", state, what, _REINSTALL if names else "")
        elif names:
            what = f"the extra '{extra_name}' is not installed ({', '.join(names)})"
            yield Finding("packages", "note", what, f"where you want it: pip install 'wherefrom[{extra_name}]'")
        else:
            yield Finding("packages", "fine", f"the extra '{extra_name}' is installed")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _networks(chosen: Settings) -> Iterator[Finding]:
    """The weights that the settings use, each file against the hash that it was made with."""
    from wherefrom.build import build
    from wherefrom.runtime.weights import PROVENANCE, Weights, check_bytes

    try:
        used = build(chosen, None).weights
    except WherefromError as error:
        yield Finding("networks", "wrong", str(error))
        return
    others = [chosen.runtime.matcher, *([chosen.runtime.followup] if chosen.conversation.follow_ups else [])]
    for folder in dict.fromkeys([*used, *(Weights.named(name).folder for name in others)]):
        try:
            files = [file for file in sorted(folder.iterdir()) if file.is_file() and file.name != PROVENANCE]
            for file in files:
                check_bytes(file)
        except (WherefromError, OSError) as error:
            yield Finding("networks", "wrong", str(error), "" if isinstance(error, WherefromError) else _REINSTALL)
        else:
            size = sum(file.stat().st_size for file in files)
            yield Finding("networks", "fine", f"{folder.name}: {_counted(files)}, {_as_size(size)}, as made")


def _counted(files: Sequence[Path]) -> str:
    return "1 file" if len(files) == 1 else f"{len(files)} files"


def _as_size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def _speed(chosen: Settings) -> Iterator[Finding]:
    """How long a short answer takes once its passages are found."""
    from wherefrom.build import build
    from wherefrom.types import Hit, Passage, Question

    text = "The boiler in the cellar was serviced by Marta in May, and it hums a little when it rains outside. " * 5
    count = chosen.retrieve.k
    hits = [Hit(Passage(f"d{n}#0", f"d{n}", f"{text} {n}", 0, len(text) + 2), 1.0) for n in range(count)]
    pipeline = build(chosen, None)
    pipeline.answer_many([Question("", "Who serviced the oven?")], [hits], "short")  # loads the networks
    times: list[float] = []
    while not times or (sum(times) < _MEASURING and len(times) < 50):
        begun = time.perf_counter()
        # A question that was not asked before: what has been read is remembered.
        pipeline.answer_many([Question("", f"Who serviced boiler {len(times)}?")], [hits], "short")
        times.append(time.perf_counter() - begun)
    middle = sorted(times)[len(times) // 2]
    what = f"a short answer from {count} passages takes {1000 * middle:.0f} ms here"
    if middle > _SLOW:
        yield Finding("speed", "note", what, "fewer passages are read faster: --set retrieve.k=6")
    else:
        yield Finding("speed", "fine", what)


def _library(library: Library) -> Iterator[Finding]:
    path = library.path.absolute()
    try:
        documents, passages = library.counts()
    except LibraryMissing:
        yield Finding("library", "note", f"there is none at {path}", "wherefrom ingest FOLDER makes it")
        return
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    holds = f"{documents:,} documents in {passages:,} passages, {size / 1e6:,.1f} MB"
    yield Finding("library", "fine", f"{path}: {holds}")
    library.search("what is there")  # its index can be read; an error says so
    if not library.writable:
        yield Finding("library", "note", "you may read it and not write to it", "its owner may, or a copy of it")
    gone = sum(facts.gone for facts in library.gone(library.documents()))
    if gone:
        what = f"the files of {gone:,} documents are gone"
        yield Finding("library", "note", what, "wherefrom remove --gone shows them, and removes them with --yes")
    free = shutil.disk_usage(path).free
    if free < max(_LEAST_SPACE, 2 * size):
        what = f"its disk has {free / 1e9:,.1f} GB left"
        yield Finding(
            "disk", "note", what, "make room before much is ingested; an index that is built anew needs its size twice"
        )
    else:
        yield Finding("disk", "fine", f"{free / 1e9:,.0f} GB are left beside it")
