"""Makes the matcher.

OUT/start.safetensors    a vector for every wordpiece: what gte-small says of it alone, on its main axes
OUT/training/            the training
OUT/weights/             the result: a folder for `runtime.matcher`, which `features/matching.py` runs
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy
import torch
from safetensors.torch import save_file

from wherefrom.features.matching import FILE, SCALE
from wherefrom.networks.encoder import Encoder, load_pretrained
from wherefrom.origin import file_hash
from wherefrom.systems.contract import Say, Stage
from wherefrom.systems.matcher.about import Inputs
from wherefrom.systems.matcher.network import MatcherNetwork
from wherefrom.systems.matcher.task import MatcherTask, MatcherTaskSettings
from wherefrom.train import pretrained
from wherefrom.train.encoders import Encoders, Fetch
from wherefrom.train.given import named
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.progress import paced
from wherefrom.train.settings import LoopSettings
from wherefrom.train.stages import Facts, needed, training

ENCODER = "gte"
_AXES = 256  # kept of the encoder's width; a network takes as many of them as it is wide
_AT_A_TIME = 512
_CLASSIFY, _SEPARATE = 101, 102

LOOP = LoopSettings(
    seed=1,
    steps=3600,
    learning_rate=1e-2,
    group_rates={"vectors": 1e-3},
    weight_decay=0.0,
    warmup=0.02,
    final_rate=0.05,
    metric="score",
    evaluate_every=1200,
    report_every=250,
    checkpoint_every=600,
)


@dataclass(frozen=True, slots=True)
class MatcherRecipe:
    """Every setting."""

    loop: LoopSettings = LOOP
    task: MatcherTaskSettings = field(default_factory=MatcherTaskSettings)


DEFAULTS = MatcherRecipe()


def stages(
    settings: MatcherRecipe, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """A quarter of an hour on two cores."""
    encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)
    start, folder = out / "start.safetensors", out / "training"
    material = [named(inputs.material, "--material")]
    material += [] if inputs.manuals is None else [named(inputs.manuals, "--manuals")]

    def begun_of() -> Facts:
        return {"encoder": pretrained.INPUTS[ENCODER].sha256["model.safetensors"]}

    def begin(path: Path) -> Facts:
        vectors = wordpieces_alone(encoders, say)
        save_file({"vectors": vectors}, path)
        return {"wordpieces": len(vectors), "pretrained": pretrained.described(ENCODER)}

    def task() -> MatcherTask:
        return MatcherTask(material, needed(start, "start"), settings.task)

    def trained_of() -> Facts:
        files = {path.name: file_hash(path) for path in (*material, needed(start, "start"))}
        return {**files, "task": asdict(settings.task)}

    def export(path: Path) -> None:
        export_matcher(trained(task(), folder), path)

    return [
        Stage("start", start, begun_of, begin),
        training("training", folder, task, settings.loop, trained_of, inputs.device, say),
        Stage(
            "export",
            out / "weights",
            lambda: {"training": file_hash(needed(folder / MODEL, "training"))},
            export,
            weights=True,
        ),
    ]


def wordpieces_alone(encoders: Encoders, say: Say) -> torch.Tensor:
    """What the encoder says of each wordpiece between [CLS] and [SEP], on the main axes of all: (wordpieces, axes)."""
    settings = encoders.settings(ENCODER)
    encoder = Encoder(settings)
    load_pretrained(encoder, encoders.of(ENCODER) / "model.safetensors")
    encoder.eval()
    report = paced("start", say)
    states = []
    with torch.inference_mode():
        for begin in range(0, settings.words, _AT_A_TIME):
            report(begin, settings.words)
            alone = torch.arange(begin, min(begin + _AT_A_TIME, settings.words))
            tokens = torch.stack([torch.full_like(alone, _CLASSIFY), alone, torch.full_like(alone, _SEPARATE)], dim=1)
            mask = torch.ones_like(tokens, dtype=torch.bool)
            states.append(encoder(tokens, mask, torch.zeros_like(tokens))[:, 1])
    whole = torch.cat(states).double()
    whole = whole - whole.mean(dim=0)
    _, _, axes = torch.linalg.svd(whole, full_matrices=False)
    vectors: torch.Tensor = (whole @ axes[: min(_AXES, settings.width)].T).float().contiguous()
    return vectors


def export_matcher(network: MatcherNetwork, folder: Path) -> None:
    """Vectors in 8 bits, the rest in 16."""
    with torch.inference_mode():
        vectors, importance, worth = (each.cpu().numpy() for each in network.weights())
    folder.mkdir(parents=True)
    with (folder / FILE).open("wb") as file:
        numpy.savez(
            file,
            allow_pickle=False,
            vectors=numpy.rint(vectors * SCALE).astype(numpy.int8),
            importance=importance.astype(numpy.float16),
            worth=worth.astype(numpy.float16),
        )
    (folder / "settings.toml").write_text(
        f'width = {vectors.shape[1]}\nprecision = "int8 vectors, fp16"\ntokenizer = "../reader/tokenizer.json"\n',
        encoding="utf-8",
    )
