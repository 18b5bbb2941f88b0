"""What the network that tells well-formed sentences from garbled ones is made from, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train fluency` is given."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    tagger: str = given("Weights of the tagger: a shipped name, or a folder.", default="tagger")


ABOUT = About(
    name="fluency",
    summary="Train what tells well-formed sentences from garbled ones.",
    inputs=Inputs,
    stages=("material", "fit"),
    use="use it with --set runtime.fluency={weights}",
    needs=("numpy", "torch"),
)
