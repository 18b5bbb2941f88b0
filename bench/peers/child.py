"""One system in a process of its own, asked line by line: python -m bench.peers.child MODULE OPTIONS-JSON.

Needs the standard library alone: it runs in the environments of the peers. A line of standard input is a command, a
line of what was standard output its answer, both JSON; whatever a system prints goes to standard error.

    {"do": "ingest", "file": "passages.jsonl"}     a new library of these passages -> {"passages", "seconds", "cpu"}
    {"do": "ask", "question": "..."}               -> {"text", "score", "key", "start", "end", "quote", "shown", ...}
    {"do": "end"}                                  -> {"high_water_bytes"}

A line of the passages is {"key", "title", "text"}. Systems that know no titles are given both in one text (`whole`),
and all offsets are of that.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

Line = dict[str, Any]


class System(Protocol):
    """What a module of `bench.peers.systems` makes with `system(options)`; it loads nothing before it is needed."""

    def ingest(self, passages: Sequence[Line]) -> None:
        """Begin a new library."""

    def ask(self, question: str) -> Line:
        """`text`: None where it declines; `score`: higher is surer, None where there is none.

        `quote` stands at `start` to `end` of the passage `key`, where the system points to a place; `shown` are the
        keys of the passages that it gives as its sources.
        """


def whole(passage: Line) -> str:
    """A passage with its title above it."""
    return f"{passage['title']}\n{passage['text']}" if passage["title"] else str(passage["text"])


def serve(system: System, commands: TextIO, answers: TextIO) -> None:
    """Answer commands until the end."""
    for line in commands:
        command = json.loads(line)
        begun, cpu = time.perf_counter(), time.process_time()
        if command["do"] == "ingest":
            with Path(command["file"]).open(encoding="utf-8") as file:
                passages = [json.loads(each) for each in file]
            begun, cpu = time.perf_counter(), time.process_time()
            system.ingest(passages)
            result: Line = {"passages": len(passages)}
        elif command["do"] == "ask":
            result = system.ask(command["question"])
        else:
            result = {"high_water_bytes": high_water()}
        spent = {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu}
        answers.write(json.dumps({**result, **spent}) + "\n")
        answers.flush()
        if command["do"] == "end":
            return


def high_water() -> int:
    """The most memory this process has had resident, as Linux counts it; 0 elsewhere."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a system prints is no answer
    module = importlib.import_module(sys.argv[1])
    serve(module.system(json.loads(sys.argv[2])), sys.stdin, answers)


if __name__ == "__main__":
    main()
