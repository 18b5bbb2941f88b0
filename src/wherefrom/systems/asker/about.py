"""What the asker is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train asker` is given."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    material: Path = given("The reader's material: reader.safetensors of `wherefrom train reader`.")
    teacher: Path = given("Weights of the reader's teacher, which answers: teacher/model.safetensors.")
    start: Path = given("Weights of a reader's student, whose encoder it begins with: student/model.safetensors.")
    ten_passages: Path | None = given("The ten-passage set's folder, for squad.retrieved.", inside="ten-passages")
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    device: str = given("Where the networks are trained and run, such as cuda.", default="cpu")


ABOUT = About(
    name="asker",
    summary="Train a network that asks questions about passages, and have a reader's teacher answer them.",
    inputs=Inputs,
    stages=("asker", "asked", "squad"),
    use="learn from the questions with `wherefrom train reader --asked {out}/asked.safetensors`",
    recipe=Path(__file__).parent / "recipes" / "asker.toml",
    needs=("torch", "safetensors", "numpy", "tokenizers"),
)
