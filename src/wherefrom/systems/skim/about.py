"""What a skimming reader is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train skim` is given."""

    weights: Path = given("The folder of a reader's weights, its network in one file.")
    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    manuals: Path | None = given("A file of questions over manuals, JSON lines, to learn from beside.", default=None)


ABOUT = About(
    name="skim",
    summary="Cut a reader's network in two, so that its first layers skim all passages and the others read the most "
    "promising.",
    inputs=Inputs,
    stages=("material", "skim"),
    use="use it with --set runtime.reader={weights}",
    needs=("numpy", "onnx", "onnxruntime"),
)
