"""ROPES: a paragraph of science to be used on a story (Lin et al. 2019), as an instruction set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wherefrom.data.examples import Example, whole
from wherefrom.data.instructions import Passages, parts
from wherefrom.data.opening import Files, split_file
from wherefrom.types import Question

FILES: Files = {"train": ("ropes.jsonl",)}
LABELS = ("Background Paragraph:", "Story:", "Question:")


def load(path: Path, split: str = "train") -> Iterator[Example]:
    """ROPES; two passages, the background and the story, both needed; `article` is the background."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    backgrounds, stories = Passages("ropes-background"), Passages("ropes-story")
    for place, texts, answers in parts(path, LABELS):
        background, story, question = (texts[label] for label in LABELS)
        yield Example(
            Question(f"ropes-q{place.number}", question),
            (whole(backgrounds.id(background), background), whole(stories.id(story), story)),
            (True, True),
            answers=answers,
            answerable=True,
            article=backgrounds.id(background),
        )
