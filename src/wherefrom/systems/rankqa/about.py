"""RankQA: what a re-ranker is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """Questions, and a library that is asked them."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    library: Path = given("The library that is asked.", env="WHEREFROM_LIBRARY")
    every: int = given("Only every N-th question: a sample.", default=1)
    swap: bool = given("Learn from the articles that are else measured on: every figure a second time.", default=False)
    variant: tuple[str, ...] = given("Only this ablation, such as top-k-10; may be given again.", default=())
    tagger: str = given("Weights of the tagger: a shipped name, or a folder.", default="tagger")
    candidates: Path | None = given("The folder of candidates, where another OUT has them.", inside="candidates")


ABOUT = About(
    name="rankqa",
    summary="Make a re-ranker for the answers of a reader.\n\nThe library is asked the questions of squad, valid: "
    "--set pipeline.read.kind=... makes one for another reader. It learns from half of the articles and is measured "
    "on the others. ablate runs only as --stage ablate.",
    inputs=Inputs,
    stages=("candidates", "training", "export", "measure", "ablate"),
    use="the re-ranker is in {weights}; use it with --set rerank.kind=rankqa --set rerank.weights={weights}",
    recipe=Path(__file__).parent / "recipes" / "rankqa.toml",
    needs=("torch", "safetensors", "numpy"),
)
