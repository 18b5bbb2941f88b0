"""DROP: questions that need counting, adding and comparing (Dua et al. 2019), as an instruction set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wherefrom.data.examples import Example, whole
from wherefrom.data.instructions import Passages, parts
from wherefrom.data.opening import Files, split_file
from wherefrom.types import Question

FILES: Files = {"train": ("drop.jsonl",)}


def load(path: Path, split: str = "train") -> Iterator[Example]:
    """DROP; `kind` is the type of the answer (Number, Date, Span), `article` the passage that questions share."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    passages = Passages("drop")
    for place, texts, answers in parts(path, ("Passage:", "Question:", "Answer type:")):
        id = passages.id(texts["Passage:"])
        yield Example(
            Question(f"drop-q{place.number}", texts["Question:"]),
            (whole(id, texts["Passage:"]),),
            (True,),
            answers=answers,
            answerable=True,
            kind=texts["Answer type:"],
            article=id,
        )
