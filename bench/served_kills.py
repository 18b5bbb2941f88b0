"""A Qdrant server is killed while a library is filled and asked: python -m bench.served_kills [--kills N].

Half of the kills come at a random instant of writing, half while questions are asked; at every eighth the server's disk
is lost too, or is as it was some kills ago. What was acknowledged must be there and be found, always.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import facts
from bench.qdrant import HOW, QdrantProcess, program
from bench.report import Verdict
from bench.running import count, exit_code, write
from bench.served import WORK
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import LibraryDamaged, LibraryUnreachable, NotFound
from wherefrom.types import Document, Question

_DOCUMENTS = 60
_LOST_DISK = 8  # one kill of so many
_LONGEST = 1.5  # seconds until a kill while questions are asked
_WRITES = 5  # ... and while documents are written, so many of the writes before at most


@dataclass(slots=True)
class Tally:
    """What happened."""

    kills: int = 0
    disks: int = 0  # lost, or put back to an earlier state
    acknowledged: int = 0  # documents written or removed
    errors: int = 0  # writes and questions that ended with an error that names the server
    asked: int = 0  # questions that were answered
    lost: int = 0  # acknowledged documents that were not there or not found, or removed ones that were


def campaign(kills: int, seed: int, folder: Path) -> Tally:
    """Fill, ask, kill; start the server again; compare all that was acknowledged with what is there and found."""
    chance = random.Random(seed)
    server = QdrantProcess(folder / "server")
    server.start()
    tally, versions = Tally(), dict[str, int]()  # the acknowledged version of each document that is there
    try:
        with Library(
            folder / "library", resolve(overrides=["retrieve.kind=qdrant", f"retrieve.url={server.url}"])
        ) as library:
            begun = time.monotonic()
            library.put([_document("d0", 0)])
            pace = time.monotonic() - begun
            versions["d0"] = 0
            for number in range(1, kills + 1):
                writes = number % 2 == 1
                longest = max(_LONGEST, _WRITES * pace) if writes else _LONGEST
                killer = threading.Timer(chance.random() * longest, server.kill)
                killer.start()
                try:
                    while True:
                        (_write if writes else _ask)(library, versions, chance, tally)
                except LibraryUnreachable:
                    tally.errors += 1
                killer.join()
                tally.kills += 1
                if number % _LOST_DISK == 0:
                    _lose_disk(server.folder, folder / "earlier", chance)
                    tally.disks += 1
                elif number % _LOST_DISK == 3:
                    shutil.rmtree(folder / "earlier", ignore_errors=True)
                    shutil.copytree(server.folder, folder / "earlier")
                server.start()
                _recovered(library, versions, chance, tally)
            report = library.check()
            if not report.sound:
                raise RuntimeError(f"the library is not sound: {report.problems}")
            tally.lost += sum(not _right(library, f"d{number}", versions) for number in range(_DOCUMENTS))
    finally:
        server.kill()
    return tally


def _write(library: Library, versions: dict[str, int], chance: random.Random, tally: Tally) -> None:
    """Put some documents anew and remove others; where that is not acknowledged, either state may be, and no third."""
    ids = [f"d{number}" for number in chance.sample(range(_DOCUMENTS), chance.randrange(1, 12))]
    gone = ids[:2] if chance.random() < 0.3 else []
    put = ids[len(gone) :]
    wanted: dict[str, int | None] = dict.fromkeys(gone)
    try:
        library.remove(gone)
        _note(versions, wanted)
        tally.acknowledged += len(wanted)
        wanted = dict.fromkeys(put, time.monotonic_ns())
        library.put([_document(id, version) for id, version in wanted.items() if version is not None])
    except LibraryUnreachable:
        for id, version in wanted.items():
            if _is(library, id, version):
                _note(versions, {id: version})
            else:
                tally.lost += not _is(library, id, versions.get(id))
        raise
    _note(versions, wanted)
    tally.acknowledged += len(wanted)


def _note(versions: dict[str, int], wanted: dict[str, int | None]) -> None:
    for id, version in wanted.items():
        versions.pop(id, None)
        if version is not None:
            versions[id] = version


def _is(library: Library, id: str, version: int | None) -> bool:
    """Whether a document is there in this version; None is not there."""
    try:
        text = library.document(id).text
    except NotFound:
        return version is None
    return version is not None and text == _document(id, version).text


def _ask(library: Library, versions: dict[str, int], chance: random.Random, tally: Tally) -> None:
    id = f"d{chance.randrange(_DOCUMENTS)}"
    right = _right(library, id, versions)
    tally.asked += 1
    tally.lost += not right


def _right(library: Library, id: str, versions: dict[str, int]) -> bool:
    """Whether a document is found in its acknowledged version, and in no other."""
    (trace,) = library.pipeline().find_many([Question("", f"name{id}")])
    texts = {hit.passage.text for hit in trace.hits if hit.passage.document_id == id}
    wanted = {_document(id, versions[id]).text} if id in versions else set()
    return texts == wanted


def _recovered(library: Library, versions: dict[str, int], chance: random.Random, tally: Tally) -> None:
    """The first question is right, or says that the server lacks something; then the next writer sees to it."""
    try:
        _ask(library, versions, chance, tally)
    except LibraryDamaged:
        tally.errors += 1
        if not library.check().sound:
            raise
        _ask(library, versions, chance, tally)


def _lose_disk(folder: Path, earlier: Path, chance: random.Random) -> None:
    shutil.rmtree(folder)
    if earlier.exists() and chance.random() < 0.5:
        shutil.copytree(earlier, folder)


def _document(id: str, version: int) -> Document:
    chance = random.Random(f"{id} {version}")
    words = " ".join(f"w{chance.randrange(300)}" for _ in range(chance.randrange(5, 60)))
    return Document(id, f"It is name{id} in version{version}, with {words}.")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.served_kills", description=__doc__)
    parser.add_argument("--kills", type=count, default=100, help="(default %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=WORK)
    options = parser.parse_args(arguments)
    if program() is None:
        parser.error(f"there is no Qdrant server here: {HOW}")

    def measured() -> list[Verdict]:
        machine = facts.collect(("wherefrom", "tantivy"))
        options.work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=options.work) as folder:
            tally = campaign(options.kills, options.seed, Path(folder))
        print(tally)
        report = {
            "facts": asdict(machine),
            "date": datetime.now(UTC).date().isoformat(),
            "seed": options.seed,
            "served_kills": asdict(tally),
        }
        write(options.work / "served-kills.md", f"{tally}\n", report)
        return []

    return exit_code(measured)


if __name__ == "__main__":
    sys.exit(main())
