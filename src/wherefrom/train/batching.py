"""Examples of similar length together, in an order that repeats."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar, cast

import torch
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.train.seeds import seed_of
from wherefrom.train.task import Batch

Anything = TypeVar("Anything")


def bucketed(
    lengths: Sequence[int],
    *,
    epoch: int,
    seed: int,
    size: int = 0,
    tokens: int = 0,
    window: int = 50,
    pieces: Sequence[int] | None = None,
) -> list[list[int]]:
    """Positions of examples cut into microbatches: `size` examples each, or at most `tokens` with padding.

    An example may bring several sequences, `pieces` of them, the longest as long as `lengths` says; all sequences of a
    microbatch are padded to its longest.

    Shuffles the examples, sorts them by length inside windows of about `window` microbatches, cuts, and shuffles the
    microbatches: little padding, yet any example may meet nearly any other. An example longer than `tokens` is a
    microbatch of its own. The same arguments give the same answer.
    """
    if (size > 0) == (tokens > 0):
        raise SettingsError(f"microbatches need either a size or a token budget, not size={size} and tokens={tokens}")
    if window < 1:
        raise SettingsError(f"window must be above 0, not {window}")
    if not lengths:
        return []
    generator = random.Random(seed_of("bucketed", seed, epoch))
    order = list(range(len(lengths)))
    generator.shuffle(order)
    brought = pieces or [1] * len(lengths)
    whole = sum(length * count for length, count in zip(lengths, brought, strict=True))
    span = window * (size or max(1, tokens * len(lengths) // max(1, whole)))
    batches: list[list[int]] = []
    for start in range(0, len(order), span):
        window_order = sorted(order[start : start + span], key=lambda position: lengths[position], reverse=True)
        batches.extend(_cut(window_order, lengths, brought, size, tokens))
    generator.shuffle(batches)
    return batches


def _cut(
    order: Sequence[int], lengths: Sequence[int], pieces: Sequence[int], size: int, tokens: int
) -> Iterator[list[int]]:
    """Cut positions, longest first, where the next one would not fit."""
    batch: list[int] = []
    sequences = 0
    for position in order:
        longest = lengths[batch[0] if batch else position]
        full = len(batch) >= size if size else (sequences + pieces[position]) * longest > tokens
        if batch and full:
            yield batch
            batch, sequences = [], 0
        batch.append(position)
        sequences += pieces[position]
    if batch:
        yield batch


def dealt(start: int, stop: int, rank: int, processes: int) -> range:
    """The positions of [start, stop) that process `rank` takes, as cards are dealt; perhaps none."""
    return range(start + rank, stop, processes)


@dataclass(frozen=True, slots=True)
class LazyBatches(Generic[Batch]):
    """Microbatches that are put together when asked for."""

    plan: Sequence[Sequence[int]]  # as `bucketed` gives it
    make: Callable[[Sequence[int]], Batch]

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, position: int, /) -> Batch:
        return self.make(self.plan[position])

    def __iter__(self) -> Iterator[Batch]:
        return map(self.make, self.plan)


def moved(batch: Anything, device: torch.device) -> Anything:
    """The microbatch with its tensors on `device`, through lists, tuples, mappings and dataclasses."""
    return cast(Anything, _moved(batch, device))


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {key: _moved(item, device) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a named tuple
        return type(value)(*(_moved(item, device) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(_moved(item, device) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{part.name: _moved(getattr(value, part.name), device) for part in fields(value)})
    return value
