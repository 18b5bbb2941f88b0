"""What the judge is fitted on, and in which stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wherefrom.systems.contract import About, given


@dataclass(frozen=True, slots=True)
class Inputs:
    """What `wherefrom train judge` is given."""

    weights: Path = given("The folder of a reader's weights; its judge.json goes there.")
    data: Path = given("The folder of datasets.", env="WHEREFROM_DATA")
    ten_passages: Path | None = given(
        "The ten-passage set's folder; it is built there if it is not there.", inside="ten-passages"
    )
    manuals: Path | None = given(
        "A file of questions over manuals, JSON lines: one more kind of documents, of which a fifth is asked about.",
        default=None,
    )


ABOUT = About(
    name="judge",
    summary="Fit the order of a reader's answers and the chance that the first is right, and write both beside the "
    "reader's network.\n\nThe order (compared, order) needs --manuals.",
    inputs=Inputs,
    stages=("ten-passages", "compared", "order", "readings", "libraries", "judge"),
    use="judge.json lies beside the network now; `min_chance` in it says which judge.min_chance keeps which precision",
    needs=("numpy", "tokenizers", "onnxruntime"),
)
