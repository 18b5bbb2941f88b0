"""What the matcher is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train matcher` is given."""

    material: Path = given("The reader's material: reader.safetensors of an OUT of `wherefrom train reader`.")
    manuals: Path | None = given("Material of questions over manuals: manuals.safetensors beside it.", default=None)
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    device: str = given("Where the network is trained, such as cuda.", default="cpu")


ABOUT = About(
    name="matcher",
    summary="Train the vectors by which passages are found whose words mean what those of the question do.",
    inputs=Inputs,
    stages=("start", "training", "export"),
    use="use it with --set runtime.matcher={weights}",
    needs=("torch", "safetensors", "numpy", "onnx"),
)
