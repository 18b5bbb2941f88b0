"""What is asked of what: passages ready-cut, and questions with what is right, the same for every system.

    real      the seven collections of bench/real, a library each; 300 questions, 80 of which nothing answers
    open      questions of squad/valid and of NQ-open over one library: their own passages and Wikipedia's

Passages are those that wherefrom cuts, since peers are given passages too. A set is a folder: `<library>.jsonl` a
library, with {"key", "title", "text"} a line, and `questions.jsonl` with an `Asked` a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TypeVar

from bench import corpus
from bench.peers.child import Line
from bench.real import run as real_run
from bench.real.fetch import collections
from bench.real.questions import RealQuestion, load
from wherefrom.config import Settings
from wherefrom.data import nqopen, squad
from wherefrom.data.examples import Example
from wherefrom.durable import write_text
from wherefrom.ingest.split import split
from wherefrom.runtime.reader import heading

SEED = 20261119
_Item = TypeVar("_Item")
QUESTIONS = "questions.jsonl"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, of one library."""

    id: str
    part: str  # what its figures are told under: tune, test, squad, nq
    library: str
    question: str
    kind: str
    answers: tuple[str, ...]  # none where the library does not answer
    near_miss: bool = False

    @property
    def judged(self) -> RealQuestion:
        """As the judgement of bench/real takes it."""
        answerable = bool(self.answers)
        return RealQuestion(
            self.id, "", "test", self.kind, self.question, self.answers, None, answerable, self.near_miss
        )


def questions_of(folder: Path) -> list[Asked]:
    """The questions of a set that was made."""
    lines = (folder / QUESTIONS).read_text(encoding="utf-8").splitlines()
    return [Asked(**{**line, "answers": tuple(line["answers"])}) for line in map(json.loads, lines)]


def libraries_of(folder: Path) -> dict[str, Path]:
    """The files of passages by the name of their library; the smallest first, which is asked the first question."""
    files = [file for file in folder.glob("*.jsonl") if file.name != QUESTIONS]
    return {file.stem: file for file in sorted(files, key=lambda file: (file.stat().st_size, file.name))}


def passages_of(file: Path) -> Iterator[Line]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


# ----------------------------------------------------------------------------------------------- made


def real(folder: Path, root: Path, names: Sequence[str] = (), say: Callable[[str], None] = print) -> None:
    """The collections that `python -m bench.real.fetch` made in `root`, or those of them that are named."""
    chosen = [question for question in load() if not names or question.collection in names]
    known = collections()
    for name in sorted({question.collection for question in chosen}):
        if (folder / f"{name}.jsonl").exists():
            continue
        say(f"reading the collection {name}")
        with real_run.library_of(known[name], root, Settings()) as library:
            cut = [passage for facts in library.documents() for passage in library.passages_of(facts.id)]
        _write(folder / f"{name}.jsonl", (_line(passage.id, heading(passage), passage.text) for passage in cut))
    asked = [
        Asked(each.id, each.half, each.collection, each.question, each.kind, each.answers, each.near_miss)
        for each in chosen
    ]
    _write(folder / QUESTIONS, map(asdict, asked))


def open_domain(folder: Path, passages: int, questions: int) -> None:
    """Questions of squad/valid and of NQ-open, as many of each; all their passages, and as many of Wikipedia's."""
    if (folder / QUESTIONS).exists():
        return
    source = corpus.find_source()
    on_squad = list(squad.load(source.folder / "squad", "valid"))
    on_nq = [each for each in nqopen.load(source.folder / "nq_oracle", "train") if each.passages]
    texts = {passage.id: (passage.title, passage.text) for each in (*on_squad, *on_nq) for passage in each.passages}
    lines = list(_own(texts)) + list(_wikipedia(source, passages - len(texts)))
    _write(folder / "wikipedia.jsonl", lines)
    asked = [*_asked(spread(on_squad, questions), "squad"), *_asked(spread(on_nq, questions), "nq")]
    _write(folder / QUESTIONS, map(asdict, asked))


def spread(items: Sequence[_Item], wanted: int) -> list[_Item]:
    """`wanted` of them, drawn evenly: one of every so many."""
    count = min(wanted, len(items))
    random = Random(SEED)
    bounds = [place * len(items) // count for place in range(count + 1)] if count else []
    return [items[random.randrange(low, high)] for low, high in pairwise(bounds)]


def _own(texts: dict[str, tuple[str, str]]) -> Iterator[Line]:
    for id, (title, text) in texts.items():
        for place, (start, end) in enumerate(split(text)):
            yield _line(f"{id}/{place}", title, text[start:end])


def _wikipedia(source: corpus.Source, wanted: int) -> Iterator[Line]:
    made = 0
    for file in source.wikipedia:
        for record in corpus.records(file):
            for place, (start, end) in enumerate(split(record.text)):
                if made >= wanted:
                    return
                made += 1
                yield _line(f"{record.id}#{place}", record.title, record.text[start:end])


def _asked(examples: Sequence[Example], part: str) -> list[Asked]:
    return [
        Asked(f"{part}-{each.question.id}", part, "wikipedia", each.question.text, "fact", tuple(each.answers))
        for each in examples
    ]


def _line(key: str, title: str, text: str) -> Line:
    return {"key": key, "title": title, "text": text}


def _write(file: Path, lines: Iterable[Line]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
