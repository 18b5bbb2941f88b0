"""A whole reader made of tiny inputs: what is said while it is made, and Ctrl-C at a certain word."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from train.tiny_inputs import SETTINGS, present
from wherefrom.config import updated
from wherefrom.systems.reader import system
from wherefrom.systems.reader.about import Inputs
from wherefrom.systems.reader.settings import ReaderSettings
from wherefrom.train.stages import read_json, run

TINY: ReaderSettings = updated(system.DEFAULTS, tomllib.loads(SETTINGS))


class Listening(list[str]):
    """Hears what is said; presses Ctrl-C when it hears a certain word."""

    def __init__(self, word: str = "never said") -> None:
        super().__init__()
        self._word = word

    def __call__(self, line: str) -> None:
        self.append(line)
        if self._word in line:
            raise KeyboardInterrupt


@dataclass(frozen=True, slots=True)
class TinyReader:
    """A reader in a folder."""

    inputs: Inputs
    out: Path
    settings: ReaderSettings = TINY
    said: tuple[str, ...] = ()  # when it was finished

    def make(self, *chosen: str, say: Listening | None = None) -> Listening:
        """Run the chosen stages, or all of them; gives what was said."""
        say = Listening() if say is None else say
        run("reader", system.stages(self.settings, self.inputs, self.out, say, present), self.out, chosen or None, say)
        return say

    def copied(self, out: Path, *without: str, **inputs: Path | None) -> TinyReader:
        """The same in another folder, without some of its parts and what is noted of them, with other inputs."""
        shutil.copytree(self.out, out, ignore=shutil.ignore_patterns(*without, *(f"{name}.json" for name in without)))
        return replace(self, out=out, inputs=replace(self.inputs, **inputs))

    def provenance(self, folder: str = "weights") -> dict[str, Any]:
        return read_json(self.out / folder / "provenance.json")

    @property
    def material(self) -> Path:
        return self.out / "reader.safetensors"

    @property
    def teacher(self) -> Path:
        return self.out / "teacher" / "model.safetensors"

    @property
    def student(self) -> Path:
        return self.out / "student" / "model.safetensors"
