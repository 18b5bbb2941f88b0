"""What the loop asks of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from torch import Tensor, nn

Network = TypeVar("Network", bound=nn.Module)
Batch = TypeVar("Batch")
Batch_co = TypeVar("Batch_co", covariant=True)


class Batches(Protocol[Batch_co]):
    """Microbatches by position: a list, or `batching.LazyBatches`. Positions are how training starts again midway."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int, /) -> Batch_co: ...


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What it takes to repeat a training, beside the loop's own settings; all of it JSON. A resumed one must agree."""

    name: str
    data: Mapping[str, str] = field(default_factory=dict)  # name of each data file to its hash (`origin.file_hash`)
    settings: Mapping[str, object] = field(default_factory=dict)  # the task's own


class Task(Protocol[Network, Batch]):
    """Examples in, loss and metrics out. The loop owns devices, precision, order of calls and random numbers.

    Randomness inside `model`, `loss` and `evaluate` comes from `torch` or `random`, which the loop has seeded.
    """

    def facts(self) -> TaskFacts:
        """What the task is and which data it saw."""
        ...

    def model(self) -> Network:
        """A fresh network, on the CPU."""
        ...

    def batches(self, epoch: int, seed: int) -> Batches[Batch]:
        """The microbatches of one epoch, the same for the same (epoch, seed)."""
        ...

    def size(self, batch: Batch) -> int:
        """How many things the loss of this microbatch is a mean over, at least 1: its weight in a step."""
        ...

    def loss(self, model: Network, batch: Batch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        """The mean loss of one microbatch (on the model's device), and parts of it worth logging."""
        ...

    def evaluate(self, model: Network) -> Mapping[str, float]:
        """The metrics on held-out data; the model is in eval mode, without gradients."""
        ...


@runtime_checkable
class Adapting(Protocol):
    """A task whose microbatches also depend on how well it has learnt, such as on what the network still gets wrong.

    The loop asks when an epoch has ended and was evaluated, hands back what it was given, and keeps that in its
    checkpoints: a resumed training goes on with the same microbatches.
    """

    def adapt(self, model: nn.Module, stale: int) -> Mapping[str, Tensor]:
        """What the next epoch goes by. `model` has the best weights so far, in eval mode and without gradients; `stale`
        counts the evaluations since those.
        """
        ...

    def adapted(self, state: Mapping[str, Tensor]) -> None:
        """From now on `batches` goes by this; it is empty before the first evaluation."""
        ...
