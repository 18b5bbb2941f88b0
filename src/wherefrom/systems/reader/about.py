"""What the reader is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train reader` is given."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    ten_passages: Path | None = given(
        "The ten-passage set's folder; it is built there if it is not there.", inside="ten-passages"
    )
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    teacher: Path | None = given(
        "A trained teacher, in place of training one: teacher/model.safetensors of another OUT, or exported weights.",
        default=None,
    )
    start: Path | None = given(
        "An earlier student to go on from: student/model.safetensors of another OUT, or a folder of exported weights.",
        default=None,
    )
    wordnet: Path | None = given(
        "WordNet's files (data.adj, ...), for near misses by antonyms; none are made without.", default=None
    )
    manuals: Path | None = given(
        "Questions over manuals: the file that `python -m bench.real.training` makes; none are learnt from without.",
        default=None,
    )
    asked: Path | None = given(
        "Material with more questions for the student: asked.safetensors of `wherefrom train asker`.", default=None
    )
    device: str = given("Where the networks are trained, such as cuda.", default="cpu")


ABOUT = About(
    name="reader",
    summary="Train the network that ranks passages and reads answers: a large teacher, then a small student.",
    inputs=Inputs,
    stages=(
        "ten-passages",
        "material",
        "manuals",
        "teacher",
        "earlier",
        "start",
        "student",
        "export",
        "fp32",
        "measure",
    ),
    use="use it with --set runtime.reader={weights}; `wherefrom train judge --weights {weights}` fits its judge",
    recipe=Path(__file__).parent / "recipes" / "reader.toml",
    needs=("torch", "safetensors", "numpy", "tokenizers", "onnx", "onnxruntime"),  # the export needs more
)
