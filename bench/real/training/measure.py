"""What a reader reads out of the right passage, on held-out questions: python -m bench.real.training.measure FILE.

    python -m bench.real.training.measure manuals.jsonl --out bench/real/results/manuals-shipped.json
    python -m bench.real.training.measure manuals.jsonl --reader OTHER --squad DATA/squad --out other.json

Every second held-out question that has an answer in words; with `--squad`, all of SQuAD's validation questions too.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wherefrom.build import build
from wherefrom.config import resolve
from wherefrom.data import manuals, squad
from wherefrom.durable import write_text
from wherefrom.evaluate.first_answers import first_answer_scores
from wherefrom.origin import commit_of, file_hash
from wherefrom.runtime.weights import SHIPPED


def measured(file: Path, reader: Path, squad_folder: Path | None = None) -> dict[str, Any]:
    """Exact match and F1 over the passage that each question was written over."""
    examples = [each for each in manuals.load(file) if manuals.is_held_out(each) and each.spans][::2]
    alone = [replace(each, passages=each.passages[:1], relevant=each.relevant[:1]) for each in examples]
    read = build(resolve(overrides=[f"runtime.reader={reader.resolve()}", "read.kind=span"]), None).reader
    commit, changed = commit_of()
    figures: dict[str, Any] = {"manuals": {"questions": len(alone), **first_answer_scores(read, alone)}}
    if squad_folder is not None:
        questions = list(squad.load(squad_folder, "valid"))
        figures["squad/valid"] = {"questions": len(questions), **first_answer_scores(read, questions)}
    origin = {"model.onnx": file_hash(reader / "model.onnx"), "manuals": file_hash(file)}
    return {"commit": commit, "uncommitted_changes": changed, "sha256": origin, "figures": figures}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.real.training.measure", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("manuals", type=Path, help="what `python -m bench.real.training.build` made")
    parser.add_argument(
        "--reader", type=Path, default=SHIPPED / "reader", help="a folder of weights (default: shipped)"
    )
    parser.add_argument("--squad", type=Path, help="the folder of SQuAD, to measure its validation questions too")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    options = parser.parse_args(arguments)
    result = measured(options.manuals, options.reader, options.squad)
    write_text(options.out, json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["figures"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
