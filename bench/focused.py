"""What QR-BERTSUM and PQSUM are worth beside trivial summaries: python -m bench.focused --work WORK [--record].

WORK is that of `wherefrom reproduce bertsum|pqsum`: each training's scores.json is read, nothing is trained. ROUGE of a
paper's rows stands in runs/bertsum.jsonl and runs/pqsum.jsonl; here is what a sentence of the document, the query
itself and the ablations score on the same questions, with a paired t-test of ROUGE-L against the full system.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.runs import RUNS, RunLine, record
from wherefrom.metrics.rouge import Kind, rouge
from wherefrom.metrics.significance import paired_t_test
from wherefrom.origin import commit_of, file_hash
from wherefrom.text import sentences

FULL = "bidirectional"  # the settings file of the full system
SYSTEMS = {
    FULL: "QR-BERTSUM-TL",
    "qd": "... the query's tokens do not see the document",
    "no-query": "... without the query",
    "vanilla": "... without transfer",
    "xsum-only": "... not tuned",
    "no-weak-supervision": "PQSUM, sentences ranked by CETE",
    "zero-shot-ext": "PQSUM, zero-shot, extracted",
    "zero-shot-abs": "PQSUM, zero-shot, written",
    "weak-roberta": "PQSUM-WSL-DS",
}
_KINDS: tuple[Kind, ...] = ("1", "2", "L")
_OF_DATA = {"debatepedia": ("ten folds", "documents of 100 wordpieces"), "qa2d": ("squad/valid", "gold passages")}
_Rows = list[dict[str, float]]  # a row a summary


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    lines = [*_of_documents(options.work / "bertsum"), *_of_sets(options.work / "pqsum")]
    for line in lines:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in line.metrics.items())
        print(f"{line.dataset}: {line.system}: {shown}")
    if options.record:
        record(lines, RUNS)
    return 0


def _of_documents(work: Path) -> Iterator[RunLine]:
    """QR-BERTSUM's: summaries of one document each."""
    for data, (split, over) in _OF_DATA.items():
        files = {name: sorted(work.glob(f"{name}-{data}-*/scores.json")) for name in SYSTEMS}
        read = {name: [each for file in own for each in _summaries(file)] for name, own in files.items() if own}
        if FULL not in read:
            continue
        full = _scored((each["written"] for each in read[FULL]), read[FULL])
        rows = {
            SYSTEMS[name]: full if name == FULL else _scored((e["written"] for e in own), own)
            for name, own in read.items()
        }
        first = (each["document"][slice(*sentences(each["document"])[0])] for each in read[FULL])
        trivial = {
            "the document's first sentence": _scored(first, read[FULL]),
            "the query, copied": _scored((each["query"] for each in read[FULL]), read[FULL]),
        }
        used = {f"{file.parent.name}/{file.name}": file_hash(file) for own in files.values() for file in own}
        for name, own in {**rows, **trivial}.items():
            if len(own) == len(full):
                yield _line(data, split, over, name, own, full, name in trivial, used)


def _of_sets(work: Path) -> Iterator[RunLine]:
    """PQSUM's: summaries of many documents; its scores.json has the trivial ones too, with tests against row one."""
    of_source: dict[str, dict[str, tuple[Mapping[str, Any], Path]]] = defaultdict(dict)
    for name, system in SYSTEMS.items():
        for file in sorted(work.glob(f"{name}-*/scores.json")):
            for source, figures in json.loads(file.read_text(encoding="utf-8"))["sources"].items():
                of_source[source].setdefault(system, ({**figures, "own": figures["ours"]}, file))
    for source, systems in of_source.items():
        for place, (system, (figures, file)) in enumerate(systems.items()):
            used = {f"{file.parent.name}/{file.name}": file_hash(file)}
            yield _set_line(source, system, figures["own"], figures["sets"], False, used)
            if place == 0:
                for name in figures.keys() - {"sets", "ours", "own"}:
                    yield _set_line(source, name, figures[name], figures["sets"], True, used)


def _summaries(file: Path) -> list[dict[str, str]]:
    read: list[dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))["summaries"]
    return read


def _scored(texts: Iterator[str], wanted: Sequence[Mapping[str, str]]) -> _Rows:
    rows = []
    for text, each in zip(texts, wanted, strict=True):
        scores = rouge(text, [each["summary"]], _KINDS)
        rows.append({f"rouge_{kind.lower()}": 100 * scores[kind].f for kind in _KINDS})
    return rows


def _line(
    data: str, split: str, over: str, system: str, rows: _Rows, full: _Rows, baseline: bool, files: Mapping[str, str]
) -> RunLine:
    metrics = {name: fmean(row[name] for row in rows) for name in rows[0]}
    if rows is not full:
        metrics["ours_above_p"] = paired_t_test([row["rouge_l"] for row in full], [row["rouge_l"] for row in rows]).p
    return _recorded(data, split, over, system, len(rows), metrics, baseline, files)


def _set_line(
    source: str, system: str, figures: Mapping[str, float], sets: int, baseline: bool, files: Mapping[str, str]
) -> RunLine:
    metrics = {f"rouge_{kind.lower()}": 100 * figures[f"rouge_{kind.lower()}_f"] for kind in _KINDS}
    if "p" in figures:
        metrics["ours_above_p"] = figures["p"]
    return _recorded(source, "held out", "sets of documents", system, sets, metrics, baseline, files)


def _recorded(
    data: str,
    split: str,
    over: str,
    system: str,
    n: int,
    metrics: Mapping[str, float],
    baseline: bool,
    files: Mapping[str, str],
) -> RunLine:
    return RunLine(
        topic="focused",
        system=system,
        dataset=data,
        split=split,
        over=over,
        n=n,
        metrics=metrics,
        baseline=baseline,
        settings={},
        seed=None if baseline else 1,
        commit=commit_of()[0],
        date=datetime.now(UTC).date().isoformat(),
        command="python -m bench.focused --work WORK",
        files=files,
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What QR-BERTSUM and PQSUM are worth beside trivial summaries")
    parser.add_argument("--work", type=Path, required=True, help="the WORK of wherefrom reproduce")
    parser.add_argument("--record", action="store_true", help="put the figures into runs/")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
