"""Puts measured figures into runs/: python -m bench.record REPORT.json, or SCORES.json with what it is.

    python -m bench.record bench/work/reader.json                     # a report of bench.reader, .writer, .library, ...
    python -m bench.record scores.json --topic short-answers --system wherefrom --over "the gold paragraph" \\
        --command "wherefrom predict squad DATA/squad --from gold"    # scores of `wherefrom score --out`
    python -m bench.record weights/judge.json --topic judging --dataset ten-passages --split valid --n 4190 \\
        --system wherefrom --take "answerable_f1=100*measured.answerable_f1"      # numbers of any JSON file

`make docs` then makes the page of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.measure import median, percentile
from bench.runs import RUNS, RunLine, record
from wherefrom.config import Settings, to_mapping

Report = Mapping[str, Any]
_NAMES = {"tantivy": "raw tantivy", "fts5": "SQLite FTS5", "sklearn": "scikit-learn", "wherefrom": "wherefrom"}
_NETWORKS = {"int8": "wherefrom, 8 bits", "onnx": "onnxruntime, 32 bits", "torch": "torch, 32 bits"}
_SHIPPED = "the networks as shipped, and in 32 bits"
_GROWING = "one library that grows, of SQuAD's paragraphs and made documents"
_SEGMENTS = "one BM25 index as it is filled, by its segments"
_FIELDS = {"cpu_seconds": "ingest_cpu_s", "seconds": "ingest_s"}  # what a growing library's figures are called there
_SECTIONS = {
    "load": "asking and sending",
    "alone": "one client",
    "together": "read together",
    "one_by_one": "one by one",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    report = json.loads(options.file.read_text(encoding="utf-8"))
    if options.topic:
        fresh = [taken(report, options) if options.take else scored(report, options)]
    else:
        kind = kind_of(report)
        if not kind:
            print("bench.record: not a report of bench; say what it is with --topic and --system", file=sys.stderr)
            return 2
        fresh = REPORTS[kind](report)
    record(fresh, options.runs)
    for line in fresh:
        print(f"{line.topic}: {line.system}, {', '.join(part for part in line.table_key if part)}")
    return 0


# Scores, and numbers of any file.


def scored(scores: Report, options: argparse.Namespace) -> RunLine:
    """A line of what `wherefrom score --out` kept."""
    run: Report = scores.get("run") or {}
    metrics = {name: float(value) for name, value in scores.items() if isinstance(value, float)}
    return _line(
        options,
        dataset=options.dataset or scores["dataset"],
        n=options.n or scores["examples"],
        metrics=metrics,
        settings=differing(run),
        commit=options.commit or run.get("commit"),
        date=options.date or run.get("date"),
        intervals={name: tuple(bounds) for name, bounds in scores.get("intervals", {}).items() if name in metrics},
        files={**({run["file"]: run["data_sha256"]} if run else {}), **run.get("weights", {})},
    )


def taken(report: Report, options: argparse.Namespace) -> RunLine:
    """A line of the numbers that `--take` names."""
    facts = report.get("run") or report.get("facts") or report
    return _line(
        options,
        dataset=options.dataset,
        n=options.n,
        metrics=dict(_taken(report, take) for take in options.take),
        settings=dict(setting.split("=", 1) for setting in options.set),
        commit=options.commit or facts.get("commit"),
        date=options.date or facts.get("date"),
        intervals={},
        files={},
    )


def differing(run: Report) -> dict[str, Any]:
    """The settings of a run that are not the defaults, and how it was asked."""
    defaults = to_mapping(Settings())
    changed = {
        f"{section}.{name}": value
        for section, values in run.get("settings", {}).items()
        for name, value in values.items()
        if defaults.get(section, {}).get(name, value) != value
    }
    how = {name: run[name] for name in ("passages_from", "style", "min_chance", "every", "limit") if run.get(name)}
    return {**how, **changed}


def _taken(report: Report, take: str) -> tuple[str, float]:
    name, _, path = take.partition("=")
    factor, _, where = path.rpartition("*")
    value: Any = report
    for step in where.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return name, float(value) * float(factor or 1)


def _line(options: argparse.Namespace, **fields: Any) -> RunLine:
    fields["date"] = fields["date"] or datetime.now(UTC).date().isoformat()
    return RunLine(
        topic=options.topic,
        system=options.system,
        split=options.split,
        over=options.over,
        baseline=options.baseline,
        seed=options.seed,
        command=options.command,
        note=options.note,
        **fields,
    )


# Reports of bench.


def kind_of(report: Report) -> str:
    """Which bench a report is of; nothing where it is of none."""
    marks = {
        "library": "index_search",
        "reader": "networks",
        "writer": "weights_bytes",
        "rerank": "candidates_sha256",
        "server": "one_by_one",
        "scoring": "beside",
        "tfidf": "systems",
        "scale": "growth",
        "segments": "by_segments",
        "served": "served_index",
        "served_kills": "served_kills",
    }
    return next((kind for kind, mark in marks.items() if mark in report), "")


def library_lines(report: Report) -> list[RunLine]:
    """Ingest and search beside peers."""
    over = f"a library of {report['passages']:,} passages"
    lines = []
    for name, system in report["systems"].items():
        search = report["index_search"] if name == "wherefrom" else system["search"]
        metrics = {
            **_built(system["build"]),
            "reopen_s": median(system["first"]["open_seconds"]),
            "search_ms": _ms(search["cpu_seconds"]),
            **_hits(system["quality"]["first_gold"], (1, 10)),
        }
        count = len(search["asked"])
        line = _of_report(report, "speed", _NAMES.get(name, name), over, count, metrics, "library")
        few = (
            f"asked {count} of {report['plan']['questions']:,} questions" if count < report["plan"]["questions"] else ""
        )
        lines.append(msgspec.structs.replace(line, note=few))
    return lines


def tfidf_lines(report: Report) -> list[RunLine]:
    """The TF-IDF index beside BM25 and peers."""
    names = {**_NAMES, "wherefrom-tfidf": "retrieve.kind=tfidf", "wherefrom-bm25": "retrieve.kind=bm25"}
    over = f"{report['passages']:,} passages, indexed only"
    lines = []
    for name, system in report["systems"].items():
        metrics = {
            **_built(system["build"]),
            "search_ms": _ms(system["search"]["cpu_seconds"]),
            **_hits(system["quality"]["first_gold"], (1, 5, 20)),
        }
        lines.append(_of_report(report, "retrieval", names[name], over, report["questions"], metrics, "tfidf"))
    return lines


def served_lines(report: Report) -> list[RunLine]:
    """An index on a server beside the one on disk."""
    passages, questions = report["passages"], report["questions"]
    own = percentile(report["asked"]["wherefrom"]["seconds"], 50)
    lines = []
    for name, asked in report["asked"].items():
        built = report["built"].get(name)
        there = 0.0 if name == "wherefrom" else asked["server_cpu_seconds"]  # which is at work by itself, too
        metrics = {
            "p50_ms": _ms(asked["seconds"]),
            "times_p50": percentile(asked["seconds"], 50) / own,
            "mean_cpu_ms": 1000 * (asked["cpu_seconds"] + there) / questions,
            "same_first": 100 * asked["same_first"],
            "overlap_10": 100 * asked["overlap_10"],
            **_hits(asked["first_gold"], (1, 10, 100)),
        }
        if built:
            metrics["passages_per_s"] = passages / built["seconds"]
            metrics["build_cpu_s"] = built["cpu_seconds"] + built["server_cpu_seconds"]
            metrics["bytes_per_passage"] = built["index_bytes"] / passages
        system = "retrieve.kind=bm25" if name == "wherefrom" else f"retrieve.kind={name}"
        over = f"{passages:,} passages, indexed only"
        lines.append(_of_report(report, "scale", system, over, questions, metrics, "served", name == "wherefrom"))
    return lines


def served_kills_lines(report: Report) -> list[RunLine]:
    """A server that was killed."""
    tally = {name: float(count) for name, count in report["served_kills"].items()}
    over = "a server killed while it is written to and asked, one time in eight with its disk"
    system = "retrieve.kind=qdrant"
    return [_of_report(report, "scale", system, over, int(tally["kills"]), tally, "served_kills", False)]


def reader_lines(report: Report) -> list[RunLine]:
    """The reader network, a whole short answer, and the size of the weights."""
    lines = []
    plan, over = report["plan"], f"a whole short answer over {report['passages']:,} passages"
    for name, seconds in report["ten"]["wall_seconds"].items():
        metrics = {
            "p50_ms": _ms(seconds),
            "p90_ms": _ms(seconds, 90),
            "cpu_ms": _ms(report["ten"]["cpu_seconds"][name]),
        }
        over_passages = f"{plan['passages_read']} passages of {plan['passage_tokens']} tokens ranked and read"
        lines.append(_of_report(report, "speed", _NETWORKS[name], over_passages, len(seconds), metrics, "reader"))
    for name, times in report["asked"].items():
        lines.append(
            _answering(report, _NETWORKS[name], over, times, "reader", {"first_s": median(report["first"][name])})
        )
    for name, network in report["networks"].items():
        sizes = {"file_mb": network["file_bytes"] / 1e6} if network["file_bytes"] else {}
        metrics = {**sizes, "memory_mb": network["memory_bytes"] / 1e6}
        system = f"reader: {_NETWORKS[name]}"
        lines.append(_of_report(report, "size", system, _SHIPPED, 1, metrics, "reader", name != "int8"))
    return lines


def writer_lines(report: Report) -> list[RunLine]:
    """The writer network, a whole sentence, and the size of the weights."""
    lines = []
    for written in report["written"]:
        over = f"a sentence of {report['plan']['written']} tokens from {written['passages']} passages"
        seconds = written["wall_seconds"]
        metrics = {
            "p50_ms": _ms(seconds),
            "p90_ms": _ms(seconds, 90),
            "cpu_ms": _ms(written["cpu_seconds"]),
            "memory_mb": written["memory"]["total"] / 1e6,
        }
        lines.append(_of_report(report, "speed", _NETWORKS[written["system"]], over, len(seconds), metrics, "writer"))
    over = f"a whole answer in a sentence over {report['passages']:,} passages"
    kinds = {"masque": "wherefrom, written", "verbatim": "quoted instead of written"}
    lines += [_answering(report, kinds[times["kind"]], over, times, "writer", {}) for times in report["asked"]]
    size = {"file_mb": report["weights_bytes"] / 1e6}
    return [*lines, _of_report(report, "size", f"writer: {_NETWORKS['int8']}", _SHIPPED, 1, size, "writer", False)]


def rerank_lines(report: Report) -> list[RunLine]:
    """Candidates put in order."""
    over = f"{report['candidates']} candidates put in order" + (", with tags" if report["tagged"] else "")
    names = {"rankqa": "RankQA", "vote": "votes"}
    return [
        _of_report(
            report,
            "speed",
            names.get(name, name.replace("rankqa", "RankQA")),
            over,
            report["questions"],
            {"p50_ms": percentile(times["wall"], 50), "cpu_ms": percentile(times["cpu"], 50)},
            "rerank",
        )
        for name, times in report["times"].items()
    ]


def server_lines(report: Report) -> list[RunLine]:
    """Many clients at once."""
    lines = []
    for section, name in _SECTIONS.items():
        load = report[section]
        answers = load["statuses"].get("200", 0)
        metrics = {
            "answers_per_s": answers / load["seconds"],
            "first_event_ms": load["first_event"]["p50"] * 1000,
            "p50_ms": load["whole"]["p50"] * 1000,
            "memory_mb": max(load["memory"]) / 1e6,
            "failed": float(load["broken"] + sum(count for code, count in load["statuses"].items() if code[0] == "5")),
        }
        over = f"a server over {report['passages']:,} passages"
        system = name if load["clients"] == 1 else f"{name}, {load['clients']} clients"
        lines.append(_of_report(report, "server", system, over, answers, metrics, "server"))
    return lines


def scoring_lines(report: Report) -> list[RunLine]:
    """Metrics computed, beside other packages."""
    over = "items of one metric, from texts or tokens as the other package takes them"
    return [
        _of_report(
            report, "scoring", f"{row['name']}, beside {row['peer']}", over, row["items"], metrics, "metrics", False
        )
        for row in report["beside"]
        for metrics in (
            {"items_per_s": row["items"] / row["seconds"], "peer_items_per_s": row["items"] / row["peer_seconds"]},
        )
    ]


def scale_lines(report: Report) -> list[RunLine]:
    """A library that grows: a line a size."""
    lines = []
    for size in report["sizes"]:
        fields = ("cpu_seconds", "seconds", "text_mb", "index_mb", "store_mb", "memory_mb", "own_memory_mb")
        asked = (
            "index_cpu_ms",
            "index_p99_cpu_ms",
            "search_ms",
            "search_p99_ms",
            "search_cpu_ms",
            "search_p99_cpu_ms",
            "cold_ms",
            "ask_ms",
            "ask_cpu_ms",
            "ask_memory_mb",
            "segments",
            "put_cpu_ms",
            "put_ms",
            "remove_cpu_ms",
            "part_cpu_ms",
        )
        metrics = {_FIELDS.get(name, name): float(size[name]) for name in (*fields, *asked, "top_1", "top_20", "f1")}
        name = f"wherefrom, {size['passages']:,} passages"
        line = _of_report(report, "growth", name, _GROWING, report["questions"], metrics, "scale")
        settings = {**line.settings, "load_before": round(size["load_before"], 1), "asked": size["asked"]}
        expected = {name: round(value, 2) for name, value in size["predicted"].items()}
        note = f"{size['documents']:,} documents; predicted before it was measured: {expected}" if expected else ""
        lines.append(msgspec.structs.replace(line, settings=settings, note=note))
    return lines


def segments_lines(report: Report) -> list[RunLine]:
    """One BM25 index at several sizes."""
    lines = []
    for each in report["by_segments"]:
        sizes = each["segments"]
        metrics = {
            "index_cpu_ms": each["p50"],
            "index_p99_cpu_ms": each["p99"],
            "tantivy_cpu_ms": each["tantivy_p50"],
            "segments": float(len(sizes)),
        }
        name = f"wherefrom's BM25, {each['passages']:,} passages"
        line = _of_report(report, "growth", name, _SEGMENTS, report["questions"], metrics, "segments --files DIR")
        lines.append(msgspec.structs.replace(line, note="of " + ", ".join(f"{size:,}" for size in sizes)))
    return lines


REPORTS: dict[str, Callable[[Report], list[RunLine]]] = {
    "library": library_lines,
    "reader": reader_lines,
    "writer": writer_lines,
    "rerank": rerank_lines,
    "server": server_lines,
    "scoring": scoring_lines,
    "tfidf": tfidf_lines,
    "scale": scale_lines,
    "segments": segments_lines,
    "served": served_lines,
    "served_kills": served_kills_lines,
}


def _answering(report: Report, system: str, over: str, times: Report, bench: str, more: Report) -> RunLine:
    """A whole answer, with the stages it spends its time in."""
    seconds = times["seconds"]
    metrics = {
        "p50_ms": _ms(seconds["whole"]),
        "p90_ms": _ms(seconds["whole"], 90),
        "cpu_ms": _ms(seconds["whole, CPU"]),
        "memory_mb": times["memory"]["total"] / 1e6,
        **more,
    }
    return _of_report(report, "speed", system, over, len(seconds["whole"]), metrics, bench)


def _of_report(
    report: Report,
    topic: str,
    system: str,
    over: str,
    n: int,
    metrics: Mapping[str, float],
    bench: str,
    peer: bool | None = None,
) -> RunLine:
    facts = report.get("facts", report)
    weights = report.get("weights_sha256", {})
    ours = system.startswith(("wherefrom", "retrieve.kind", "RankQA", "votes", *_SECTIONS.values()))
    return RunLine(
        topic=topic,
        system=system,
        dataset="",
        split="",
        over=over,
        n=n,
        metrics=metrics,
        baseline=not ours if peer is None else peer,
        settings={"cpu": facts["cpu"], "cores": facts.get("cores", 1), "load_before": round(facts["load_before"], 1)},
        seed=report.get("seed"),
        commit=facts["commit"],
        date=report["date"],
        command=f"python -m bench.{bench}",
        files={**(weights if isinstance(weights, dict) else {"model.onnx": weights}), **report.get("data_sha256", {})},
    )


def _built(build: Report) -> dict[str, float]:
    return {
        "passages_per_s": build["passages"] / build["seconds"],
        "build_cpu_s": build["cpu_seconds"],
        "memory_mb": build["memory"]["total"] / 1e6,
        "index_mb": build["index_bytes"] / 1e6,
    }


def _hits(first_gold: Sequence[int], depths: Sequence[int]) -> dict[str, float]:
    """How often the gold passage is among the first: its rank by question, 0 where it was not found."""
    return {f"top_{depth}": 100 * sum(0 < rank <= depth for rank in first_gold) / len(first_gold) for depth in depths}


def _ms(seconds: Sequence[float], percent: float = 50) -> float:
    return 1000 * percentile(seconds, percent)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="a JSON file")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where lines are kept (default runs/)")
    parser.add_argument("--topic", default="", help="not needed for a report of bench")
    for name in ("system", "dataset", "over", "command", "note", "commit", "date"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--n", type=int, default=0, help="questions, where the file does not say")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--baseline", action="store_true", help="a trivial system or a peer")
    parser.add_argument("--take", action="append", default=[], metavar="NAME=[FACTOR*]PATH.TO.NUMBER")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting to note")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
