"""What the writer is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """Datasets, and what the network starts from."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    ten_passages: Path | None = given(
        "The ten-passage set's folder; it is built there if it is not there.", inside="ten-passages"
    )
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    reader: Path | None = given(
        "Weights of a trained reader to start from: student/model.safetensors of `wherefrom train reader`.",
        default=None,
    )
    device: str = given("Where the networks are trained, such as cuda.", default="cpu")


ABOUT = About(
    name="writer",
    summary="Train the network that writes sentences: style transfer, synthetic sentences, then the writer itself.",
    inputs=Inputs,
    stages=("ten-passages", "material", "vocabulary", "transfer", "augment", "writer", "export", "report", "measure"),
    use="use it with --set runtime.writer={weights}; --stage measure says what it is worth alone",
    recipe=Path(__file__).parent / "recipes" / "writer.toml",
)
