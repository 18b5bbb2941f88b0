"""A reader who may not write: as another user, asks a library, lists, shows and checks it, and says what it sees.

Run as: reader_child.py LIBRARY WARM KIND; WARM is a library of its own, asked before: the user may not see where Python
lies, so everything has to be loaded by then.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from wherefrom import Library
from wherefrom.config import resolve

NOBODY = 65534


def seen(path: str, kind: str) -> dict[str, Any]:
    with Library(
        path, resolve(overrides=[f"retrieve.kind={kind}", "retrieve.match=none", "rank.kind=none"])
    ) as library:
        hits = library.search("roses").hits
        report = library.check()
        return {
            "ids": [facts.id for facts in library.documents()],
            "found": [hit.passage.document_id for hit in hits],
            "text": library.document("garden.txt").text,
            "passage": library.passage("garden.txt#0").text,
            "problems": [problem.what for problem in report.problems],
        }


def main(path: str, warm: str, kind: str) -> None:
    seen(warm, kind)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    print(msgspec.json.encode(seen(path, kind)).decode(), flush=True)
    if sys.stdin.readline():  # something has been written meanwhile, with a library that stays open
        print(msgspec.json.encode(seen(path, kind)).decode(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
