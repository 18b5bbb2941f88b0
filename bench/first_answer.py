"""Seconds from Enter to the first word of the answer on the page, in a real browser: `python -m bench.first_answer`.

It serves the sample library, or another one, in a process of its own, and asks its questions one after the other.
One that is declined counts until that is said. The first is not counted: a server is warm after it. The server's
processor time for the whole answer is told beside, since the clock also measures what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import psutil

from bench.browser import chromium
from bench.facts import collect
from bench.server import Server, serving
from wherefrom import Library

SAMPLE = Path(__file__).parents[1] / "sample"
PAGE = Path(__file__).parents[1] / "src" / "wherefrom" / "server" / "page"
ASKED_FOR = 1.5  # seconds, on two cores
_TIMED = """async question => {
    const box = document.getElementById("question");
    box.value = question;
    const begun = performance.now();
    document.getElementById("ask-form").requestSubmit();
    const shown = () => document.querySelector(".turn .answer .word, .turn .declined");
    while (!shown()) await new Promise(requestAnimationFrame);
    const seconds = (performance.now() - begun) / 1000;
    const over = () => /Answered|Declined/.test(document.getElementById("progress").textContent);
    while (!over()) await new Promise(requestAnimationFrame);
    document.getElementById("afresh").click();
    return seconds;
}"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    rows = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(row)["question"] for row in rows][: options.questions + 1]
    with tempfile.TemporaryDirectory() as work:
        path = options.library or Path(work) / "library"
        if options.library is None:
            with Library(path) as library:
                library.ingest([SAMPLE / "library"])
        facts = collect(("wherefrom", "tantivy", "numpy"))
        with serving(path, ()) as server:
            seconds, cpu_seconds = first_answers(server, questions)
    print(summary(seconds, cpu_seconds))
    if options.out:
        figures = {
            "questions": len(seconds),
            "first_words_s": statistics.median(seconds),
            "cpu_s": statistics.median(cpu_seconds),
            "page_kb": sum(path.stat().st_size for path in PAGE.rglob("*") if path.is_file()) / 1000,
        }
        options.out.write_text(json.dumps({"facts": asdict(facts), **figures}, indent=2), encoding="utf-8")
    return 0 if statistics.median(seconds) <= ASKED_FOR else 1


def first_answers(server: Server, questions: Sequence[str]) -> tuple[list[float], list[float]]:
    """The seconds of each question but the first, by the clock and of the server's processor time."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto(server.address)
        page.wait_for_function("() => document.querySelector('input[name=style]')")
        page.wait_for_function("() => document.querySelectorAll('#examples li').length > 2")  # they are asked too
        seconds, cpu_seconds = [], []
        for question in questions:
            before = _cpu_seconds(server)
            seconds.append(float(page.evaluate(_TIMED, question)))
            cpu_seconds.append(_cpu_seconds(server) - before)
    return seconds[1:], cpu_seconds[1:]


def _cpu_seconds(server: Server) -> float:
    root = psutil.Process(server.process)
    times = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def summary(seconds: Sequence[float], cpu_seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    middle, most, slowest = statistics.median(ordered), ordered[int(0.9 * (len(ordered) - 1))], ordered[-1]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"from Enter to the first words on the page, {len(ordered)} questions: median {middle:.2f} s, nine in ten "
        f"{most:.2f} s, slowest {slowest:.2f} s ({os.cpu_count()} cores{load}; asked for: {ASKED_FOR} s); "
        f"of the server's processor time {statistics.median(cpu_seconds):.2f} s in the median"
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.first_answer", description=__doc__)
    parser.add_argument("--library", type=Path, help="another library than the sample one")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--out", type=Path, help="a JSON file for the figures, as `python -m bench.record` reads them")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
