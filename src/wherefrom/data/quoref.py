"""Quoref: questions for which one has to work out who is meant (Dasigi et al. 2019), as an instruction set.

Where the target has several answers the original wants all of them; here each counts as right.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wherefrom.data.examples import Example, whole
from wherefrom.data.instructions import Passages, parts
from wherefrom.data.opening import Files, split_file
from wherefrom.types import Question

FILES: Files = {"train": ("quoref.jsonl",)}


def load(path: Path, split: str = "train") -> Iterator[Example]:
    """Quoref; `article` is the passage that questions share."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    passages = Passages("quoref")
    for place, texts, answers in parts(path, ("Passage:", "Question:")):
        id = passages.id(texts["Passage:"])
        yield Example(
            Question(f"quoref-q{place.number}", texts["Question:"]),
            (whole(id, texts["Passage:"]),),
            (True,),
            answers=answers,
            answerable=True,
            article=id,
        )
