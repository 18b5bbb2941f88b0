"""What the network that tells what a follow-up means is made from, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train followup` is given."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    tagger: str = given("Weights of the tagger: a shipped name, or a folder.", default="tagger")


ABOUT = About(
    name="followup",
    summary="Train what tells which whole question a follow-up means.",
    inputs=Inputs,
    stages=("material", "fit"),
    use="use it with --set runtime.followup={weights}",
    needs=("numpy", "torch"),
)
