"""Sets of documents around a query: QMSum's meetings, SQuALITY's stories, Wikipedia's articles, and DUC's news."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from random import Random
from typing import Literal, get_args

from wherefrom.config import IngestSettings
from wherefrom.data import duc, qmsum, squality
from wherefrom.data.examples import Example
from wherefrom.data.opening import named_files
from wherefrom.ingest.formats import Record, read
from wherefrom.systems.pqsum.settings import SetsSettings
from wherefrom.text import sentences

Role = Literal["train", "valid", "test"]
Place = tuple[int, int]  # the number of a set, and of a document of it

_TENTHS: tuple[Role, ...] = ("train", "train", "train", "test", "valid", "train", "test", "train", "test", "valid")
_FIFTHS: tuple[Role, ...] = ("train", "train", "train", "train", "valid")  # as the source: 20 % of the sets watch
_YEARS = ("2005", "2006", "2007")
_MARK = re.compile(r"\s*\{[a-z ]+\}")  # {vocalsound}, {disfmarker}: noises in transcripts
_HEADING = 6  # blanks that a paragraph has and a heading has not
_LEAD = range(100, 301)  # words of what comes before an article's first heading
_BODY = range(1_500, 6_001)  # words of the rest


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """A query, documents around it, and what people wrote."""

    source: str  # qmsum, squality, wikipedia, or a year of DUC
    role: Role
    query: str
    documents: tuple[str, ...]
    references: tuple[str, ...]


def pieces(text: str) -> list[str]:
    """The text's sentences."""
    return [text[start:end] for start, end in sentences(text)]


def gathered(data: Path, settings: SetsSettings) -> list[DocumentSet]:
    """All sets, those of one source together."""
    words = settings.document_words
    if settings.tested != "stand-ins":
        sets = [each for year in _YEARS for each in _news(data, year, settings.tested, words)]
    else:
        sets = [*_meetings(data, words), *_stories(data, words), *_articles(data, settings.wikipedia, words)]
    return _first_measured(sets, settings.measured) if settings.measured else sets


def files_of(data: Path, settings: SetsSettings) -> list[Path]:
    """The files that the sets are made of."""
    if settings.tested != "stand-ins":
        return sorted(file for file in (data / "duc").rglob("*") if file.is_file())
    files = [*named_files(data / "qmsum", ["*.jsonl"]), *named_files(data / "squality", ["train.jsonl"])]
    return [*files, *_articles_of(data, settings.wikipedia)]


def sampled(sets: Sequence[DocumentSet], role: Role, count: int, seed: int) -> list[Place]:
    """So many documents of a role, as many of each source as it has, in order."""
    of_role = [at for at, each in enumerate(sets) if each.role == role]
    places: list[Place] = []
    groups = [list(group) for _, group in groupby(of_role, key=lambda at: sets[at].source)]
    for left, group in zip(
        range(len(groups), 0, -1), sorted(groups, key=lambda group: _size(sets, group)), strict=True
    ):
        own = [(at, number) for at in group for number in range(len(sets[at].documents))]
        share = (count - len(places)) // left
        places += own if len(own) <= share else Random(f"{seed} {role}").sample(own, share)
    return sorted(places)


def everywhere(sets: Sequence[DocumentSet], role: Role) -> list[Place]:
    """Every document of a role."""
    return [(at, number) for at, each in enumerate(sets) if each.role == role for number in range(len(each.documents))]


def cut(text: str, words: int) -> list[str]:
    """Whole sentences together, up to so many words; a longer sentence is a document of its own."""
    documents: list[str] = []
    begin, last, count = 0, 0, 0
    for start, end in sentences(text):
        length = len(text[start:end].split())
        if count and count + length > words:
            documents.append(text[begin:last])
            count = 0
        if not count:
            begin = start
        last, count = end, count + length
    return [*documents, text[begin:last]] if count else documents


def write_sets(path: Path, sets: Sequence[DocumentSet]) -> None:
    """As JSON, packed; documents that several queries share are written once."""
    shared: dict[tuple[str, ...], int] = {}
    lines = [
        {
            "source": each.source,
            "role": each.role,
            "query": each.query,
            "documents": shared.setdefault(each.documents, len(shared)),
            "references": each.references,
        }
        for each in sets
    ]
    with lzma.open(path, "wt", encoding="utf-8") as file:
        json.dump({"documents": list(shared), "sets": lines}, file, ensure_ascii=False)


def read_sets(path: Path) -> list[DocumentSet]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        held = json.load(file)
    shared = [tuple(documents) for documents in held["documents"]]
    return [
        DocumentSet(each["source"], each["role"], each["query"], shared[each["documents"]], tuple(each["references"]))
        for each in held["sets"]
    ]


# Inside.


def _first_measured(sets: Sequence[DocumentSet], count: int) -> list[DocumentSet]:
    """Of each source so many that are measured on, and all others."""
    kept: list[DocumentSet] = []
    seen: Counter[str] = Counter()
    for each in sets:
        seen[each.source] += each.role == "test"
        if each.role != "test" or seen[each.source] <= count:
            kept.append(each)
    return kept


def _size(sets: Sequence[DocumentSet], group: Iterable[int]) -> int:
    return sum(len(sets[at].documents) for at in group)


def _meetings(data: Path, words: int) -> Iterator[DocumentSet]:
    """QMSum's, a topic or a part of one a document; a fifth of its training part is watched, `val` is measured on."""
    train = _in_turn(qmsum.load(data / "qmsum", "train", topics=True), _FIFTHS)
    for example, role in [*train, *((each, "test") for each in qmsum.load(data / "qmsum", "val", topics=True))]:
        yield _made(example, "qmsum", _role(role), words)


def _stories(data: Path, words: int) -> Iterator[DocumentSet]:
    for example, role in _in_turn(squality.load(data / "squality", "train"), _TENTHS):
        yield _made(example, "squality", role, words)


def _news(data: Path, year: str, tested: str, words: int) -> Iterator[DocumentSet]:
    roles: tuple[Role, ...] = ("test",) if year == tested else _FIFTHS
    for example, role in _in_turn(duc.load(data / "duc", year), roles):
        yield _made(example, f"duc-{year}", role, words)


def _articles(data: Path, count: int, words: int) -> Iterator[DocumentSet]:
    """An article's lead is the summary of the rest, for whoever asks what to know of its title."""
    files = _articles_of(data, count)
    for number, file in enumerate(files):
        own = count // len(files) + (number < count % len(files))
        articles = (each for each in read(file, IngestSettings()) if isinstance(each, Record))
        parted = ((article.title, *lead_and_body(article.title, article.text)) for article in articles)
        fit = (each for each in parted if len(each[1].split()) in _LEAD and len(each[2].split()) in _BODY)
        for at, (title, lead, body) in enumerate(islice(fit, own)):
            query = f"What should one know about {title}?"
            yield DocumentSet("wikipedia", _TENTHS[at % len(_TENTHS)], query, tuple(cut(body, words)), (lead,))


def _articles_of(data: Path, count: int) -> list[Path]:
    return named_files(data / "wikipedia", ["*.txt"]) if count else []


def lead_and_body(title: str, text: str) -> tuple[str, str]:
    """The paragraphs before the first heading, and those after it; headings are left out."""
    lines = [line for line in text.split("\n") if line.strip() and line.strip() != title]
    first = next((at for at, line in enumerate(lines) if line.count(" ") < _HEADING), len(lines))
    lead, body = lines[:first], [line for line in lines[first:] if line.count(" ") >= _HEADING]
    return "\n\n".join(lead), "\n\n".join(body)


def _made(example: Example, source: str, role: Role, words: int) -> DocumentSet:
    documents = [part for passage in example.passages for part in cut(_MARK.sub("", passage.text), words)]
    return DocumentSet(source, role, example.question.text, tuple(documents), example.summaries)


def _in_turn(examples: Iterable[Example], roles: Sequence[Role]) -> list[tuple[Example, Role]]:
    """Examples of one article have one role; articles take the roles in turn."""
    grouped = groupby(examples, key=lambda example: example.article)
    return [
        (example, roles[number % len(roles)]) for number, (_, group) in enumerate(grouped) for example in list(group)
    ]


def _role(name: str) -> Role:
    return next(role for role in get_args(Role) if role == name)
