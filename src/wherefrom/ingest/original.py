"""The bytes of the file that a document was read from, as long as they are what was read then."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

from wherefrom.errors import IngestError


def digest_of(data: bytes) -> bytes:
    """The hash by which a file is known again."""
    return hashlib.blake2b(data, digest_size=16).digest()


def unchanged(path: Path, digest: bytes, limit_bytes: int) -> bytes:
    """All bytes of the file; refused where it has gone, has grown too long, or is not what it was.

    What was compared is what is returned: the file may change in between, and nobody sees what was not read before.
    """
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise IngestError("it is not an ordinary file any more")
        if facts.st_size > limit_bytes:
            raise IngestError(f"it is longer than {limit_bytes / 1e6:g} MB")
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except FileNotFoundError as error:
        raise IngestError("it is not where it was any more") from error
    except OSError as error:
        raise IngestError(f"it cannot be read: {(error.strerror or str(error)).lower()}") from error
    if digest_of(data) != digest:
        raise IngestError("it has changed since; ingest it again")
    return data
