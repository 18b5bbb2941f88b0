"""How a writer of a paper is trained and asked, read from its settings file, for `writer_run`.

    [training.writer]
    preset = "preast"          # "masque", "preast", or "transfer" for style transfer
    synthetic = "selective"    # train on synthetic sentences too: "selective", or "all" of them
    decoder = false            # rank and judge only
    masque = "masque.toml"     # transfer: starts from the run of these settings
    run = "nlg.toml"           # no training of its own: the run of these settings
    seeds = [1, 2, 3]          # several runs, that vote
    answers = "short"          # the style that is scored; without it "sentence"
    against = "a.toml"         # the run that changes are measured against

and the tables network, batch, task and loop, which change single settings. What none of them says is in this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wherefrom.config import updated
from wherefrom.errors import SettingsError
from wherefrom.networks.masque import MasqueSettings, encoder_only
from wherefrom.networks.masque_settings import PRESETS
from wherefrom.systems.masque.run import LOOP
from wherefrom.systems.masque.style_transfer import StyleTransferSettings
from wherefrom.systems.masque.transfer_task import StyleTransferTaskSettings
from wherefrom.train.settings import LoopSettings
from wherefrom.train.writing.batches import WriterBatchSettings
from wherefrom.train.writing.task import WriterTaskSettings, word_settings

Preset = Literal["masque", "preast", "transfer"]
Synthetic = Literal["none", "selective", "all"]
Answers = Literal["sentence", "short", "narrative", "narrative in sentences"]
SAID = "said.jsonl"
MOST = 1445  # questions of each kind that validation asks: as many as have a sentence

_TABLES = ("network", "batch", "task", "loop")
# 10 passages of at most 144 wordpieces, about the papers' 100 words; PREAST's batch and its share of answerable ones.
# Gold passages that were left out are not put back: with a quota others would be taken out, and a linear classifier
# would learn that nine passages mean no answer.
_BATCH = {
    "passages": 10,
    "size": 44,
    "quota": [27, 44],
    "put_back": False,
    "max_tokens": 192,
    "max_passage": 144,
    "max_question": 40,
}
_TRANSFER_BATCH = {"tokens": 16_384}
_LOOP = {
    "learning_rate": 2.5e-4,
    "warmup": 0.12,
    "report_every": 100,
    "evaluate_first": False,
    "checkpoint_every": 100_000,
}
_LEARNING = ("steps", "learning_rate", "group_rates", "warmup", "decay", "clip", "ema", "accumulate")
_VALID = 88  # examples that a training is watched by
# Without gradients a microbatch may be larger
_SAY_BATCH = {"size": 220, "quota": None}
_SAY_TRANSFER_BATCH = {"tokens": 131_072}


@dataclass(frozen=True, slots=True)
class _Top:
    """The settings of a recipe that are in no table."""

    preset: Preset = "preast"
    synthetic: Synthetic = "none"
    decoder: bool = True
    masque: str = ""
    run: str = ""
    seeds: tuple[int, ...] = ()
    answers: Answers = "sentence"
    against: str = ""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What trainings read, and the device they run on."""

    material: Path
    common: Path
    start: Path  # MiniLM's weights: an encoder, or word vectors
    synthetic: Path | None = None
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Training:
    """One training of a writer, checked."""

    preset: Preset
    network: MasqueSettings | StyleTransferSettings
    task: WriterTaskSettings | StyleTransferTaskSettings
    loop: LoopSettings
    given: Mapping[str, Mapping[str, Any]]  # table to what differs from `writer_run`'s own settings, for JSON
    synthetic: Synthetic = "none"
    decoder: bool = True
    masque: str = ""

    def fit(self, out: Path, inputs: Inputs, seed: int, masque: Path | None = None) -> list[str]:
        """The arguments that make `writer_run` train; `masque`: the folder that style transfer starts from."""
        loop = {**self.given["loop"], "seed": seed}
        batch = self.given["batch"]
        return ["fit", *self._arguments(out, inputs, batch, masque), "--loop", json.dumps(loop)]

    def say(self, out: Path, inputs: Inputs, masque: Path | None = None) -> list[str]:
        """The arguments that make `writer_run` say what validation asks for, into the run's folder."""
        larger = _SAY_TRANSFER_BATCH if self.preset == "transfer" else _SAY_BATCH
        arguments = self._arguments(out, inputs, {**self.given["batch"], **larger}, masque)
        return ["say", *arguments, "--said", str(out / SAID), "--most", str(MOST)]

    def _arguments(self, out: Path, inputs: Inputs, batch: Mapping[str, Any], masque: Path | None) -> list[str]:
        files = {"material": inputs.material, "common": inputs.common, "start": inputs.start, "out": out}
        found = [part for name, path in files.items() for part in (f"--{name}", str(path))]
        found += ["--preset", self.preset, "--device", inputs.device]
        found += ["--network", json.dumps(self.given["network"])]
        found += ["--task", json.dumps({**self.given["task"], "batch": batch})]
        if self.synthetic != "none":
            found += ["--synthetic", str(inputs.synthetic)]
        if self.synthetic == "all":
            found += ["--descriptive"]
        if not self.decoder:
            found += ["--encoder-only"]
        if masque is not None:
            found += ["--masque", str(masque)]
        return found


@dataclass(frozen=True, slots=True)
class WriterRecipe:
    """How a row of a paper is trained, and what of it is scored."""

    training: Training | None  # none: that of `run`
    run: str = ""
    seeds: tuple[int, ...] = ()
    answers: Answers = "sentence"
    against: str = ""


def writer_recipe(table: Mapping[str, object], origin: str = "") -> WriterRecipe:
    """The recipe in a table such as a settings file's `[training.writer]`; a slip is an error that names it."""
    tables = {name: _table(table, name, origin) for name in _TABLES}
    top = updated(_Top(), {name: value for name, value in table.items() if name not in _TABLES}, origin)
    if top.run:
        own = [name for name in table if name not in ("run", "seeds", "answers")]
        if own:
            raise SettingsError(f"run = {top.run!r} has that run's training; leave {own[0]} out (in {origin})")
        return WriterRecipe(None, top.run, top.seeds, top.answers)
    if "preset" not in table:
        raise SettingsError(f"preset is missing: masque, preast or transfer (in {origin})")
    training = _transfer(top, tables, origin) if top.preset == "transfer" else _masque(top, tables, origin)
    return WriterRecipe(training, "", top.seeds, top.answers, top.against)


def _masque(top: _Top, tables: Mapping[str, Mapping[str, Any]], origin: str) -> Training:
    """Masque or PREAST-QA."""
    if top.masque:
        raise SettingsError(f"masque is for preset = 'transfer', not {top.preset!r} (in {origin})")
    batch = {**_BATCH, **_without_quota(tables["batch"])}
    valid = {"valid_short": _VALID, "valid_sentences": _VALID if top.decoder else 0}
    given = {"network": tables["network"], "batch": batch, "task": {**valid, **tables["task"]}, "loop": _loop(tables)}
    network = updated(PRESETS[top.preset](), tables["network"], _in("network", origin))
    network = replace(network, words=word_settings(WriterBatchSettings().marks))
    task = updated(WriterTaskSettings(), given["task"], _in("task", origin))
    return Training(
        top.preset,
        network if top.decoder else encoder_only(network),
        replace(task, batch=_batch(batch, origin)),
        updated(LOOP, given["loop"], _in("loop", origin)),
        given,
        top.synthetic,
        top.decoder,
    )


def _transfer(top: _Top, tables: Mapping[str, Mapping[str, Any]], origin: str) -> Training:
    """PREAST-QA's style transfer."""
    if top.synthetic != "none" or not top.decoder:
        raise SettingsError(f"style transfer has a decoder, and is what makes synthetic sentences (in {origin})")
    batch = {**_TRANSFER_BATCH, **_without_quota(tables["batch"])}
    task = {"valid_sentences": _VALID, **tables["task"]}
    given = {"network": tables["network"], "batch": batch, "task": task, "loop": _loop(tables)}
    network = updated(
        StyleTransferSettings(words=word_settings(WriterBatchSettings().marks)),
        tables["network"],
        _in("network", origin),
    )
    checked = updated(StyleTransferTaskSettings(), task, _in("task", origin))
    return Training(
        "transfer",
        network,
        replace(checked, batch=_batch(batch, origin)),
        updated(LOOP, given["loop"], _in("loop", origin)),
        given,
        masque=top.masque,
    )


def differences(training: Training, seed: int, provenance: Mapping[str, Any]) -> list[str]:
    """How the run behind a `provenance.json` differs from this training, in words; nothing where it is one of it."""
    task, loop = provenance.get("task", {}), provenance.get("settings", {})
    settings = task.get("settings", {})
    wanted = {
        "network": asdict(training.network),
        "batch": asdict(training.task.batch),
        "loop": {name: getattr(training.loop, name) for name in _LEARNING} | {"seed": seed},
    }
    there = {"network": settings.get("network", {}), "batch": settings.get("batch", {}), "loop": loop}
    found = list(_unlike(json.loads(json.dumps(wanted)), there, ""))
    learned = "synthetic" in task.get("data", {})
    if learned != (training.synthetic != "none"):
        found.append(f"it learned from {'' if learned else 'no '}synthetic sentences")
    return found


def _unlike(wanted: Mapping[str, Any], there: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, value in wanted.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping) and isinstance(there.get(name), Mapping) and name != "shares":
            yield from _unlike(value, there[name], f"{full}.")
        elif name not in there:
            yield f"{full} is not told, not {value!r}"
        elif there[name] != value:
            yield f"{full} is {there[name]!r}, not {value!r}"


def _table(table: Mapping[str, object], name: str, origin: str) -> dict[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, Mapping):
        raise SettingsError(f"{name} is a table of settings, not {found!r} (in {origin})")
    return dict(found)


def _loop(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Validation comes once, at the end: every step before it is training."""
    given = {**_LOOP, **tables["loop"]}
    return {**given, "evaluate_every": given.get("evaluate_every", given.get("steps", 0))}


def _without_quota(batch: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no null: `quota = false` is none."""
    return {**batch, "quota": None} if batch.get("quota") is False else dict(batch)


def _batch(values: Mapping[str, Any], origin: str) -> WriterBatchSettings:
    some = {name: value for name, value in values.items() if value is not None}
    base = WriterBatchSettings(quota=None) if "quota" in values else WriterBatchSettings()
    if some.get("size"):
        some["tokens"] = 0
    return updated(base, some, _in("batch", origin))


def _in(table: str, origin: str) -> str:
    return f"{origin}, {table}" if origin else table
