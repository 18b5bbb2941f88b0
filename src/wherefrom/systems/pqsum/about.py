"""What PQSUM-WSL-DS is trained from, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a training reads."""

    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    pretrained: Path | None = given(
        "The pretrained encoders' folder; those that are missing are fetched.",
        inside="pretrained",
        env="WHEREFROM_PRETRAINED",
    )
    start: Path | None = given(
        "BERTSUM trained on generic summaries: pretraining/model.safetensors of `wherefrom train bertsum`.",
        inside="pretraining/model.safetensors",
    )
    extractor: Path | None = given(
        "BERTSUM that extracts: extraction/model.safetensors of `wherefrom train bertsum` with extract_first=true.",
        inside="extraction/model.safetensors",
    )
    sets: Path | None = given("The document sets, where another OUT has them: sets.json.xz.", inside="sets.json.xz")
    ranking: Path | None = given(
        "The ranked sentences of the documents, where another OUT has them: ranking.npz.", inside="ranking.npz"
    )
    baselines: Path | None = given(
        "What trivial summaries are worth, where another OUT has it: baselines.json.", inside="baselines.json"
    )
    threads: int = given("Processor cores that rank sentences.", default=1)
    device: str = given("Where the networks are trained and write, such as cuda.", default="cpu")


ABOUT = About(
    name="pqsum",
    summary="Train PQSUM-WSL-DS: query-focused summaries of many documents.\n\nEach document gets a weak reference, "
    "whose sentences the most similar ones of the gold summaries replace; BERTSUM learns from these, tells every "
    "document by itself, and a ranker of answer sentences chooses among all that was written.",
    inputs=Inputs,
    stages=("sets", "ranking", "weak", "references", "tuning", "summaries", "baselines", "measure"),
    use="the summaries and scores are in {out}",
    needs=("torch", "safetensors", "numpy", "tokenizers", "onnxruntime"),
)
