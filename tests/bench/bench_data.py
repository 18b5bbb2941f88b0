"""A small data folder, in the form of the real one."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

PLACES = ["Ardholm", "Beckford", "Culverton", "Dunmere", "Eastwick", "Farleigh"]


def article(number: int) -> str:
    """An article of about five passages, as WikiExtractor writes it."""
    title = f"{PLACES[number % 6]} {number}"
    facts = [
        f"The {word} of {title} was counted again in {1200 + number * 7 + place} by {number + place} careful clerks."
        for place, word in enumerate("mill bridge market harbour chapel orchard quarry archive".split() * 4)
    ]
    head = f'<doc id="{number}" url="https://example.org/{number}" title="{title}">'
    return f"{head}\n{title}\n\n{' '.join(facts)}\n</doc>\n"


def paragraph(number: int) -> dict[str, object]:
    """A paragraph with one question, as SQuAD has them."""
    return {
        "context": f"Lighthouse number {number} was painted by Keeper{number} Moss. It stands on a grey rock.",
        "qas": [
            {
                "id": f"q{number}",
                "question": f"Who painted lighthouse number {number}?",
                "answers": [{"text": f"Keeper{number} Moss", "answer_start": 37}],
            }
        ],
    }


def pack(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode(), preset=0))


def make_data(folder: Path) -> Path:
    """60 articles in two files and 12 paragraphs with a question each."""
    pack(folder / "wikipedia" / "AA-0.txt.xz", "".join(article(number) for number in range(30)))
    pack(folder / "wikipedia" / "AA-1.txt.xz", "".join(article(number) for number in range(30, 60)))
    articles = [{"title": "Painted_lighthouses", "paragraphs": [paragraph(number) for number in range(100, 112)]}]
    pack(folder / "squad" / "valid-v1.1.json.xz", json.dumps({"version": "1.1", "data": articles}))
    return folder
