"""Where trained weights came from: settings, data, code and machine."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherefrom.durable import write_text

if TYPE_CHECKING:
    import torch

PROVENANCE = "provenance.json"  # beside weights, and in the folder of a training


@dataclass(frozen=True, slots=True)
class Provenance:
    """What `provenance.json` holds."""

    task: Mapping[str, Any]  # the task's facts: name, hashes of its data, its own settings
    settings: Mapping[str, Any]  # the loop's
    seed: int
    parameters: int
    trained_parameters: int
    commit: str | None  # of wherefrom's own checkout; None when it was not run from one
    uncommitted_changes: bool | None
    versions: Mapping[str, str | None]
    device: str
    processes: int
    finished: bool
    steps: int
    epochs: float
    examples: int
    duration_seconds: float
    kept_step: int | None  # the step whose weights were kept
    metrics: Mapping[str, float]  # of the kept weights


def write_provenance(path: Path, provenance: Provenance) -> None:
    """Write `provenance.json`."""
    write_text(path, json.dumps(asdict(provenance), indent=2, ensure_ascii=False) + "\n")


def versions() -> dict[str, str | None]:
    """Of what the numbers depend on."""
    loaded = sys.modules.get("torch")
    try:
        torch_version: str | None = str(loaded.__version__) if loaded else version("torch")
    except PackageNotFoundError:
        torch_version = None
    cuda: str | None = loaded.version.cuda if loaded else None
    return {"python": platform.python_version(), "torch": torch_version, "cuda": cuda}


def device_name(device: torch.device) -> str:
    """The GPU's or the processor's name."""
    if device.type == "cuda":
        import torch

        return torch.cuda.get_device_name(device)
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
