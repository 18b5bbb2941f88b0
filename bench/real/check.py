"""Whether every quote stands in its document as a person sees it: python -m bench.real.check DIR."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.real.fetch import Collection, collections, folder_of
from bench.real.questions import RealQuestion, faults, load
from bench.real.visible import PdfReaderMissing, visible_text, words


def missing_quotes(collection: Collection, root: Path, questions: Sequence[RealQuestion]) -> Iterator[str]:
    """The questions of one collection whose document is not there, or does not say what is quoted."""
    seen: dict[str, str] = {}
    for question in questions:
        if question.collection != collection.name or question.evidence is None:
            continue
        name = question.evidence.document
        file = folder_of(collection, root) / name
        if not file.is_file():
            yield f"{question.id}: there is no {file}"
            continue
        if name not in seen:
            seen[name] = f" {words(visible_text(file))} "
        if f" {words(question.evidence.quote)} " not in seen[name]:
            yield f"{question.id}: {name} does not say {question.evidence.quote!r}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.real.check", description=__doc__)
    parser.add_argument("dir", type=Path, help="where the collections are")
    options = parser.parse_args(arguments)
    questions = load()
    found = list(faults(questions))
    try:
        for collection in collections().values():
            found += missing_quotes(collection, options.dir, questions)
    except PdfReaderMissing as error:
        print(f"check: {error}", file=sys.stderr)
        return 2
    for fault in found:
        print(fault)
    print(f"{len(questions)} questions, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
