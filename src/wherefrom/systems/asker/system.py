"""Makes more questions for readers: a network learns to ask, asks about passages, and a reader's teacher answers.

OUT/asker/               the training
OUT/asked.safetensors    the reader's material with the questions that were kept, for `train reader --asked`
OUT/asked-squad.json     those about SQuAD's own paragraphs, in SQuAD's format, for `train drqa --asked-squad`
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from wherefrom.origin import file_hash
from wherefrom.systems.asker.about import Inputs
from wherefrom.systems.asker.asking import write_asked
from wherefrom.systems.asker.settings import AskerSettings
from wherefrom.systems.asker.task import AskerTask
from wherefrom.train import pretrained
from wherefrom.train.encoders import STUDENT, Encoders, Fetch
from wherefrom.train.given import named
from wherefrom.train.loop import MODEL
from wherefrom.train.stages import Facts, Say, Stage, needed, training
from wherefrom.train.ten_passages import NOTE

DEFAULTS = AskerSettings()


def stages(
    settings: AskerSettings, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """From a reader's material, teacher and student to more questions; `fetch` gets the pretrained encoders."""
    encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)
    folder, asked_file = out / "asker", out / "asked.safetensors"
    ten_passages = (inputs.ten_passages or out / "ten-passages") if settings.squad.retrieved else None

    def learnt_from() -> Facts:
        files = {"material": named(inputs.material, "--material"), "start": named(inputs.start, "--start")}
        return {**_hashes(files), "task": asdict(settings.task), "network": asdict(settings.network)}

    def asked_of() -> Facts:
        teacher, asker = named(inputs.teacher, "--teacher"), needed(folder / MODEL, "asker")
        files = {"material": named(inputs.material, "--material"), "asker": asker, "teacher": teacher}
        return {**_hashes(files), "asking": asdict(settings.asking)}

    def task() -> AskerTask:
        return AskerTask(inputs.material, encoders.settings(STUDENT), inputs.start, settings.task, settings.network)

    def ask(path: Path) -> Facts:
        weights = folder / MODEL, inputs.teacher
        say_asked = _speaking("asked", say)
        return write_asked(inputs.material, weights, encoders, path, settings, asked_of(), inputs.device, say_asked)

    return [
        training("asker", folder, task, settings.loop, learnt_from, inputs.device, say),
        Stage("asked", asked_file, asked_of, ask),
        _in_squads_format(asked_file, out / "asked-squad.json", inputs.data, ten_passages, encoders, settings, say),
    ]


def _in_squads_format(
    asked_file: Path,
    file: Path,
    data: Path,
    ten_passages: Path | None,
    encoders: Encoders,
    settings: AskerSettings,
    say: Say,
) -> Stage:
    """The questions about SQuAD's own paragraphs; without any it is made only when it is named."""

    def made_of() -> Facts:
        from wherefrom.data import squad
        from wherefrom.data.opening import split_file

        files = {"asked": needed(asked_file, "asked"), "data": split_file(data / "squad", "train", squad.FILES)}
        if ten_passages is not None:
            files["ten_passages"] = named(ten_passages / NOTE, "--ten-passages")
        return {**_hashes(files), "tokenizer": pretrained.INPUTS[STUDENT].sha256["tokenizer.json"]}

    def make(path: Path) -> Facts:
        from wherefrom.systems.asker.squad import write

        tokenizer = encoders.of(STUDENT) / "tokenizer.json"
        return write(asked_file, data, tokenizer, path, _speaking("squad", say), ten_passages)

    return Stage("squad", file, made_of, make, extra=not settings.asking.again and ten_passages is None)


def _hashes(files: dict[str, Path]) -> dict[str, str]:
    return {name: file_hash(file) for name, file in files.items()}


def _speaking(stage: str, say: Say) -> Say:
    return lambda line: say(f"{stage}: {line}")
