"""Random numbers that depend on where training stands, not on how it got there.

The loop seeds every generator anew before each microbatch, with a hash of (seed, epoch, position). So there is no
generator state to carry: training that was killed, or that is dealt over another number of processes, draws the
same dropout for the same microbatch.
"""

from __future__ import annotations

import hashlib
import random

import torch


def seed_of(*place: int | str) -> int:
    """A seed for this place in the training, unlike its neighbours' seeds."""
    digest = hashlib.blake2b("/".join(map(str, place)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1  # 63 bits: torch takes no more


def seed_everything(*place: int | str) -> None:
    """Set python's and torch's generators (CPU and every GPU) to the seed of this place."""
    seed = seed_of(*place)
    random.seed(seed)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed is slow where there is no GPU
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
