"""What a reader alone would have answered, from traces of a pipeline that re-ranks: python -m bench.own_order.

    python -m bench.own_order squad-library.jsonl alone.json
    wherefrom score squad $DATA/squad squad-library.jsonl --against alone.json

Re-rankers keep the reader's score of every candidate, so that the comparison needs no second run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from wherefrom.durable import write_text
from wherefrom.evaluate.predict import read_traces
from wherefrom.types import Candidate


def own_first(candidates: Sequence[Candidate]) -> str:
    """The answer that the reader scored highest; nothing where nothing was read."""
    return (
        max(candidates, key=lambda candidate: candidate.features.get("read", candidate.score)).text
        if candidates
        else ""
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.own_order", description=__doc__)
    parser.add_argument("traces", type=Path, help="what `wherefrom predict` left")
    parser.add_argument("out", type=Path, help="SQuAD's form: the answer by the question's id")
    options = parser.parse_args(arguments)
    answers = {trace.question.id: own_first(trace.candidates) for trace in read_traces(options.traces)}
    write_text(options.out, json.dumps(answers, ensure_ascii=False) + "\n")
    print(f"{len(answers):,} answers in {options.out}")


if __name__ == "__main__":
    main()
