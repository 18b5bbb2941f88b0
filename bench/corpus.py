"""The passages and questions that every system is given, made from the user's data folder."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from wherefrom.config import IngestSettings, SplitSettings
from wherefrom.errors import IngestError
from wherefrom.ingest.formats import IngestFailure, Record, read
from wherefrom.ingest.split import split
from wherefrom.origin import file_hash
from wherefrom.store.rows import passage_id

WIKIPEDIA = "wikipedia/*.txt.xz"
SQUAD = "squad/valid-v1.1.json.xz"

# What lies in the work folder for the processes that measure.
FILES = "files.json"  # the files that wherefrom ingests
PASSAGES = "passages.jsonl"  # the same text ready-cut, one JSON string a line, for the systems that only index
QUESTIONS = "questions.json"


class DataMissing(Exception):
    """The data folder is not named or lacks a file; the message says which and the remedy."""


@dataclass(frozen=True, slots=True)
class Source:
    """The data files to measure on."""

    folder: Path
    wikipedia: tuple[Path, ...]
    squad: Path


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question and the ids of the passages that answer it."""

    text: str
    gold: frozenset[str]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """What was prepared: `ids[key]` is the id of the passage on line `key` of the passages file."""

    ids: tuple[str, ...]
    documents: int
    questions: tuple[AskedQuestion, ...]
    wikipedia_passages: int
    squad_passages: int
    left_out: int  # questions whose answer the splitter cut in two: no passage holds it whole
    hashes: dict[str, str]  # sha256 of every data file used, by its name in the data folder


def find_source() -> Source:
    """The files in the folder that WHEREFROM_DATA names."""
    named = os.environ.get("WHEREFROM_DATA")
    if not named:
        raise DataMissing(
            "WHEREFROM_DATA is not set; set it to a folder that holds "
            f"{WIKIPEDIA} (articles as WikiExtractor writes them) and {SQUAD} (SQuAD 1.1)"
        )
    folder = Path(named).expanduser().resolve()
    if not folder.is_dir():
        raise DataMissing(f"WHEREFROM_DATA names {named}, which is not a folder; set it to the folder of the data")
    wikipedia = tuple(sorted(folder.glob(WIKIPEDIA)))
    squad = folder / SQUAD
    missing = [] if wikipedia else [f"{WIKIPEDIA} (articles as WikiExtractor writes them)"]
    missing += [] if squad.is_file() else [f"{SQUAD} (SQuAD 1.1)"]
    if missing:
        raise DataMissing(
            f"{named} lacks {' and '.join(missing)}; put the files there, or set WHEREFROM_DATA to the folder "
            "that has them"
        )
    return Source(folder, wikipedia, squad)


def prepare(source: Source, work: Path, passages: int, questions: int) -> Corpus:
    """Write `passages` passages of Wikipedia, all paragraphs of SQuAD and every n-th question to the work folder."""
    squad = _SquadFile(source.squad)
    squad_file = work / "squad.jsonl"
    squad.write_paragraphs(squad_file)
    ids: list[str] = []
    squad_texts: dict[str, list[tuple[str, str]]] = {}  # passages of a paragraph, as (id, text)
    with (work / PASSAGES).open("w", encoding="utf-8") as out:
        files, used, documents = _wikipedia(source.wikipedia, work, passages, out, ids)
        wikipedia_passages = len(ids)
        for record in records(squad_file):
            squad_texts[str(record.id)] = _write_passages(record, out, ids)
            documents += 1
    answerable, left_out = squad.questions(squad_texts)
    if not answerable:
        raise DataMissing(f"{SQUAD} has no question that a passage answers; fetch the file again")
    chosen = _every_nth(answerable, questions)
    _write_json(work / FILES, [str(file) for file in [*files, squad_file]])
    _write_json(work / QUESTIONS, [question.text for question in chosen])
    return Corpus(
        ids=tuple(ids),
        documents=documents,
        questions=chosen,
        wikipedia_passages=wikipedia_passages,
        squad_passages=len(ids) - wikipedia_passages,
        left_out=left_out,
        hashes={file.relative_to(source.folder).as_posix(): file_hash(file) for file in [*used, source.squad]},
    )


def squad_questions(source: Source, wanted: int) -> tuple[tuple[str, ...], str]:
    """Every n-th question of SQuAD, whatever it is asked of, and the file's sha256."""
    questions = _SquadFile(source.squad).texts()
    if not questions:
        raise DataMissing(f"{SQUAD} has no questions; fetch the file again")
    count = min(wanted, len(questions))
    return tuple(questions[place * len(questions) // count] for place in range(count)), file_hash(source.squad)


def squad_asked(source: Source, paragraphs: Path, wanted: int) -> tuple[AskedQuestion, ...]:
    """Every n-th question of SQuAD that a passage answers; its paragraphs are written to a file, a document each."""
    squad = _SquadFile(source.squad)
    squad.write_paragraphs(paragraphs)
    passages = {
        str(record.id): [
            (passage_id(str(record.id), ordinal), record.text[start:end])
            for ordinal, (start, end) in enumerate(split(record.text))
        ]
        for record in records(paragraphs)
    }
    return _every_nth(squad.questions(passages)[0], wanted)


def texts(work: Path) -> Iterator[str]:
    """The passages as an index sees them: title, line end, text. The place in this order is the passage's key."""
    with (work / PASSAGES).open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _wikipedia(
    files: Sequence[Path], work: Path, wanted: int, out: TextIO, ids: list[str]
) -> tuple[list[Path], list[Path], int]:
    """The files to ingest, the data files they come from, and their documents.

    Whole files, and the one that reaches the wanted number of passages cut after that article.
    """
    ingested: list[Path] = []
    used: list[Path] = []
    documents = 0
    for file in files:
        used.append(file)
        for record in records(file):
            if len(ids) >= wanted:
                cut = work / "articles.txt.xz"
                _copy_lines(file, cut, before=int(record.place.removeprefix("line ")))
                return [*ingested, cut], used, documents
            _write_passages(record, out, ids)
            documents += 1
        ingested.append(file)
        if len(ids) >= wanted:
            break
    return ingested, used, documents


def records(file: Path) -> Iterator[Record]:
    try:
        for outcome in read(file, IngestSettings()):
            if isinstance(outcome, IngestFailure):
                raise DataMissing(f"{outcome.name} cannot be used: {outcome.reason}; fetch the file again")
            yield outcome
    except IngestError as error:
        raise DataMissing(f"{file.name} cannot be used: {error}; fetch the file again") from error


def _write_passages(record: Record, out: TextIO, ids: list[str]) -> list[tuple[str, str]]:
    """Cut a document as a library does; its passages as (id, text without title)."""
    written: list[tuple[str, str]] = []
    for ordinal, (start, end) in enumerate(split(record.text, SplitSettings())):
        text = record.text[start:end]
        json.dump(f"{record.title}\n{text}" if record.title else text, out)
        out.write("\n")
        written.append((passage_id(str(record.id), ordinal), text))
    ids.extend(id for id, _ in written)
    return written


def _copy_lines(file: Path, cut: Path, before: int) -> None:
    """The lines of a packed file before line number `before`, packed again: unpacking stays part of the measure."""
    with lzma.open(file, "rb") as lines, lzma.open(cut, "wb", preset=1) as out:
        for number, line in enumerate(lines, start=1):
            if number == before:
                break
            out.write(line)


class _SquadFile:
    """SQuAD JSON: articles of paragraphs, each with questions and the texts that answer them."""

    def __init__(self, path: Path) -> None:
        try:
            with lzma.open(path, "rt", encoding="utf-8") as file:
                articles: list[dict[str, Any]] = json.load(file)["data"]
        except (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
            raise DataMissing(
                f"{path.name} is not SQuAD JSON packed with xz ({error}); fetch the file again"
            ) from error
        self._paragraphs = [
            (f"squad-{number}-{place}", article["title"].replace("_", " "), paragraph)
            for number, article in enumerate(articles)
            for place, paragraph in enumerate(article["paragraphs"])
        ]

    def write_paragraphs(self, path: Path) -> None:
        """One document a paragraph."""
        with path.open("w", encoding="utf-8") as out:
            for id, title, paragraph in self._paragraphs:
                out.write(json.dumps({"id": id, "title": title, "text": paragraph["context"]}) + "\n")

    def texts(self) -> list[str]:
        """All questions."""
        return [question["question"].strip() for _, _, paragraph in self._paragraphs for question in paragraph["qas"]]

    def questions(self, passages: dict[str, list[tuple[str, str]]]) -> tuple[list[AskedQuestion], int]:
        """The questions that a passage answers, and how many none does."""
        answerable: list[AskedQuestion] = []
        left_out = 0
        for id, _, paragraph in self._paragraphs:
            for question in paragraph["qas"]:
                answers = [answer["text"] for answer in question["answers"]]
                gold = frozenset(name for name, text in passages[id] if any(answer in text for answer in answers))
                if gold:
                    answerable.append(AskedQuestion(question["question"].strip(), gold, tuple(answers)))
                else:
                    left_out += 1
        return answerable, left_out


def _every_nth(questions: Sequence[AskedQuestion], wanted: int) -> tuple[AskedQuestion, ...]:
    """`wanted` questions spread evenly over all of them; all where there are not as many."""
    count = min(wanted, len(questions))
    return tuple(questions[place * len(questions) // count] for place in range(count))


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
