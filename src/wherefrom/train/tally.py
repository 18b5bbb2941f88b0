"""The losses since the last report, read from the device together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherefrom.train.processes import Processes

Share = tuple[str, Tensor, float]  # a name, its value in one microbatch, the microbatch's share of the step


@dataclass(frozen=True, slots=True)
class StepLosses:
    """One step's mean losses over all its microbatches: `loss` and the task's parts of it."""

    step: int
    values: Mapping[str, float]
    gradient_norm: float


@dataclass(slots=True)
class Tally:
    """Losses of the steps since the last report.

    A loss stays on the device until someone needs the number: reading it makes the device wait.
    """

    settled: list[StepLosses] = field(default_factory=list)
    _fresh: list[tuple[int, list[Share], Tensor]] = field(default_factory=list)

    def add(self, step: int, shares: list[Share], gradient_norm: Tensor) -> None:
        """Note this process's part of a step."""
        self._fresh.append((step, shares, gradient_norm.detach()))

    def settle(self, processes: Processes) -> list[StepLosses]:
        """Read the steps not read yet, over all processes; every process gets the same."""
        if not self._fresh:
            return []
        read = torch.stack([value.float() for _, shares, norm in self._fresh for value in (norm, *_values(shares))])
        numbers = iter(read.tolist())
        mine: list[tuple[int, float, list[tuple[str, float, float]]]] = []
        for step, shares, _ in self._fresh:
            norm = next(numbers)
            mine.append((step, norm, [(name, next(numbers), share) for name, _, share in shares]))
        new = []
        for together in zip(*processes.gathered(mine), strict=True):  # one step, as each process saw it
            step, norm, _ = together[0]
            everything = [share for _, _, shares in together for share in shares]
            new.append(StepLosses(step, _weighted(everything), norm))
        self._fresh.clear()
        self.settled.extend(new)
        return new

    def report(self) -> tuple[dict[str, float], float | None]:
        """The mean of each loss and of the finite gradient norms since the last report; forgets them."""
        names = dict.fromkeys(name for losses in self.settled for name in losses.values)
        means = {
            name: _mean([losses.values[name] for losses in self.settled if name in losses.values]) for name in names
        }
        norms = [losses.gradient_norm for losses in self.settled if math.isfinite(losses.gradient_norm)]
        self.settled.clear()
        return means, _mean(norms) if norms else None


def _values(shares: Sequence[Share]) -> list[Tensor]:
    return [value for _, value, _ in shares]


def _weighted(shares: Sequence[tuple[str, float, float]]) -> dict[str, float]:
    """The mean of each named value, weighted by share."""
    names = dict.fromkeys(name for name, _, _ in shares)
    return {
        name: sum(value * share for other, value, share in shares if other == name)
        / sum(share for other, _, share in shares if other == name)
        for name in names
    }


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
