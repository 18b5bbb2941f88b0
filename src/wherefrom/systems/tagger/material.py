"""Texts with spaCy's tags of our tokens: what the light tagger imitates."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, tee
from pathlib import Path

from wherefrom.features.tags import NER, POS
from wherefrom.features.tokens import tokens
from wherefrom.train.errors import TrainingError
from wherefrom.train.spacy_tags import Tagging

TRAIN, VALID = "train.jsonl.gz", "valid.jsonl.gz"
_LETTER = 65  # tags are written as letters, "A" for the first


@dataclass(frozen=True, slots=True)
class Labelled:
    """One text with the tags of its tokens, as indexes in `POS` and `NER`."""

    text: str
    pos: tuple[int, ...]
    ner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """Which texts are labelled."""

    paragraph_step: int = 2  # every so many of SQuAD's training paragraphs, spread over all articles
    question_step: int = 5  # every so many of its questions
    articles: int = 60  # of each Wikipedia file, their first characters
    characters: int = 1500


def write_labels(path: Path, texts: Iterable[str], tagging: Tagging) -> int:
    """The tags of the texts in a file of JSON lines; how many texts there were."""
    pos, ner = ({name: chr(_LETTER + number) for number, name in enumerate(names)} for names in (POS, NER))
    tagged, written = tee(text for text in texts if tokens(text))
    count = 0
    # mtime 0: the same content must give the same bytes
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        for text, (parts, entities) in zip(written, tagging(tagged), strict=True):
            row = {
                "text": text,
                "pos": "".join(pos.get(name, pos["X"]) for name in parts),
                "ner": "".join(ner[name or "O"] for name in entities),
            }
            packed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def read_labels(path: Path) -> Iterator[Labelled]:
    """What `write_labels` has written."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield Labelled(row["text"], _numbers(row["pos"]), _numbers(row["ner"]))


def training_texts(data: Path, settings: LabelSettings) -> Iterator[str]:
    """SQuAD's training paragraphs and questions, some of them, and the beginnings of Wikipedia articles."""
    yield from _squad(data, "train", settings.paragraph_step, settings.question_step)
    for file in wikipedia_files(data):
        yield from _articles(file, settings)


def valid_texts(data: Path) -> Iterator[str]:
    """All paragraphs and questions of squad/valid, whose articles are not in squad/train."""
    return _squad(data, "valid", 1, 1)


def wikipedia_files(data: Path) -> list[Path]:
    files = sorted((data / "wikipedia").glob("*.txt*"))
    if not files:
        raise TrainingError(f"{data / 'wikipedia'} holds no *.txt, *.txt.gz or *.txt.xz of WikiExtractor's form")
    return files


def _squad(data: Path, split: str, paragraph_step: int, question_step: int) -> Iterator[str]:
    from wherefrom.data import squad

    last, paragraphs = "", 0
    for number, example in enumerate(squad.load(data / "squad", split)):
        passage = example.passages[0]
        if passage.id != last:
            if paragraphs % paragraph_step == 0:
                yield passage.text
            last, paragraphs = passage.id, paragraphs + 1
        if number % question_step == 0:
            yield example.question.text


def _articles(file: Path, settings: LabelSettings) -> Iterator[str]:
    from wherefrom.ingest.outcome import Record
    from wherefrom.ingest.source import opened
    from wherefrom.ingest.wikipedia import read

    with opened(file) as lines:
        records = (entry for entry in read(lines, file.name, 64_000_000) if isinstance(entry, Record))
        for record in islice(records, settings.articles):
            yield record.text[: settings.characters]


def _numbers(letters: str) -> tuple[int, ...]:
    return tuple(ord(letter) - _LETTER for letter in letters)
