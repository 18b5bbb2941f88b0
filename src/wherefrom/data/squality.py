"""SQuALITY: stories of some thousand words, with questions of which four people wrote a summary each.

Wang et al. 2022; five questions a story, the first of which asks for its plot.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.text import clean
from wherefrom.types import Question

FILES: Files = {split: (f"{split}.jsonl",) for split in ("train", "dev", "test")}


class _Metadata(msgspec.Struct):
    passage_id: str


class _Response(msgspec.Struct):
    response_text: str


class _StoryQuestion(msgspec.Struct):
    question_text: str
    responses: list[_Response]


class _Story(msgspec.Struct):
    document: str
    questions: list[_StoryQuestion]
    metadata: _Metadata | None = None


def load(path: Path, split: str) -> Iterator[Example]:
    """SQuALITY, an example a question; the story is its one passage, and its `article`."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for place, story in json_records(path, _Story):
        name = ids.distinct(story.metadata.passage_id if story.metadata else f"story-{place.number}")
        passage = whole(name, clean(story.document))
        for number, question in enumerate(story.questions, start=1):
            yield Example(
                Question(f"{name}-{number}", question.question_text.strip()),
                (passage,),
                summaries=tuple(clean(response.response_text).strip() for response in question.responses),
                article=name,
            )
