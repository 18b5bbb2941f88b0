"""Asks the questions of the real collections and says what went wrong where: python -m bench.real.run DIR --out FILE.

    python -m bench.real.fetch DIR
    python -m bench.real.run DIR --half tune --out tune.jsonl
    python -m bench.real.run DIR --half tune --collection pdf --set retrieve.k=40 --out more.jsonl

Every collection becomes a library of its own, kept in DIR/.libraries until files, the readers of files or the settings
that shape passages change. FILE gets one line a question; the tables are printed, and stand beside it as Markdown.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.real.fetch import Collection, collections, folder_of
from bench.real.questions import FILE, HALVES, RealQuestion, load
from bench.real.scoring import first_sentence, is_right, judged
from bench.real.summary import QuestionResult, figures, tables
from wherefrom.config import FIXED_SECTIONS, Settings, resolve, to_mapping
from wherefrom.durable import write_text
from wherefrom.errors import WherefromError
from wherefrom.library import Library
from wherefrom.origin import PACKAGE, commit_of, file_hash
from wherefrom.types import STYLES, Style

LIBRARIES = ".libraries"


@dataclass(frozen=True, slots=True)
class RealRun:
    """What is asked of what."""

    root: Path
    settings: Settings
    questions: Sequence[RealQuestion]
    style: Style = "short"


def run(plan: RealRun, say: Callable[[str], None] = print) -> list[QuestionResult]:
    """Ask everything, one collection after the other."""
    lines: list[QuestionResult] = []
    known = collections()
    for name in dict.fromkeys(question.collection for question in plan.questions):
        asked = [question for question in plan.questions if question.collection == name]
        with library_of(known[name], plan.root, plan.settings) as library:
            documents, passages = library.counts()
            say(f"{name}: {documents} documents, {passages} passages, {len(asked)} questions")
            lines += ask(library, asked, plan.style)
    return lines


def library_of(collection: Collection, root: Path, settings: Settings) -> Library:
    """The library of a collection, made or brought up to date."""
    folder = folder_of(collection, root)
    if not folder.is_dir():
        raise WherefromError(f"there is no collection {folder}; `python -m bench.real.fetch {root}` makes it")
    library = Library(root / LIBRARIES / f"{collection.name}-{_shape(settings)}", settings)
    library.ingest([folder], prune=True)
    return library


def _shape(settings: Settings) -> str:
    """What the passages depend on besides the files: the code that reads them, and the settings that cut and index."""
    whole = hashlib.sha256()
    for file in sorted((PACKAGE / "ingest").glob("*.py")):
        whole.update(file.read_bytes())
    shaping = to_mapping(settings)
    whole.update(json.dumps({name: shaping[name] for name in ("ingest", *FIXED_SECTIONS)}, sort_keys=True).encode())
    return whole.hexdigest()[:8]


def ask(library: Library, questions: Sequence[RealQuestion], style: Style) -> list[QuestionResult]:
    """The questions put to one library. Nothing is declined in asking, so that what was withheld can be judged too."""
    needed = library.settings().judge.min_chance
    documents = {facts.id: library.document(facts.id).text for facts in library.documents()}
    lines: list[QuestionResult] = []
    for question in questions:
        begin = time.perf_counter()
        trace = library.ask(question.question, style, min_chance=0.0)
        seconds = time.perf_counter() - begin
        text = trace.answer.text if trace.answer else None
        chance = trace.answer.chance if trace.answer else 0.0
        answered = text is not None and chance >= needed
        verdict = judged(question, trace, answered, documents)
        sentence = first_sentence(trace.hits)
        lines.append(
            QuestionResult(
                id=question.id,
                collection=question.collection,
                half=question.half,
                kind=question.kind,
                question=question.question,
                answerable=question.answerable,
                near_miss=question.near_miss,
                text=text,
                chance=round(chance, 4),
                answered=answered,
                right=is_right(text, question),
                outcome=verdict.outcome,
                stage=verdict.stage,
                detail=verdict.detail,
                rank=verdict.rank,
                passage=trace.candidates[0].passage.id if trace.candidates else None,
                candidates=[candidate.text for candidate in trace.candidates[:5]],
                accepted=list(question.answers),
                first_sentence=sentence,
                first_sentence_right=is_right(sentence, question),
                seconds=round(seconds, 3),
            )
        )
    return lines


def write(out: Path, lines: Sequence[QuestionResult], plan: RealRun) -> str:
    """The results, one line a question, with the tables and what they come from beside them; the tables."""
    commit, changed = commit_of()
    origin = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "uncommitted_changes": changed,
        "questions_sha256": file_hash(FILE),
        "style": plan.style,
        "settings": to_mapping(plan.settings),
    }
    told = tables(lines, plan.settings.judge.min_chance)
    all_figures = figures(lines)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    write_text(out.with_suffix(".md"), f"{told}\n\n{origin['date']}, commit {commit}, style {plan.style}\n")
    summary = {"origin": origin, "figures": {name: getattr(all_figures, name) for name in all_figures.__slots__}}
    write_text(out.with_suffix(".summary.json"), json.dumps(summary, indent=1) + "\n")
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    questions = [
        question
        for question in load()
        if options.half in (None, question.half)
        and (not options.collection or question.collection in options.collection)
    ]
    try:
        plan = RealRun(options.dir, resolve(options.settings, options.set), questions, options.style)
        lines = run(plan, lambda line: print(line, file=sys.stderr, flush=True))
    except WherefromError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    print(write(options.out, lines, plan))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.real.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dir", type=Path, help="where `python -m bench.real.fetch` has made the collections")
    parser.add_argument("--half", choices=HALVES, help="tune to work with, test for the report alone (default both)")
    parser.add_argument(
        "--collection", action="append", choices=sorted(collections()), help="only this one; may be repeated"
    )
    parser.add_argument("--style", choices=STYLES, default="short", help="of the answers (default %(default)s)")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="a TOML file of settings")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="such as retrieve.k=40")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines; .md and .summary.json go beside it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
