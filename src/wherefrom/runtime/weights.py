"""Shipped weights: one folder a model, with settings and provenance.

A file is used only if it is, byte for byte, what its folder's provenance.json says was made: a network with one wrong
number answers wrongly and nobody sees why. SHA-256 of all that a question needs takes some tens of milliseconds, once a
process.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import tomllib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherefrom.errors import WherefromError
from wherefrom.lab import REMEDY, lab_folder, lab_places
from wherefrom.origin import file_hash
from wherefrom.wordpieces import Wordpieces

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

CPU_LISTING = Path("/proc/cpuinfo")  # on Linux
SHIPPED = Path(__file__).parents[1] / "weights"
PROVENANCE = "provenance.json"
OF_THE_READER = "../reader/tokenizer.json"  # the tokenizer that most of our networks share


class WeightsError(WherefromError):
    """Weights are missing, changed or cannot be read; the message names the file and the remedy."""

    exit_code = 3


class Weights:
    """A model's folder: its graphs, tables, tokenizer.json, settings.toml, provenance.json; read when needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def named(cls, name: str) -> Weights:
        """Weights that come with wherefrom or wherefrom-lab, or a folder of one's own if the name is a path."""
        if os.sep in name:
            return cls(Path(name))
        return cls(next(iter(lab_places(f"weights/{name}")), SHIPPED / name))

    @cached_property
    def settings(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.file("settings.toml").read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise self._broken("settings.toml", error) from error

    def json(self, name: str) -> Any:
        """A file of numbers beside the model."""
        try:
            return json.loads(self.file(name).read_text(encoding="utf-8"))
        except ValueError as error:
            raise self._broken(name, error) from error

    def array(self, name: str) -> NDArray[Any]:
        """A table of numbers beside the model; read from the disk where it is looked up."""
        file = self.file(name)
        import numpy

        try:
            table: NDArray[Any] = numpy.load(file, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise self._broken(name, error) from error
        return table

    @cached_property
    def tokenizer(self) -> Wordpieces:
        name = str(self.settings.get("tokenizer", "tokenizer.json"))  # one of another model's may do for this one
        # Weights of one's own, and those of wherefrom-lab, have no reader beside them.
        elsewhere = name == OF_THE_READER and not (self.folder / name).exists()
        file = Weights(SHIPPED / "reader").file(Path(name).name) if elsewhere else self.file(name)
        try:
            facts = file.stat()
            return _wordpieces(file.resolve(), facts.st_size, facts.st_mtime_ns)
        except (OSError, ValueError) as error:
            raise self._broken(name, error) from error

    def session(self, threads: int, name: str = "model.onnx") -> InferenceSession:
        """An ONNX session. Its threads sleep while they wait: spinning ones stall everything else under load."""
        file = self.file(name)
        from wherefrom.runtime.onnx import onnxruntime, share_arena

        library = onnxruntime()
        share_arena()
        options = library.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_mem_pattern = False  # plans of memory, kept for each shape of input: ours have hundreds
        options.add_session_config_entry("session.use_env_allocators", "1")
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.x64quantprecision", "0" if sums_eight_bits_exactly() else "1")
        try:
            return library.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own errors share no base class
            raise self._broken(name, error) from error

    def file(self, name: str) -> Path:
        """A file of the folder, whose bytes are those that were made."""
        path = self.folder / name
        if not path.exists():
            if self.folder.parent == SHIPPED and not self.folder.exists():
                raise WeightsError(
                    f"the weights '{self.folder.name}' are missing; those that the default settings do without are in "
                    f"the package wherefrom-lab: {REMEDY}"
                )
            raise WeightsError(f"{path} is missing; install wherefrom again, or train the model with `wherefrom train`")
        check_bytes(path)
        return path

    def _broken(self, name: str, error: Exception) -> WeightsError:
        return WeightsError(f"{self.folder / name} cannot be read ({error}); install wherefrom again")


def check_bytes(path: Path) -> None:
    """Raise WeightsError unless the file is the one that the provenance beside it names.

    A folder of one's own may have files that its provenance does not name, or none at all; one that we ship may not.
    """
    folder = path.resolve().parent
    ours = folder.parent in _shipping()
    remedy = "install wherefrom again" if ours else "copy it anew from where it was made, or train it again"
    try:
        noted = json.loads((folder / PROVENANCE).read_bytes()).get("files", {})
    except FileNotFoundError:
        noted = {}
    except (OSError, ValueError, AttributeError) as error:
        raise WeightsError(f"{folder / PROVENANCE} cannot be read ({error}); {remedy}") from error
    if path.name not in noted:
        if ours:
            raise WeightsError(
                f"{path} is not named in {folder / PROVENANCE}, so that nothing vouches for it; {remedy}"
            )
        return
    try:
        facts = path.stat()
        digest = _hash(path, facts.st_size, facts.st_mtime_ns)
    except OSError as error:
        raise WeightsError(f"{path} cannot be read ({error}); {remedy}") from error
    if digest != noted[path.name]:
        raise WeightsError(f"{path} is not the file that was made: its SHA-256 differs from {PROVENANCE}'s; {remedy}")


def _shipping() -> set[Path]:
    """The folders that the weights of our two packages lie in."""
    lab = lab_folder()
    return {SHIPPED.resolve()} if lab is None else {SHIPPED.resolve(), (lab / "weights").resolve()}


@functools.lru_cache(maxsize=256)
def _hash(path: Path, _size: int, _changed: int) -> str:
    """The file's hash, worked out once a process as long as the file stays as it is."""
    return file_hash(path)


@functools.lru_cache(maxsize=8)
def _wordpieces(path: Path, _size: int, _changed: int) -> Wordpieces:
    """One a process for all that read the file: its vocabulary, and what it remembers, are some megabytes."""
    return Wordpieces.read(path)


def sums_eight_bits_exactly(listing: Path = CPU_LISTING) -> bool:
    """Whether the processor adds up 8-bit products in 32 bits: not x86, or an x86 that is known to have VNNI.

    Others add in 16 bits, which overflow; onnxruntime must be told to take a slower way there. Both ways give the same
    numbers, so that not knowing costs time only.
    """
    if platform.machine().lower() not in ("x86_64", "amd64", "x86", "i386", "i686"):
        return True
    try:
        flags = set(listing.read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return False
    return bool(flags & {"avx512_vnni", "avx_vnni"})
