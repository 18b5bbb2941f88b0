"""What the decision between Yes and No is fitted on, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train yes-no` is given."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    weights: Path | None = given("The folder of a reader's weights [default: the shipped reader's].", default=None)
    manuals: Path | None = given(
        "Questions over manuals: the file that `python -m bench.real.training` makes; those that the reader has not "
        "learnt from are taken too.",
        default=None,
    )


ABOUT = About(
    name="yes-no",
    summary="Fit what decides between Yes and No, on what a reader says of passages and points to.",
    inputs=Inputs,
    stages=("fit",),
    use="use it with --set runtime.yes_no={weights}",
    needs=("numpy", "tokenizers", "onnxruntime"),
)
