"""Whether summaries around a question say what people wrote: python -m bench.summaries --data DATA [--record].

QMSum's validation meetings, a document each, as minutes are kept: each query is asked with the meeting named, and again
with the turns alone that people marked for it. Beside it, over the same sentences and in as many words: the first ones,
TextRank (Mihalcea and Tarau 2004), and those most like the query. Paired t-tests over the queries say whether ours is
better.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median

import msgspec

from bench.measure import ROOT
from bench.runs import RUNS, RunLine, record
from wherefrom import Library
from wherefrom.data.opening import json_records, named_files
from wherefrom.features.statements import statements_of
from wherefrom.features.trivial_summaries import BASELINES, filled
from wherefrom.metrics.rouge import Kind, rouge
from wherefrom.metrics.significance import paired_t_test
from wherefrom.origin import commit_of, file_hash
from wherefrom.text import clean, whole_words
from wherefrom.types import Document, Summary

WORK = ROOT / "bench" / "work" / "summaries"
OURS = "wherefrom"
_KINDS: tuple[Kind, ...] = ("1", "2", "L")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query over one document."""

    question: str
    document: str
    reference: str


class _Turn(msgspec.Struct):
    speaker: str
    content: str


class _Query(msgspec.Struct):
    query: str
    answer: str
    spans: list[tuple[int, int]] = msgspec.field(name="relevant_text_span", default_factory=list)


class _Meeting(msgspec.Struct):
    general_query_list: list[_Query]
    specific_query_list: list[_Query]
    meeting_transcripts: list[_Turn]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    file = named_files(options.data / "qmsum", ["val.jsonl"])[0]
    command = " ".join(["python -m bench.summaries", *arguments_of(arguments)])
    lines: list[RunLine] = []
    for over, gold in (("the whole meeting", False), ("the turns that people marked", True)):
        documents, queries = _material(file, gold)
        library = Library(options.work / ("gold" if gold else "meetings"))
        library.put(documents)
        with library:
            lines += measured(library, queries[: options.limit], options.words, over, command, file)
    for line in lines:
        print(
            f"{line.over}: {line.system}: " + ", ".join(f"{name} {value:.4g}" for name, value in line.metrics.items())
        )
    if options.record:
        record(lines, RUNS)
    return 0


def arguments_of(arguments: Sequence[str] | None) -> list[str]:
    given = list(sys.argv[1:] if arguments is None else arguments)
    return [
        "DATA" if before == "--data" else "WORK" if before == "--work" else each
        for before, each in zip(["", *given], given, strict=False)
    ]


def _material(file: Path, gold: bool) -> tuple[list[Document], list[Asked]]:
    """The meetings and their queries; with `gold` a document a query, of the marked turns."""
    documents, queries = [], []
    for place, meeting in json_records(file, _Meeting, strict=False):
        id = f"meeting-{place.number}.txt"
        if not gold:
            documents.append(Document(id, _minutes(meeting.meeting_transcripts)))
        everything = [*meeting.general_query_list, *meeting.specific_query_list]
        for number, query in enumerate(everything):
            if not gold:
                queries.append(Asked(query.query.strip(), id, query.answer.strip()))
                continue
            marked = sorted({turn for first, last in query.spans for turn in range(first, last + 1)})
            if marked:
                own = f"meeting-{place.number}-{number}.txt"
                documents.append(Document(own, _minutes([meeting.meeting_transcripts[turn] for turn in marked])))
                queries.append(Asked(query.query.strip(), own, query.answer.strip()))
    return documents, queries


def _minutes(turns: Sequence[_Turn]) -> str:
    return "\n\n".join(clean(f"{turn.speaker}: {turn.content}") for turn in turns)


def measured(
    library: Library, queries: Sequence[Asked], words: int, over: str, command: str, file: Path
) -> list[RunLine]:
    """A line a system."""
    scores: dict[str, list[dict[str, float]]] = {}
    seconds: list[float] = []
    borne: list[tuple[int, int]] = []
    declined = 0
    for query in queries:
        begun = time.perf_counter()
        summary = library.summarize(query.question, words, [query.document]).summary
        seconds.append(time.perf_counter() - begun)
        assert summary is not None
        declined += summary.declined
        borne.append(borne_out(summary))
        pool = [statement.text for statement in statements_of(library.passages_of(query.document))]
        texts = {OURS: summary.text}
        for name, order in BASELINES.items():
            texts[name] = filled(pool, order(query.question, pool), words)
        for name, text in texts.items():
            scored = rouge(text, [query.reference], _KINDS)
            scores.setdefault(name, []).append({f"rouge_{kind.lower()}": 100 * scored[kind].f for kind in _KINDS})
    commit, _ = commit_of()
    lines = []
    for name, rows in scores.items():
        metrics = {metric: fmean(row[metric] for row in rows) for metric in rows[0]}
        if name == OURS:
            metrics |= {
                "without_summary": 100 * declined / len(queries),
                "borne_out": 100 * sum(held for held, _ in borne) / max(sum(count for _, count in borne), 1),
                "p50_ms": 1000 * median(seconds),
            }
        else:
            test = paired_t_test([row["rouge_l"] for row in scores[OURS]], [row["rouge_l"] for row in rows])
            metrics["ours_above_p"] = test.p
        lines.append(
            RunLine(
                topic="summaries",
                system=name,
                dataset="qmsum",
                split="val",
                over=over,
                n=len(rows),
                metrics=metrics,
                baseline=name != OURS,
                settings={"words": words},
                seed=None,
                commit=commit,
                date=datetime.now(UTC).date().isoformat(),
                command=command,
                files={f"qmsum/{file.name}": file_hash(file)},
            )
        )
    return lines


def borne_out(summary: Summary) -> tuple[int, int]:
    """Of the names and numbers of all sentences, how many stand in their own evidence, and how many there are."""
    held = count = 0
    for sentence in summary.sentences:
        evidence = " ".join(passage.text for passage in sentence.evidence)
        names = [sentence.text[slice(*span)] for span in whole_words(sentence.text)]
        for name in names:
            if name[0].isupper() or any(map(str.isdigit, name)):
                count += 1
                held += name in evidence
    return held, count


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of datasets")
    parser.add_argument("--words", type=int, default=100, help="of every summary [100]")
    parser.add_argument("--limit", type=int, help="the first so many queries alone")
    parser.add_argument("--work", type=Path, default=WORK, help="where the libraries are kept [bench/work/summaries]")
    parser.add_argument("--record", action="store_true", help="write the lines to runs/summaries.jsonl")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
