"""The trainings behind the rows of masque and preast: where they lie, and whether they are the right ones.

    WORK/writer.safetensors, common.json, synthetic.safetensors    as `wherefrom train augment` makes them
    WORK/masque.nlg/  settings.json  log.jsonl  provenance.json  model.safetensors  said.jsonl
    WORK/masque.nlg-2/    the same with the seed 2

A run is named for its paper and settings file. It is made if need be; one that has said something is not trained, so
that it can be copied in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from wherefrom.errors import SettingsError
from wherefrom.origin import file_hash
from wherefrom.papers.faults import PaperError, RunRefused, TableFault, meant
from wherefrom.papers.table import Paper, Recipe
from wherefrom.systems.masque.recipe import SAID, Inputs, Training, WriterRecipe, differences, writer_recipe
from wherefrom.systems.masque.run import run as run_stage
from wherefrom.train import pretrained as encoders
from wherefrom.train.loop import MODEL, PROVENANCE
from wherefrom.train.making import read_json
from wherefrom.train.writing.corpus import texts_beside

SYSTEM = "writer"
Fetch = Callable[[str, Path], Path]


@dataclass(frozen=True, slots=True)
class WriterRun:
    """One training, and where it lies."""

    training: Training
    seed: int
    folder: Path

    @property
    def said(self) -> Path:
        return self.folder / SAID

    @property
    def files(self) -> tuple[Path, ...]:
        """What tells how it was trained, and what is scored."""
        return self.folder / PROVENANCE, self.said


@dataclass(frozen=True)
class Files:
    """What trainings and scores are made from."""

    work: Path
    pretrained: Path
    fetch: Fetch = encoders.fetch

    @property
    def material(self) -> Path:
        return self._there(self.work / "writer.safetensors")

    @property
    def texts(self) -> Path:
        return self._there(texts_beside(self.work / "writer.safetensors"))

    @property
    def common(self) -> Path:
        return self._there(self.work / "common.json")

    @property
    def synthetic(self) -> Path:
        return self._there(self.work / "synthetic.safetensors")

    @cached_property
    def minilm(self) -> Path:
        return self.fetch("minilm", self.pretrained)

    @cached_property
    def material_hash(self) -> str:
        return file_hash(self.material)

    @cached_property
    def synthetic_hash(self) -> str:
        return file_hash(self.synthetic)

    def _there(self, path: Path) -> Path:
        if not path.exists():
            raise RunRefused(
                f"{path} is not there; `wherefrom train augment --out {self.work}` makes the writers' material, "
                "vocabulary and synthetic sentences, or name another folder with --work"
            )
        return path


class WriterRuns:
    """The runs of one paper; `device` trains those that are not there, without it they are refused."""

    def __init__(self, paper: Paper, files: Files, device: str | None, say: Callable[[str], None]) -> None:
        self._recipes: Mapping[str, Recipe] = paper.recipes
        self._paper, self._files, self._device, self._say = paper.slug, files, device, say

    def recipe(self, file: str) -> WriterRecipe:
        """What a settings file says under `training.writer`."""
        where = f"{self._paper}/settings/{file}"
        if file not in self._recipes:
            raise TableFault(f"{where}: there is no such file{meant(file, self._recipes)}")
        given = self._recipes[file].training.get(SYSTEM)
        if not isinstance(given, dict):
            raise TableFault(f"{where}: has no [training.{SYSTEM}]")
        try:
            return writer_recipe(given, where)
        except SettingsError as error:
            raise TableFault(str(error)) from error

    def of(self, file: str) -> list[WriterRun]:
        """The runs behind a settings file, made or not: one, or those that vote."""
        recipe = self.recipe(file)
        owner = recipe.run or file
        training = self.recipe(owner).training
        if training is None:
            raise TableFault(f"{self._paper}/settings/{file}: run = {owner!r} has no training of its own")
        base = self._files.work / f"{self._paper}.{Path(owner).stem}"
        first = training.loop.seed
        return [
            WriterRun(training, seed, base if seed == first else base.with_name(f"{base.name}-{seed}"))
            for seed in recipe.seeds or (first,)
        ]

    def made(self, file: str) -> list[WriterRun]:
        """The same, trained and asked where they were not, and sure to be what the settings say."""
        return [self._made(run) for run in self.of(file)]

    def _made(self, run: WriterRun) -> WriterRun:
        if not run.said.exists():
            self._make(run)
        self._agreed(run)
        return run

    def _make(self, run: WriterRun) -> None:
        if self._device is None:
            raise RunRefused(
                f"{run.folder} has not said anything yet; --device cpu or cuda trains it, for "
                f"{run.training.loop.steps:,} steps, or copy a finished run there"
            )
        files = self._files
        synthetic = None if run.training.synthetic == "none" else files.synthetic
        inputs = Inputs(files.material, files.common, files.minilm / MODEL, synthetic, self._device)
        masque = self._masque(run.training)
        run.folder.mkdir(parents=True, exist_ok=True)
        if not (read_json(run.folder / PROVENANCE).get("finished") and (run.folder / MODEL).exists()):
            self._say(f"{run.folder.name}: training on {self._device}")
            run_stage(run.training.fit(run.folder, inputs, run.seed, masque), self._say)
        self._agreed(run)
        self._say(f"{run.folder.name}: answering the questions of validation")
        run_stage(run.training.say(run.folder, inputs, masque), self._say)

    def _masque(self, training: Training) -> Path | None:
        """The folder of the run that style transfer starts from."""
        if not training.masque:
            return None
        folder = self.made(training.masque)[0].folder
        if not (folder / MODEL).exists():
            raise RunRefused(f"{folder / MODEL} is not there; style transfer starts from it")
        return folder

    def _agreed(self, run: WriterRun) -> None:
        """A run that was copied in, or made of settings that have changed since, is not taken for another."""
        path = run.folder / PROVENANCE
        found = read_json(path)
        if not found:
            raise PaperError(f"{path} is not there or cannot be read: nothing says what was trained in that folder")
        if not found.get("finished"):
            raise PaperError(f"{path}: the training had not finished; remove {SAID}, then --device goes on with it")
        unlike = differences(run.training, run.seed, found)
        made_of = found.get("task", {}).get("data", {})
        if self._files.material_hash not in made_of.values():
            unlike.append(f"it learned from another material than {self._files.material}")
        if "synthetic" in made_of and made_of["synthetic"] != self._files.synthetic_hash:
            unlike.append(f"it learned from other sentences than {self._files.synthetic}")
        if unlike:
            raise PaperError(f"{run.folder} is not a run of these settings: {'; '.join(unlike)}. Move it away")
