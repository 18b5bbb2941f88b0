"""What the embedder is made from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train embedder` is given."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    manuals: Path | None = given(
        "Questions over manuals: the file that `python -m bench.real.training` makes; none are learnt from without.",
        default=None,
    )
    reader: Path | None = given(
        "Weights of a reader that says how well each passage answers; nothing is learnt from one without.", default=None
    )
    gte: Path | None = given(
        "gte-small in eight bits: gte.safetensors of another OUT, where its own weights are too large to carry.",
        default=None,
    )
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    device: str = given("Where the networks run, such as cuda.", default="cpu")


ABOUT = About(
    name="embedder",
    summary="Train what gives questions and passages vectors that are near where one answers the other.",
    inputs=Inputs,
    stages=("pairs", "earlier", "carried", "lessons", "start", "training", "light", "export"),
    use="use it with --set runtime.embedder={weights}, and `wherefrom index dense`",
    recipe=Path(__file__).parent / "recipes" / "embedder.toml",
    needs=("torch", "safetensors", "numpy"),  # pairs and the export need more
)
