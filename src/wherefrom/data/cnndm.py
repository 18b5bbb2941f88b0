"""CNN/DailyMail: news articles with the highlights their editors wrote; there is no question.

Hermann et al. 2015, See et al. 2017. Two forms: story files (an article, then `@highlight` before each highlight),
whose splits are lists of URLs (`url_lists/all_train.txt`; a story is named by the SHA-1 of its URL), and JSON lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import DatasetError, Ids
from wherefrom.data.opening import Files, json_records, named_files, read_text, split_name, text_lines
from wherefrom.types import Question

FILES: Files = {
    "train": ("train.jsonl",),
    "val": ("val.jsonl", "validation.jsonl"),
    "test": ("test.jsonl",),
    "all": ("all.jsonl",),  # of story files: every one there is, whatever the lists say
}
MARK = "@highlight"


class _Record(msgspec.Struct):
    article: str
    highlights: str
    id: str = ""


def load(path: Path, split: str) -> Iterator[Example]:
    """CNN/DailyMail; a summary has its highlights on lines.

    `path` is a JSON lines file or a story, a folder with JSON lines, or one with story files at any depth.
    """
    if path.is_file():
        return _from_stories([path]) if path.name.endswith(".story") else _from_lines(path)
    split = split_name(split, FILES)
    try:
        return _from_lines(named_files(path, FILES[split])[0])
    except DatasetError:
        if next(path.rglob("*.story"), None) is None:
            raise
    return _from_stories(_split_stories(path, split))


def _from_lines(path: Path) -> Iterator[Example]:
    ids = Ids()
    for place, record in json_records(path, _Record):
        yield _example(ids.distinct(record.id or f"cnndm-{place.number}"), record.article, record.highlights)


def _from_stories(stories: list[Path]) -> Iterator[Example]:
    ids = Ids()
    for story in stories:
        body, *highlights = read_text(story).split(MARK)
        if not highlights:
            raise DatasetError(f"{story}: expected a line {MARK}, found none")
        yield _example(ids.distinct(story.stem), body, "\n".join(" ".join(text.split()) for text in highlights))


def _example(id: str, article: str, highlights: str) -> Example:
    return Example(Question(id, ""), (whole(id, article.strip()),), summaries=(highlights.strip(),))


def _split_stories(folder: Path, split: str) -> list[Path]:
    """The stories of the split in the order of its list; a URL without its story is an error."""
    stories = {story.name: story for story in sorted(folder.rglob("*.story"))}
    if split == "all":
        return list(stories.values())
    lists = named_files(folder, [f"url_lists/all_{split}.txt", f"all_{split}.txt", f"*_{split}_urls.txt"])
    chosen: list[Path] = []
    for file in lists:
        for place, url in text_lines(file):
            name = hashlib.sha1(url.strip().encode(), usedforsecurity=False).hexdigest() + ".story"
            if name not in stories:
                raise place.fault(f"expected the story {name} of {url.strip()} below {folder}")
            chosen.append(stories[name])
    return chosen
