"""Seconds from Enter to the first word of the answer on the page, in a real browser: `python -m bench.first_answer`.

It serves the sample library, or another one, in a process of its own, and asks its questions one after the other.
One that is declined counts until that is said. The first is not counted: a server is warm after it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.browser import chromium
from bench.server import serving
from wherefrom import Library

SAMPLE = Path(__file__).parents[1] / "sample"
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
        with serving(path, ()) as server:
            seconds = first_answers(server.address, questions)
    print(summary(seconds))
    return 0 if statistics.median(seconds) <= ASKED_FOR else 1


def first_answers(address: str, questions: Sequence[str]) -> list[float]:
    """The seconds of each question but the first."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_function("() => document.querySelector('input[name=style]')")
        return [float(page.evaluate(_TIMED, question)) for question in questions][1:]


def summary(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    middle, most, slowest = statistics.median(ordered), ordered[int(0.9 * (len(ordered) - 1))], ordered[-1]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"from Enter to the first words on the page, {len(ordered)} questions: median {middle:.2f} s, nine in ten "
        f"{most:.2f} s, slowest {slowest:.2f} s ({os.cpu_count()} cores{load}; asked for: {ASKED_FOR} s)"
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.first_answer", description=__doc__)
    parser.add_argument("--library", type=Path, help="another library than the sample one")
    parser.add_argument("--questions", type=int, default=20)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
