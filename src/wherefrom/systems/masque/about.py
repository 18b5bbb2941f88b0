"""What Masque, PREAST-QA and its style transfer are trained from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a training reads, and what its answers are compared with."""

    writer_material: Path | None = given(
        "The OUT of `wherefrom train writer --until augment`: material, vocabulary and synthetic sentences.",
        inside="../writer",
    )
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    start: Path | None = given(
        "Weights of a trained Masque that style transfer starts from: training/model.safetensors of another OUT.",
        default=None,
    )
    against: Path | None = given("Another OUT, whose answers these are compared with.", default=None)
    device: str = given("Where the networks are trained, such as cuda.", default="cpu")


ABOUT = About(
    name="masque",
    summary="Train Masque, PREAST-QA or its style transfer, as their papers have them.",
    inputs=Inputs,
    stages=("training", "answers", "measure", "augment"),
    use="answers and scores are in {out}",
    needs=("torch", "safetensors", "numpy", "tokenizers"),
)
