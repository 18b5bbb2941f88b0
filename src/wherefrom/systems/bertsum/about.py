"""What QR-BERTSUM-TL is trained from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a training reads."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    generic: Path | None = given(
        "The generic summaries in wordpieces, where another OUT has them.", inside="generic.safetensors"
    )
    start: Path | None = given(
        "A finished pretraining to tune: pretraining/model.safetensors of another OUT.", default=None
    )
    device: str = given("Where the networks are trained, such as cuda.", default="cpu")


ABOUT = About(
    name="bertsum",
    summary="Train QR-BERTSUM-TL: generic summaries first, then query-focused ones of Debatepedia or QA2D.",
    inputs=Inputs,
    stages=("audit", "generic", "extraction", "pretraining", "tuning", "measure"),
    use="the fold's summaries and scores are in {out}",
    needs=("torch", "safetensors", "numpy", "tokenizers"),
)
