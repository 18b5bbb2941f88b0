"""Environments of the peers: one each, of the pinned versions in requirements/, so that none meets another or us.

torch comes first and in one exact version: the one that is there as a build for CPUs; any range takes gigabytes for
GPUs. `uv` is used where it is on the PATH, since it takes a minute where pip takes ten; what is installed is the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

from bench.measure import ROOT, folder_bytes

REQUIREMENTS = Path(__file__).parent / "requirements"
TORCH = "torch==2.13.0"
_ABOUT = "installed.json"  # written when an environment is whole


class InstallFailed(Exception):
    """An environment could not be made; the message is the installer's."""


def python_of(environments: Path, name: str) -> Path:
    """The interpreter of an environment; this one where there is no name."""
    return environments / name / "bin" / "python" if name else Path(sys.executable)


def install(environments: Path, name: str, say: Callable[[str], None] = print) -> dict[str, float]:
    """Make an environment unless it is there; how long it took, how large it is."""
    folder = environments / name
    if not (folder / _ABOUT).exists():
        say(f"installing {name}")
        shutil.rmtree(folder, ignore_errors=True)
        begun = time.perf_counter()
        uv = shutil.which("uv")
        venv.create(folder, with_pip=uv is None)
        _install(folder, uv, TORCH)
        _install(folder, uv, "-r", str(REQUIREMENTS / f"{name}.txt"))
        seconds = time.perf_counter() - begun
        about = {"install_s": seconds, "install_mb": folder_bytes(folder) / 1e6}
        (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
    about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    return {key: float(value) for key, value in about.items()}


def _install(folder: Path, uv: str | None, *wanted: str) -> None:
    python = str(folder / "bin" / "python")
    command = (
        [uv, "pip", "install", "--quiet", "--python", python, *_found()]
        if uv
        else [python, "-m", "pip", "install", "-q"]
    )
    done = subprocess.run([*command, *wanted], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallFailed(f"{' '.join(wanted)} cannot be installed:\n{done.stderr[-1500:]}")


def _found() -> list[str]:
    """Where pip is told to look besides the index: uv reads other settings."""
    links = os.environ.get("PIP_FIND_LINKS", "").split()
    return [part for link in links for part in ("--find-links", link)]


def own_size() -> dict[str, float]:
    """What wherefrom takes with what it needs, weights included, as a plain install has it."""
    from importlib import metadata

    needed, found = ["wherefrom"], set[str]()
    total = folder_bytes(ROOT / "src" / "wherefrom")
    while needed:
        name = needed.pop()
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if distribution.metadata["Name"].lower() in found:
            continue
        found.add(distribution.metadata["Name"].lower())
        if name != "wherefrom":
            files = (Path(str(file.locate())) for file in distribution.files or ())
            total += sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")
        wanted = distribution.requires or ()
        needed += [_name_of(requirement) for requirement in wanted if "extra ==" not in requirement]
    return {"install_mb": total / 1e6}


def _name_of(requirement: str) -> str:
    for place, letter in enumerate(requirement):
        if not (letter.isalnum() or letter in "-_."):
            return requirement[:place]
    return requirement
