"""What the selector is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train selector` is given."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")


ABOUT = About(
    name="selector",
    summary="Fit what tells which sentences make a good explanation or summary, and whether there is one to make.",
    inputs=Inputs,
    stages=("explained", "summarized", "fit"),
    use="use it with --set runtime.selector={weights}",
    needs=("torch", "numpy", "onnxruntime"),
)
