"""Indexes the sample library and answers five of its questions, the last of which it cannot know; one in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SAMPLE = Path(__file__).parent
QUESTION_IDS = ("s109", "s050", "s031", "s102", "s008")  # the last one is not answered by the library


def main(library: str) -> None:
    """Do by hand what a person would type, showing each command."""
    run("ingest", str(SAMPLE / "library"), "--library", library)
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = {row["id"]: row["question"] for row in map(json.loads, lines)}
    for id in QUESTION_IDS:
        run("ask", questions[id], "--library", library)
    run("ask", "--style", "sentence", questions[QUESTION_IDS[0]], "--library", library)
    print(f'\nAsk your own: .venv/bin/wherefrom ask --library {library} "..."')


def run(*arguments: str) -> None:
    shown = " ".join(f'"{argument}"' if " " in argument else argument for argument in arguments)
    print(f"\n$ wherefrom {shown}", flush=True)
    subprocess.run([sys.executable, "-m", "wherefrom", *arguments], check=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo-library")
