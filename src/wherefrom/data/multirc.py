"""MultiRC: answers put together from several sentences (Khashabi et al. 2018), as an instruction set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wherefrom.data.examples import Example, whole
from wherefrom.data.instructions import Passages, parts
from wherefrom.data.opening import Files, split_file
from wherefrom.types import Question

FILES: Files = {"train": ("multirc.jsonl",)}

_NUMBERED = re.compile(r"\s*Sent \d+: ")


def load(path: Path, split: str = "train") -> Iterator[Example]:
    """MultiRC; the sentence numbers (`Sent 3: `) are taken out of the passage, `article` is the passage."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    passages = Passages("multirc")
    for place, texts, answers in parts(path, ("Paragraph-", "Question:")):
        text = " ".join(part.strip() for part in _NUMBERED.split(f" {texts['Paragraph-']}") if part.strip())
        id = passages.id(text)
        yield Example(
            Question(f"multirc-q{place.number}", texts["Question:"].removesuffix(".")),
            (whole(id, text),),
            (True,),
            answers=answers,
            answerable=True,
            article=id,
        )
