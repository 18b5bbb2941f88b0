"""Where a number comes from: the commit of the code, and the hash of a file."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parent


def commit_of(folder: Path = PACKAGE) -> tuple[str | None, bool]:
    """The commit that a folder's files belong to, and whether they differ from it; None outside a checkout.

    A package installed below some other project's checkout is not tracked there, so it has no commit.
    """
    if not _git(folder, "ls-files", "--", "."):
        return None, False
    commit = _git(folder, "rev-parse", "HEAD")
    return (commit, bool(_git(folder, "status", "--porcelain", "--", "."))) if commit else (None, False)


def file_hash(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says, or None where there is no git or no checkout."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
