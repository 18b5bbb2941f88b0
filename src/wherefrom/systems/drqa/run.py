"""Trains DrQA's reader on material made before.

    python -m wherefrom.systems.drqa.run MATERIAL OUT --device cuda --set loop.epochs=15 --set network.align=false

Needs torch, numpy and safetensors only, so that it runs on a bare GPU machine. Interrupted, the same command goes on.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from wherefrom.config import updated
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.systems.drqa.network import DrQASettings
from wherefrom.systems.drqa.task import DrQATask, DrQATaskSettings, ReaderTeacher
from wherefrom.train.loop import fit
from wherefrom.train.settings import LoopSettings


def _loop() -> LoopSettings:
    """Chen et al. 2017 train with Adamax and clip the gradient; warm-up, decay and averaging of weights are ours."""
    return LoopSettings(
        seed=1,
        epochs=16,
        optimizer="adamax",
        learning_rate=2e-3,
        weight_decay=0.0,
        clip=10.0,
        warmup=0.02,
        decay="linear",
        final_rate=0.02,
        ema=0.998,
        metric="f1",
        report_every=200,
        checkpoint_every=1000,
        evaluate_first=False,
    )


@dataclass(frozen=True, slots=True)
class Recipe:
    """One training: the network, how it is fitted, what it is asked for."""

    network: DrQASettings = field(default_factory=DrQASettings)
    loop: LoopSettings = field(default_factory=_loop)
    task: DrQATaskSettings = field(default_factory=DrQATaskSettings)


def changed(recipe: Recipe, overrides: Sequence[str]) -> Recipe:
    """The recipe with `section.name=value` applied, one after the other."""
    for override in overrides:
        name, equals, text = override.partition("=")
        section, dot, setting = name.strip().partition(".")
        if not equals or not dot:
            raise SettingsError(f"'{override}' does not say a value; write it as section.name=value")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        recipe = updated(recipe, {section: {setting: value}})
    return recipe


def run(
    material: Path,
    out: Path,
    recipe: Recipe,
    device: str,
    teacher: ReaderTeacher | None = None,
    start: Path | None = None,
) -> None:
    """Fit, telling progress as it comes."""
    torch.set_float32_matmul_precision("high")
    task = DrQATask(material, recipe.network, recipe.task, teacher, start)
    for progress in fit(task, recipe.loop, out, device):
        print(progress, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m wherefrom.systems.drqa.run")
    parser.add_argument("material", type=Path, help="the file that `wherefrom train drqa --stage material` makes")
    parser.add_argument("out", type=Path, help="the folder of the training")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--teacher", type=Path, help="weights of a reader network to learn from: a .safetensors")
    parser.add_argument("--encoder", type=Path, help="the config.json of the teacher's encoder")
    parser.add_argument("--start", type=Path, help="weights of an earlier training of the same network to go on from")
    parser.add_argument("--set", action="append", default=[], dest="overrides", metavar="SECTION.NAME=VALUE")
    options = parser.parse_args(arguments)
    if (options.teacher is None) != (options.encoder is None):
        parser.error("--teacher and --encoder go together")
    try:
        recipe = changed(Recipe(), options.overrides)
        teacher = None
        if options.teacher is not None and recipe.task.distillation:
            teacher = ReaderTeacher(options.teacher, EncoderSettings.from_config(options.encoder))
        run(options.material, options.out, recipe, options.device, teacher, options.start)
    except WherefromError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
