"""A system in a process of its own, as the runner sees it: commands go in, answers come out, one at a time."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.measure import ROOT
from bench.peers.child import Line

_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
}


class SystemFailed(Exception):
    """The process of a system ended before it should; the message is the end of what it printed."""


class Process:
    """`tell` a command and get its answer; killed when it is left early."""

    def __init__(self, python: Path, module: str, options: Mapping[str, Any], log: Path) -> None:
        self.begun = time.perf_counter()
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        threads = {name: str(options["threads"]) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        with log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                [str(python), "-m", "bench.peers.child", module, json.dumps(dict(options))],
                cwd=ROOT,
                env={**os.environ, **_QUIET, **threads},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
            )

    def tell(self, do: str, **more: str) -> Line:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            raise SystemFailed(self._log.read_text(encoding="utf-8", errors="replace")[-1500:])
        told: Line = json.loads(answer)
        return told

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None and kind is not None:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
