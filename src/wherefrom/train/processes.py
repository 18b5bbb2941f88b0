"""The processes that train together, one a GPU, as `torchrun` starts them; or the only one.

The gradients are summed here rather than by `DistributedDataParallel`: a task may call any method of its network, a
step may leave heads without gradients or processes without a microbatch, and each microbatch weighs what it holds.
The networks are small, so hiding the exchange behind the backward pass would gain little.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from wherefrom.errors import SettingsError

# The others wait this long while the first process evaluates.
_PATIENCE = datetime.timedelta(hours=3)

Anything = TypeVar("Anything")


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among those that train together."""

    rank: int
    count: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes, evaluates and reports."""
        return self.rank == 0

    def total(self, number: int) -> int:
        """The sum of everyone's number."""
        if self.count == 1:
            return number
        counted = torch.tensor(number, dtype=torch.int64)
        dist.all_reduce(counted)
        return int(counted.item())

    def gathered(self, thing: Anything) -> list[Anything]:
        """Everyone's thing, by rank."""
        if self.count == 1:
            return [thing]
        things: list[Anything | None] = [None] * self.count
        dist.all_gather_object(things, thing)
        return things  # type: ignore[return-value]  # all filled now

    def from_first(self, thing: Anything) -> Anything:
        """The first process's thing; what the others pass does not matter."""
        if self.count == 1:
            return thing
        box = [thing]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def follow_first(self, tensors: Sequence[Tensor]) -> None:
        """Overwrite everyone's tensors by the first process's."""
        if self.count > 1:
            for tensor in tensors:
                dist.broadcast(tensor, src=0)

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replace each gradient by the sum of everyone's; one that nobody has stays absent, as AdamW then skips it."""
        if self.count == 1:
            return
        present = torch.tensor([parameter.grad is not None for parameter in parameters], dtype=torch.int32)
        dist.all_reduce(present, op=dist.ReduceOp.MAX)
        shared = [parameter for parameter, anywhere in zip(parameters, present.tolist(), strict=True) if anywhere]
        if not shared:
            return
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in shared]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        pieces = torch.split(flat, [gradient.numel() for gradient in gradients])
        for parameter, gradient, piece in zip(shared, gradients, pieces, strict=True):
            parameter.grad = piece.view_as(gradient).to(gradient.dtype)


@contextmanager
def joined(device: str | torch.device) -> Iterator[Processes]:
    """Join the processes that `torchrun` started, if it did; leave them at the end."""
    wanted = torch.device(device)
    if wanted.type == "cuda" and not torch.cuda.is_available():
        raise SettingsError("the device is cuda, but torch sees no GPU here; use cpu, or install a CUDA build of torch")
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes(0, 1, wanted)
        return
    rank = int(os.environ["RANK"])
    if wanted.type == "cuda":
        wanted = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(wanted)
    ours = not dist.is_initialized()
    if ours:  # small things go over the CPU, so that they never make a GPU wait
        backend = "cpu:gloo,cuda:nccl" if wanted.type == "cuda" else "gloo"
        dist.init_process_group(backend, timeout=_PATIENCE)
    try:
        yield Processes(rank, count, wanted)
    finally:
        if ours:
            dist.destroy_process_group()
