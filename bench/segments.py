"""What a search of a BM25 index costs, by the segments that it consists of: python -m bench.segments --files DIR.

An index is filled with SQuAD's paragraphs and the made documents that lie in DIR (`bench.made`, or what `bench.scale`
leaves with --keep in its folder `files`), a batch of 20,000 passages after the other, as an ingest fills it. At each of
the sizes it is searched: all that a search is, and tantivy alone, in CPU time, once everything has been asked before.
A library's own index is measured with --index; nothing is filled then.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import corpus, facts
from bench.measure import percentile
from bench.running import WORK, count, exit_code, row, write
from wherefrom.config import IndexSettings
from wherefrom.ingest.split import split
from wherefrom.origin import file_hash
from wherefrom.retrieve.analysis import Analysis
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.store.library import BATCH

SIZES = (75_000, 150_000, 300_000, 321_000, 600_000)
_HITS = 20


@dataclass(frozen=True, slots=True)
class SearchTimes:
    """Milliseconds of CPU a search, of an index as it is."""

    segments: tuple[int, ...]  # how many passages each has
    p50: float
    p99: float
    tantivy_p50: float

    @property
    def passages(self) -> int:
        return sum(self.segments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)

    def measured() -> list[Any]:
        report = bench(options.index or [], options.files, sorted(options.passages), options.questions)
        write(options.out, markdown(report), report)
        return []

    return exit_code(measured)


def bench(indexes: Sequence[Path], files: Path | None, sizes: Sequence[int], questions: int) -> dict[str, Any]:
    """Measure the indexes that there are, or one that is filled for it."""
    source = corpus.find_source()
    report: dict[str, Any] = {
        "by_segments": [],
        "facts": asdict(facts.collect()),
        "date": datetime.now(UTC).date().isoformat(),
        "data_sha256": {source.squad.name: file_hash(source.squad)},
    }
    with tempfile.TemporaryDirectory() as work:
        paragraphs = Path(work) / "squad.jsonl"
        asked = [question.text for question in corpus.squad_asked(source, paragraphs, questions)]
        report["questions"] = len(asked)
        times = [search_times(index, asked) for index in indexes]
        if not indexes:
            made = sorted(files.glob("made-*.jsonl")) if files else []
            times = list(_grown(Path(work) / "index", [paragraphs, *made], sizes, asked))
    report["by_segments"] = [{**asdict(each), "passages": each.passages} for each in times]
    return report


def search_times(folder: Path, asked: Sequence[str]) -> SearchTimes:
    """What one question after the other costs an index."""
    import tantivy

    index = BM25Index(folder, IndexSettings())
    index.search(asked, _HITS)  # so that nothing is read from the disk
    whole = _cpu_ms(lambda text: index.search([text], _HITS), asked)
    searcher, schema = index.searcher(), index.schema()
    analysis = Analysis(IndexSettings().language)

    def words(text: str) -> tantivy.Query:
        terms = analysis.of_question(text)
        either = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", term, "freq")) for term in terms]
        return tantivy.Query.boolean_query(either)

    queries = {text: words(text) for text in asked}
    alone = _cpu_ms(lambda text: searcher.search(queries[text], _HITS, count=False), asked)
    segments = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["segments"]
    index.close()
    return SearchTimes(
        tuple(sorted((each["max_doc"] for each in segments), reverse=True)),
        percentile(whole, 50),
        percentile(whole, 99),
        percentile(alone, 50),
    )


def markdown(report: dict[str, Any]) -> str:
    lines = [row(["passages", "segments", "p50", "p99", "tantivy alone, p50"]), "|--:|---|--:|--:|--:|"]
    for each in report["by_segments"]:
        sizes = ", ".join(f"{size:,}" for size in each["segments"])
        times = (f"{each[name]:.2f}" for name in ("p50", "p99", "tantivy_p50"))
        lines.append(row([f"{each['passages']:,}", f"{len(each['segments'])}: {sizes}", *times]))
    return "\n".join(lines) + "\n"


def _cpu_ms(done: Callable[[str], object], asked: Sequence[str]) -> list[float]:
    times = []
    for text in asked:
        begun = time.process_time()
        done(text)
        times.append(1000 * (time.process_time() - begun))
    return times


def _grown(folder: Path, files: Sequence[Path], sizes: Sequence[int], asked: Sequence[str]) -> Iterator[SearchTimes]:
    """The index at each size, or once at the end where the files do not reach it."""
    index = BM25Index(folder, IndexSettings())
    index.create()
    wanted = list(sizes)
    keys: list[int] = []
    texts: list[str] = []
    key = 0
    for title, text in _documents(files):
        for start, end in split(text):
            key += 1
            keys.append(key)
            texts.append(f"{title}\n{text[start:end]}")
        reached = bool(wanted) and key >= wanted[0]
        if len(keys) >= BATCH or reached:
            index.put(keys, texts)
            index.commit()
            keys, texts = [], []
        if reached:
            wanted.pop(0)
            yield search_times(folder, asked)
        if not wanted:
            return
    index.put(keys, texts)
    index.commit()
    yield search_times(folder, asked)


def _documents(files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                yield record["title"], record["text"]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.segments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=Path, metavar="DIR", help="made documents; without, SQuAD's paragraphs alone")
    parser.add_argument("--index", type=Path, action="append", help="an index that is there; may be repeated")
    parser.add_argument("--passages", type=count, nargs="+", default=SIZES, help="(default %(default)s)")
    parser.add_argument("--questions", type=count, default=300, help="(default %(default)s)")
    parser.add_argument("--out", type=Path, default=WORK / "segments.md", help="JSON goes beside it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
