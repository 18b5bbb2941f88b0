"""Trains Masque, PREAST-QA or its style transfer, and says what they are worth.

OUT/training/       the training
OUT/answers.jsonl   what it writes and judges in validation
OUT/scores.json     scores of that, on texts

For the rows of papers there are many of these, each in a folder of its own: OUT/<settings file>-<fingerprint>/.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch

from wherefrom.evaluate.validation_answers import ValidationAnswer, write_answers
from wherefrom.origin import file_hash
from wherefrom.systems.contract import Scores, Wanted
from wherefrom.systems.masque.about import Inputs
from wherefrom.systems.masque.settings import MasqueTraining
from wherefrom.systems.masque.task import MasqueTask, StyleTransferTask
from wherefrom.train import pretrained
from wherefrom.train.encoders import STUDENT, Encoders, Fetch
from wherefrom.train.errors import TrainingError
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, needed, training, write_json
from wherefrom.train.task import Task
from wherefrom.train.writing.material import load, with_synthetic
from wherefrom.train.writing.synthesis import save_sentences

DEFAULTS = MasqueTraining()
ANSWERS = "answers.jsonl"
# Without gradients a microbatch may be larger.
_ANSWERING_QUESTIONS, _ANSWERING_TOKENS = 220, 131_072


class _Answers(Task[Any, Any], Protocol):
    def validation_answers(self, model: Any) -> Iterator[ValidationAnswer]: ...


def stages(
    settings: MasqueTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """One training and what follows from it; `fetch` gets the pretrained encoder."""
    return _Making(settings, inputs, out, say, fetch).stages()


def measure(
    settings: MasqueTraining, inputs: Inputs, wanted: Wanted, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> Scores:
    """What a row of a paper reports, of trainings that are found below `out` or, if that is allowed, made there."""
    from wherefrom.systems.masque.measure import Measurement

    return Measurement(settings, inputs, wanted, out, say, fetch).scores()


class Given:
    """What trainings read: the files of `wherefrom train writer`, and the pretrained encoder."""

    def __init__(self, inputs: Inputs, out: Path, fetch: Fetch) -> None:
        self.folder = (inputs.writer_material or out.parent / "writer").resolve()
        self.material = self.folder / "material" / "writer.safetensors"
        self.common = self.folder / "common.json"
        self.synthetic = self.folder / "synthetic.safetensors"
        self._encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)

    @property
    def encoder(self) -> Path:
        """MiniLM plays ELMo's part and gives the word vectors; its wordpieces are what is written."""
        return self._encoders.of(STUDENT)


class _Making:
    """One training under way: a method a stage."""

    def __init__(self, settings: MasqueTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch) -> None:
        self._settings, self._inputs, self._out, self._say = settings, inputs, out, say
        self._given = Given(inputs, out, fetch)
        self._training, self._answers = out / "training", out / ANSWERS

    def stages(self) -> list[Stage]:
        return [self._train(), self._answer(), self._measure(), self._augment()]

    def _train(self) -> Stage:
        def made_of() -> Facts:
            files = {"common": self._given.common, "start": self._inputs.start}
            hashes = {name: file_hash(file) for name, file in files.items() if file is not None and file.exists()}
            return {**self._made_of(), "encoder": pretrained.INPUTS[STUDENT].sha256[MODEL], **hashes}

        loop, device = self._settings.loop, self._inputs.device
        return training("training", self._training, self._task, loop, made_of, device, self._say)

    def _answer(self) -> Stage:
        """What validation asks for. Made of the settings, not of the weights, so that these may be left behind."""

        def make(path: Path) -> Facts:
            torch.set_float32_matmul_precision("high")
            torch.backends.cuda.enable_cudnn_sdp(False)  # as in training
            needed(self._training / MODEL, "training")
            task, device = self._task(answering=True), torch.device(self._inputs.device)
            model = trained(task, self._training, device)
            transfer = self._settings.network == "transfer"
            half = device.type != "cpu" and not transfer
            with torch.autocast(device.type, torch.bfloat16) if half else nullcontext():
                return write_answers(path, task.validation_answers(model))

        return Stage("answers", self._answers, self._made_of, make)

    def _measure(self) -> Stage:
        """The answers scored on texts; with another training's beside them, their differences with 95 % intervals."""
        against = self._inputs.against

        def made_of() -> Facts:
            files = {"answers": needed(self._answers, "answers"), "material": self._given.material}
            if against is not None:
                files["against"] = needed(against / ANSWERS, "answers")
            return {name: file_hash(file) for name, file in files.items()}

        def make(path: Path) -> None:
            from wherefrom.systems.masque.measure import report

            write_json(path, report(self._answers, against / ANSWERS if against else None, self._given, self._say))

        return Stage("measure", self._out / "scores.json", made_of, make)

    def _augment(self) -> Stage:
        """Synthetic sentences of style transfer's own."""

        def made_of() -> Facts:
            return {"training": file_hash(needed(self._training / MODEL, "training"))}

        def make(path: Path) -> Facts:
            task = self._task(answering=True)
            if not isinstance(task, StyleTransferTask):
                raise TrainingError("only style transfer writes synthetic sentences: --set network=transfer")
            model = trained(task, self._training, self._inputs.device)
            return save_sentences(path, task, model, task.network.words, paced("augment", self._say))

        return Stage("augment", self._out / "synthetic.safetensors", made_of, make, extra=True)

    # Inside.

    def _made_of(self) -> Facts:
        files = {"material": self._given.material}
        if self._settings.synthetic != "none":
            files["sentences"] = self._given.synthetic
        hashes = {name: file_hash(self._there(file)) for name, file in files.items()}
        return {**self._settings.described(), **hashes}

    def _there(self, file: Path) -> Path:
        if not file.exists():
            raise TrainingError(
                f"{file} is not there; `wherefrom train writer --until augment` makes it: name its OUT with "
                "--writer-material"
            )
        return file

    def _task(self, answering: bool = False) -> _Answers:
        settings, given = self._settings, self._given
        material = load(self._there(given.material))
        start = given.encoder / MODEL
        if settings.network == "transfer":
            transfer = settings.transfer_task
            if answering:
                transfer = replace(transfer, batch=replace(transfer.batch, tokens=_ANSWERING_TOKENS))
            return StyleTransferTask(material, settings.transfer, transfer, self._inputs.start, start)
        data = {}
        if settings.synthetic != "none":
            data["synthetic"] = self._there(given.synthetic)
            material = with_synthetic(material, given.synthetic, descriptive=settings.synthetic == "all")
        task, network = settings.task, settings.passage_network
        if answering:
            task = replace(task, batch=replace(task.batch, size=_ANSWERING_QUESTIONS, tokens=0, quota=()))
        common = json.loads(self._there(given.common).read_text(encoding="utf-8")) if network.vocabulary else ()
        return MasqueTask(material, network, task, common, start, data)
