"""A process that ingests and removes without end, saying what it tries and what is acknowledged.

Run as: crash_child.py LIBRARY WORK_FOLDER SEED INDEX. Lines: `try ID VERSION`, `done ID VERSION`; version 0 is removed.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from wherefrom import Library
from wherefrom.config import Settings, resolve

DOCUMENTS = 40
EXACT = ["index.buckets=4294967296"]  # tfidf: no other word shares the hash of a mark


def text_of(id: str, version: int) -> str:
    """What a document says in a version: a mark of its own, then enough for several passages."""
    chance = random.Random(f"{id} {version}")
    words = [f"{chance.choice('abcdefgh')}{chance.randrange(500)}" for _ in range(chance.randrange(20, 400))]
    sentences = [" ".join(words[at : at + 12]).capitalize() + "." for at in range(0, len(words), 12)]
    return f"Mark{id}v{version} is here. " + " ".join(sentences)


def settings_of(kind: str) -> Settings:
    """Small batches, so that there are many to be killed in; behind an @ a kind has the address of its server."""
    kind, _, url = kind.partition("@")
    return resolve(overrides=["ingest.batch_passages=20", f"retrieve.kind={kind}", f"retrieve.url={url}", *EXACT])


def main(path: str, work: str, seed: str, kind: str) -> None:
    chance = random.Random(seed)
    library = Library(path, settings_of(kind))
    version = int(seed) * 100_000
    while True:
        version += 1
        ids = chance.sample([f"d{number}" for number in range(DOCUMENTS)], chance.randrange(5, DOCUMENTS))
        for id in ids:
            print(f"try {id} {version}")
        print(end="", flush=True)
        file = Path(work) / f"rows-{version}.jsonl"
        file.write_text("".join(json.dumps({"id": id, "text": text_of(id, version)}) + "\n" for id in ids))

        def safe(done: Sequence[str], version: int = version) -> None:
            print("".join(f"done {id} {version}\n" for id in done), end="", flush=True)

        library.ingest([file], acknowledged=safe)
        gone = chance.sample(ids, 3)
        for id in gone:
            print(f"try {id} 0")
        print(end="", flush=True)
        library.remove(gone)
        print("".join(f"done {id} 0\n" for id in gone), end="", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
