"""Joins the training questions with their documents: python -m bench.real.training.build DIR --out manuals.jsonl.

    python -m bench.real.fetch DIR --collections bench/real/training/collections.toml
    python -m bench.real.training.build DIR --out manuals.jsonl
    wherefrom train reader --manuals manuals.jsonl ...

`questions.jsonl` names for each question its document, and the words that its passage begins with. Every collection
becomes a library; beside the passage stand others that a search finds and that do not hold the answer. No document of
`bench.real`'s own collections is among these.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherefrom.config import resolve
from wherefrom.durable import write_text
from wherefrom.errors import WherefromError
from wherefrom.library import Library
from wherefrom.types import Passage

HERE = Path(__file__).parent
COLLECTIONS = HERE / "collections.toml"
QUESTIONS = HERE / "questions.jsonl"
PRIVATE = HERE / "private.jsonl"
LIBRARIES = ".libraries"
_OTHERS = 8  # passages beside the one that was asked about
_DEPTH = 20


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question, and the passage that it was written over: by its document and its first words."""

    collection: str
    document: str
    begin: str
    question: str
    answer: str | None
    kind: str
    evidence: str | None = None


def load(path: Path = QUESTIONS) -> list[TrainingQuestion]:
    """The questions in the order of the file."""
    return [TrainingQuestion(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def build(root: Path, say: Callable[[str], None] = print) -> Iterator[dict[str, Any]]:
    """Every question with its passage and others; one whose passage is not there any more is counted and left out."""
    by_collection: dict[str, list[TrainingQuestion]] = defaultdict(list)
    for question in load():
        by_collection[question.collection].append(question)
    for name, questions in by_collection.items():
        with _library(name, root) as library:
            passages = _passages(library, root / name)
            lost = 0
            for question in questions:
                gold = next((each for each in passages[question.document] if _is_asked(each, question)), None)
                if gold is None:
                    lost += 1
                else:
                    yield _line(question, gold, library)
            documents, count = library.counts()
        say(
            f"{name}: {documents} documents, {count} passages, {len(questions)} questions, {lost} without their passage"
        )


def _library(name: str, root: Path) -> Library:
    library = Library(root / LIBRARIES / name, resolve(overrides=["rank.kind=none", "retrieve.match=none"]))
    folder = root / name
    if name == "private" and not folder.is_dir():
        folder.mkdir(parents=True)
        for line in PRIVATE.read_text(encoding="utf-8").splitlines():
            paper = json.loads(line)
            write_text(folder / paper["document"], f"{paper['title']}\n\n{paper['text']}\n")
    if not folder.is_dir():
        raise WherefromError(f"there is no {folder}; `python -m bench.real.fetch {root} --collections {COLLECTIONS}`")
    library.ingest([folder], prune=True)
    return library


def _passages(library: Library, folder: Path) -> dict[str, list[Passage]]:
    """The passages of every document, by its path in the collection."""
    passages: dict[str, list[Passage]] = defaultdict(list)
    for facts in library.documents():
        document = facts.source.partition(f"/{folder.name}/")[2]
        passages[document] += library.passages_of(facts.id)
    return passages


def _is_asked(passage: Passage, question: TrainingQuestion) -> bool:
    text = _plain(passage.text)
    quote = question.evidence if question.kind == "yes-no" else question.answer
    return text.startswith(question.begin) and (quote is None or _plain(quote) in text)


def _line(question: TrainingQuestion, gold: Passage, library: Library) -> dict[str, Any]:
    quote = question.evidence if question.kind == "yes-no" else question.answer
    others: list[Passage] = []
    if question.answer is not None:  # a near miss of its own passage may be answered by another
        hits = library.search(question.question, _DEPTH).hits
        near = [hit.passage for hit in hits if hit.passage.id != gold.id]
        others = [each for each in near if _plain(quote or "") not in _plain(each.text)]
    return {
        "collection": question.collection,
        "document": question.document,
        "title": gold.title,
        "section": gold.section,
        "passage": gold.text,
        "question": question.question,
        "answer": question.answer,
        "kind": question.kind,
        "near_miss": question.answer is None,
        "evidence": question.evidence,
        "others": [(each.title, each.section, each.text) for each in others[:_OTHERS]],
    }


def _plain(text: str) -> str:
    return " ".join(text.split())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.real.training.build", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("dir", type=Path, help=f"where the collections of {COLLECTIONS.name} lie")
    parser.add_argument("--out", type=Path, required=True, help="the file for `wherefrom train reader --manuals`")
    options = parser.parse_args(arguments)
    try:
        lines = list(build(options.dir, lambda line: print(line, file=sys.stderr, flush=True)))
    except WherefromError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    write_text(options.out, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    print(f"{len(lines):,} questions: {dict(Counter(line['kind'] for line in lines))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
