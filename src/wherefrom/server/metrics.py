"""What the server counts, for Prometheus; over all worker processes where there are several."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from wherefrom.types import Trace

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SHARED = "PROMETHEUS_MULTIPROC_DIR"  # where workers keep their counts; set before they start


class Metrics:
    """The server's own registry: two apps in one process do not mix."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._stages = Histogram(
            "wherefrom_stage_seconds", "A question's share of each stage.", ["stage"], registry=own, buckets=_SECONDS
        )
        self._questions = Counter(
            "wherefrom_questions_total",
            "Questions by outcome: answered, declined, searched, failed, too slow, cancelled.",
            ["outcome"],
            registry=own,
        )
        self._whole = Histogram("wherefrom_question_seconds", "From asked to told.", registry=own, buckets=_SECONDS)
        self._batches = Histogram(
            "wherefrom_batch_questions", "Questions read together.", registry=own, buckets=(1, 2, 4, 8, 16, 32, 64)
        )
        self._requests = Counter("wherefrom_requests_total", "Requests by status.", ["method", "status"], registry=own)
        self._under_way = Gauge(
            "wherefrom_questions_under_way", "The queue.", registry=own, multiprocess_mode="livesum"
        )
        self._jobs = Gauge(
            "wherefrom_jobs_waiting", "Uploads and removals not done.", registry=own, multiprocess_mode="livemax"
        )
        self._memory = Gauge(
            "wherefrom_resident_bytes", "Memory of a worker.", registry=own, multiprocess_mode="liveall"
        )

    def finished(self, trace: Trace) -> None:
        for stage, seconds in trace.timings.items():
            self._stages.labels(stage).observe(seconds)

    def question_ended(self, outcome: str, seconds: float) -> None:
        self._questions.labels(outcome).inc()
        self._whole.observe(seconds)

    def batched(self, questions: int) -> None:
        self._batches.observe(questions)

    def requested(self, method: str, status: int) -> None:
        self._requests.labels(method, str(status)).inc()

    def look(self, under_way: int) -> None:
        """Take down what only this process can see; every worker does so from time to time."""
        self._under_way.set(under_way)
        self._memory.set(resident_bytes())

    def text(self, under_way: int, jobs: int) -> bytes:
        """All of it, in Prometheus's own format."""
        self.look(under_way)
        self._jobs.set(jobs)
        folder = os.environ.get(_SHARED)
        if not folder:
            return generate_latest(self._registry)
        _forget_dead(Path(folder))
        together = CollectorRegistry()
        multiprocess.MultiProcessCollector(together, path=folder)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def resident_bytes() -> int:
    """Memory of this process: now where Linux tells, the most so far elsewhere."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def _forget_dead(folder: Path) -> None:
    """A worker that was killed cannot take its gauges with it."""
    for file in folder.glob("gauge_live*.db"):
        process = file.stem.rpartition("_")[2]
        if process.isdigit() and not _lives(int(process)):
            multiprocess.mark_process_dead(int(process), str(folder))  # type: ignore[no-untyped-call]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
