"""What the decision between Yes and No is fitted on, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train yes-no` is given."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")


ABOUT = About(
    name="yes-no",
    summary="Fit what decides between Yes and No, on what the shipped reader points to.",
    inputs=Inputs,
    stages=("fit",),
    use="use it with --set runtime.yes_no={weights}",
    needs=("numpy", "tokenizers", "onnxruntime"),
)
