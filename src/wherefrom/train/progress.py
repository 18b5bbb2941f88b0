"""What the loop says while it trains."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One report; `str()` of it is a line for people."""

    step: int  # steps done
    steps: int  # steps planned
    epoch: float  # passes over the data, such as 1.25
    losses: Mapping[str, float]  # means since the last report: `loss` and its parts; empty before the first step
    gradient_norm: float | None
    learning_rate: float
    metrics: Mapping[str, float]  # of the evaluation at this step; empty when there was none
    best: bool  # whether that evaluation is the best so far
    steps_per_second: float  # since the last report, without evaluations; 0 when no step was made
    examples_per_second: float
    seconds_left: float  # at the pace of this process so far, evaluations included
    finished: bool = False  # the last report: its metrics are those of the weights that were kept

    def __str__(self) -> str:
        parts = [f"step {self.step}/{self.steps}", f"epoch {self.epoch:.2f}"]
        parts += [f"{name} {value:.4g}" for name, value in self.losses.items()]
        parts += [f"{name} {value:.4g}" for name, value in self.metrics.items()]
        if self.best:
            parts.append("(best)")
        if self.finished:
            parts.append("finished")
        elif self.steps_per_second:
            parts.append(f"{self.steps_per_second:.3g} steps/s, {self.examples_per_second:.3g} examples/s")
            parts.append(f"{duration(self.seconds_left)} left")
        return "  ".join(parts)


def duration(seconds: float) -> str:
    """Seconds for people: 45s, 3m05s, 2h10m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def paced(what: str, say: Callable[[str], None], every: float = 10.0) -> Callable[[int, int], None]:
    """A function to call with (done, total): says now and then how many are done, how fast and how long still.

    The first call is the beginning: what was done before it does not count for the pace.
    """
    first: tuple[float, int] | None = None
    last = 0.0

    def report(done: int, total: int) -> None:
        nonlocal first, last
        now = time.monotonic()
        if first is None:
            first, last = (now, done), now
        elif now - last >= every or done == total:
            last = now
            rate = (done - first[1]) / max(now - first[0], 1e-9)
            left = f", {duration((total - done) / rate)} left" if rate and done < total else ""
            say(f"{what}: {done:,} of {total:,}, {rate:.3g}/s{left}")

    return report
