"""Configuration: settings as they are written, read where it is wanted."""

from __future__ import annotations

from wherefrom.ingest.blocks import listing
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import decoded


def read(data: bytes, name: str) -> Record:
    """A file of settings; its title is its name, for that is what people know it by."""
    return Record(None, name, listing(decoded(data)))
