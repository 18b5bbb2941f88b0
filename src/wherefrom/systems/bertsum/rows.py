"""What QR-BERTSUM-TL is worth, for the rows of its paper: trainings are found by their settings, or made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from wherefrom.errors import SettingsError
from wherefrom.systems.bertsum.about import Inputs
from wherefrom.systems.bertsum.material import FOLDS
from wherefrom.systems.bertsum.settings import BertsumTraining, Data, fingerprint
from wherefrom.systems.bertsum.system import SCORES, stages
from wherefrom.systems.contract import NotTrained, Scores, Wanted
from wherefrom.train.encoders import Fetch
from wherefrom.train.loop import MODEL
from wherefrom.train.stages import Say, read_json, run

DATASETS: dict[str, Data] = {"Debatepedia": "debatepedia", "MS MARCO 2.1, gold passage": "qa2d"}


def scores(settings: BertsumTraining, inputs: Inputs, wanted: Wanted, out: Path, say: Say, fetch: Fetch) -> Scores:
    """The means over ten folds, or over QA2D's test part."""
    if wanted.dataset not in DATASETS:
        raise SettingsError(f"{wanted.name}: there is nothing to stand in for {wanted.dataset}")
    data = DATASETS[wanted.dataset]
    inputs = replace(
        inputs,
        pretrained=inputs.pretrained or out / "pretrained",
        generic=inputs.generic or out / "generic.safetensors",
    )
    folds = range(FOLDS) if data == "debatepedia" else range(1)
    files = [_scored(replace(settings, data=data, fold=number), inputs, wanted, out, say, fetch) for number in folds]
    return Scores({name: _mean(files, name) for name in wanted.reported}, settings.pretraining.seed, tuple(files))


def _mean(files: Sequence[Path], name: str) -> float:
    return fmean(read_json(file)["ours"][name] for file in files)


def _scored(settings: BertsumTraining, inputs: Inputs, wanted: Wanted, out: Path, say: Say, fetch: Fetch) -> Path:
    """The scores of one training; its weights may have been left behind where it was made."""
    folder = out / f"{wanted.name}-{settings.data}-{settings.fold}-{fingerprint(settings.described())}"
    if not (folder / SCORES).exists():
        if not wanted.may_train:
            raise NotTrained(f"{folder} holds no training of these settings; --train trains it, or copy it there")
        if settings.transfer:
            inputs = replace(inputs, start=_pretrained(settings, inputs, out, say, fetch))
        say(f"{folder.name}: making it on {inputs.device}")
        run("bertsum", stages(settings, inputs, folder, say, fetch), folder, None, say)
    return folder / SCORES


def _pretrained(settings: BertsumTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch) -> Path:
    """The weights of the pretraining that rows share; made where they are not there."""
    folder = out / f"pretraining-{fingerprint(settings.before_tuning())}"
    plain = replace(settings, data="debatepedia", fold=0, network=replace(settings.network, mask="bidirectional"))
    run("bertsum", stages(plain, inputs, folder, say, fetch), folder, {"generic", "extraction", "pretraining"}, say)
    return folder / "pretraining" / MODEL
