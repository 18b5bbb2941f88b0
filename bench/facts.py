"""What a number depends on: the code, the versions and the machine."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil

from bench.measure import ROOT


@dataclass(frozen=True, slots=True)
class Facts:
    """Nothing here names the machine or a path on it."""

    commit: str
    uncommitted_changes: bool
    versions: dict[str, str]
    cpu: str
    cores: int
    memory_bytes: int
    python: str
    system: str
    load_before: float  # processes that wanted the CPU before the run began: above 0 means other work beside it


def collect(packages: Sequence[str] = ("wherefrom", "tantivy", "bm25s", "PyStemmer", "numpy")) -> Facts:
    return Facts(
        commit=git("rev-parse", "HEAD") or "unknown",
        uncommitted_changes=bool(git("status", "--porcelain", "--", "src", "bench")),
        versions={name: metadata.version(name) for name in packages} | {"SQLite": sqlite3.sqlite_version},
        cpu=cpu(),
        cores=os.cpu_count() or 0,
        memory_bytes=psutil.virtual_memory().total,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()}",
        load_before=os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
    )


def git(*arguments: str) -> str:
    """What git says about the repository; nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cpu() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
