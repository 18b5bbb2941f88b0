"""The light tagger: what it is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """Texts for spaCy to label."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    processes: int = given("Processes that label texts.", default=2)
    device: str = given("Where the networks are trained, such as cuda.", default="cpu")


ABOUT = About(
    name="tagger",
    summary="Make the light tagger of parts of speech and entities.\n\nspaCy labels its texts, which is not part of "
    "the extra; the error says how to get it.",
    inputs=Inputs,
    stages=("labels", "training", "export", "measure"),
    use="the tagger is in {weights}; use it with --set runtime.tagger={weights}",
    needs=("torch", "safetensors", "numpy", "onnx"),
)
