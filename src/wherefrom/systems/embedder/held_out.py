"""Which questions an embedder is measured on and never learns from."""

from __future__ import annotations

import zlib


def is_held_out(id: str) -> bool:
    """Half of NQ-oracle's, by their ids."""
    return zlib.crc32(id.encode()) % 2 == 0
