"""The reader's two trainings: a large teacher on gold, then the small reader on gold and on its teacher.

    python -m wherefrom.systems.reader.run teacher --material M --pretrained DIR --out T --device cuda
    python -m wherefrom.systems.reader.run student --material M --pretrained DIR --teacher T --out S --device cuda

With `--start S/model.safetensors` a student goes on from an earlier one; with more `layers` it becomes a deeper one.
Needs torch and safetensors only, so that it runs on a bare GPU machine. Interrupted, the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor

from wherefrom.errors import WherefromError
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import ReaderNetwork, token_map
from wherefrom.systems.reader.task import ReaderTask, ReaderTaskSettings
from wherefrom.train.checkpoint import load_weights, saved_layers
from wherefrom.train.loop import MODEL, fit
from wherefrom.train.settings import LoopSettings
from wherefrom.train.task import Batch, Network, Task


@dataclass(frozen=True, slots=True)
class Recipe:
    """One training: which encoder it starts from, how it is fitted, what it is asked for."""

    encoder: str
    loop: LoopSettings
    task: ReaderTaskSettings = field(default_factory=ReaderTaskSettings)


TEACHER = Recipe(
    "mpnet",
    LoopSettings(
        seed=1,
        epochs=2,
        precision="bf16",
        learning_rate=5e-5,
        warmup=0.06,
        metric="score",
        report_every=100,
        checkpoint_every=5000,
        # The bias for distance stays as pretrained: its gradient costs as much as all of attention.
        group_rates={"encoder.": 4e-5, "encoder.distance.": 0.0},
    ),
    ReaderTaskSettings(negatives=1),
)
STUDENT = Recipe(
    "minilm",
    LoopSettings(
        seed=1,
        epochs=20,
        precision="bf16",
        learning_rate=5e-4,
        group_rates={"encoder.": 3e-4},
        warmup=0.03,
        metric="score",
        report_every=100,
        checkpoint_every=5000,
    ),
    ReaderTaskSettings(negatives=1, distillation=2.0, states=2.0, dropout=0.05),
)


def teacher_task(material: Path, pretrained: Path, recipe: Recipe = TEACHER) -> ReaderTask:
    """The teacher reads the material's wordpieces through its own vocabulary."""
    folder = pretrained / recipe.encoder
    return ReaderTask(
        material,
        EncoderSettings.from_config(folder / "config.json"),
        folder / "model.safetensors",
        recipe.task,
        own_tokens=own_tokens(pretrained, recipe.encoder),
    )


def student_task(
    material: Path, pretrained: Path, teacher: Path, recipe: Recipe = STUDENT, start: Path | None = None
) -> ReaderTask:
    """The student, from its pretrained encoder or from an earlier student's weights, `start`."""
    folder = pretrained / recipe.encoder
    task = recipe.task
    network: ReaderNetwork | None = None
    if task.distillation or task.states:
        network = ReaderNetwork(EncoderSettings.from_config(pretrained / TEACHER.encoder / "config.json"))
        load_weights(network, teacher / MODEL)
        network.requires_grad_(False)
    encoder = EncoderSettings.from_config(folder / "config.json")
    if start is not None:
        encoder = replace(encoder, layers=saved_layers(start))  # it may be a deeper one already
    return ReaderTask(
        material,
        encoder,
        folder / "model.safetensors",
        task,
        teacher=network,
        teacher_tokens=own_tokens(pretrained, TEACHER.encoder),
        start=start,
    )


def own_tokens(pretrained: Path, encoder: str) -> Tensor | None:
    """From the material's token ids (BERT's) to those of the encoder; None where they are the same."""
    if encoder == "minilm":
        return None
    return token_map(vocabulary(pretrained / "minilm"), vocabulary(pretrained / encoder))


def vocabulary(folder: Path) -> Mapping[str, int]:
    """Tokens by their place in vocab.txt."""
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return {token: number for number, token in enumerate(lines) if token or number < len(lines) - 1}


def run(task: Task[Network, Batch], loop: LoopSettings, out: Path, device: str) -> None:
    """Fit, telling progress as it comes."""
    torch.set_float32_matmul_precision("high")
    for progress in fit(task, loop, out, device):
        print(progress, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m wherefrom.systems.reader.run")
    parser.add_argument("stage", choices=("teacher", "student"))
    parser.add_argument("--material", type=Path, required=True)
    parser.add_argument("--pretrained", type=Path, required=True)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--start", type=Path, help="student: weights of an earlier student to go on from")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--loop", default="{}", help="settings of the loop to change, as JSON")
    parser.add_argument("--task", default="{}", help="settings of the task to change, as JSON")
    options = parser.parse_args(arguments)
    recipe = TEACHER if options.stage == "teacher" else STUDENT
    asked = json.loads(options.task)
    if "shares" in asked:
        asked["shares"] = {int(source): share for source, share in asked["shares"].items()}  # JSON has no number keys
    if "state_pairs" in asked:
        asked["state_pairs"] = tuple((own, other) for own, other in asked["state_pairs"])
    if "layers" in asked:
        asked["layers"] = tuple(asked["layers"])
    recipe = replace(recipe, loop=replace(recipe.loop, **json.loads(options.loop)), task=replace(recipe.task, **asked))
    try:
        if options.stage == "teacher":
            task = teacher_task(options.material, options.pretrained, recipe)
        else:
            if options.teacher is None:
                parser.error("student needs --teacher, the folder that the teacher was trained into")
            task = student_task(options.material, options.pretrained, options.teacher, recipe, options.start)
        run(task, recipe.loop, options.out, options.device)
    except WherefromError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
