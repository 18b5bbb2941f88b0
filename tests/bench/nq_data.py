"""A few natural searches beside the small data folder, as NQ-oracle has them."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

from bench_data import make_data

QUESTIONS = 8


def make_searches(folder: Path) -> Path:
    """The data of `make_data`, and searches with the passage that answers each."""
    make_data(folder)
    records = [
        {
            "question": f"who counted the mills of place {number}",
            "answers": [f"Clerk{number}"],
            "ctxs": [
                {
                    "title": "Mills",
                    "text": f"The mills of place {number} were counted by Clerk{number}.",
                    "isgold": True,
                }
            ],
        }
        for number in range(QUESTIONS)
    ]
    (folder / "nq_oracle").mkdir()
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "nq_oracle" / "train.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    return folder
