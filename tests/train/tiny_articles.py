"""Four tiny articles: as questions in SQuAD's form, whose answers are whole sentences, and as a library to ask."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wherefrom.config import resolve
from wherefrom.library import Library
from wherefrom.systems.rankqa.material import reading
from wherefrom.types import Document

SENTENCES = ("rank.kind=none", "read.kind=sentence", "judge.kind=lexical", "rerank.candidates=8")  # needs no network
FACTS = [
    ("Harbour", "harbour", ("Ines Moreau", "1908", "granite")),
    ("Garden", "garden", ("Tomas Reyl", "1911", "clay")),
    ("Mill", "mill", ("Ada Quist", "1874", "oak")),
    ("Bridge", "bridge", ("Otto Lind", "1932", "steel")),
]


def article(title: str, thing: str, facts: Sequence[str]) -> dict[str, Any]:
    who, when, what = facts
    text = f"The {thing} was built by {who}. The {thing} opened in {when}. The {thing} is made of {what}."
    sentences = [f"{part.strip()}." for part in text.split(".") if part.strip()]
    asked = [f"Who built the {thing}?", f"When did the {thing} open?", f"What is the {thing} made of?"]
    questions = [
        {"id": f"{thing}-{place}", "question": ask, "answers": [{"text": said, "answer_start": text.index(said)}]}
        for place, (ask, said) in enumerate(zip(asked, sentences, strict=True))
    ]
    return {"title": title, "paragraphs": [{"context": text, "qas": questions}]}


def write_squad(folder: Path) -> Path:
    """A folder of datasets that holds squad, valid; twelve questions."""
    (folder / "squad").mkdir(parents=True)
    articles = [article(*fact) for fact in FACTS]
    (folder / "squad" / "valid-v1.1.json").write_text(json.dumps({"version": "1.1", "data": articles}))
    return folder


def library(folder: Path, *overrides: str) -> Library:
    """The articles in a library, below that folder; made if it is not there."""
    made = Library(folder / "library", reading(resolve(overrides=[*SENTENCES, *overrides])))
    if not (folder / "library").exists():
        texts = [article(*fact)["paragraphs"][0]["context"] for fact in FACTS]
        made.put([Document(f"{number}.txt", text) for number, text in enumerate(texts)])
    return made
