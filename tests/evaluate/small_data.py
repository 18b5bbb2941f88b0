"""Small datasets in their published formats, written by tests."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

PARAGRAPHS = {
    "Harbour": [
        (
            "The harbour of Ostrava Bay opened in 1908. Its lighthouse was built by Ines Moreau.",
            [("h1", "When did the harbour open?", ["1908"]), ("h2", "Who built the lighthouse?", ["Ines Moreau"])],
        ),
        (
            "Ferries leave the pier at dawn. The crossing takes two hours.",
            [("h3", "When do ferries leave?", ["at dawn", "dawn"])],
        ),
    ],
    "Garden": [
        (
            "The garden holds 412 kinds of rose. Its gate closes at dusk.",
            [("g1", "How many kinds of rose are there?", ["412"]), ("g2", "When does the gate close?", ["dusk"])],
        )
    ],
}


def squad(articles: dict[str, Any] = PARAGRAPHS) -> dict[str, Any]:
    """SQuAD 1.1 as a JSON object."""
    return {
        "version": "1.1",
        "data": [
            {
                "title": title,
                "paragraphs": [
                    {
                        "context": context,
                        "qas": [
                            {
                                "id": id,
                                "question": question,
                                "answers": [{"text": a, "answer_start": context.index(a)} for a in answers],
                            }
                            for id, question, answers in questions
                        ],
                    }
                    for context, questions in paragraphs
                ],
            }
            for title, paragraphs in articles.items()
        ],
    }


def write_squad(path: Path, articles: dict[str, Any] = PARAGRAPHS) -> Path:
    path.write_text(json.dumps(squad(articles)), encoding="utf-8")
    return path


def write_wikiqa(path: Path) -> Path:
    """WikiQA's TSV: one question with an answer, one without."""
    head = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
    rows = [
        ("Q1", "who built the lighthouse", "D1", "Harbour", "D1-0", "The harbour is old.", 0),
        ("Q1", "who built the lighthouse", "D1", "Harbour", "D1-1", "Ines Moreau built the lighthouse.", 1),
        ("Q1", "who built the lighthouse", "D1", "Harbour", "D1-2", "Boats are built there.", 0),
        ("Q2", "how deep is the sea", "D2", "Sea", "D2-0", "The sea is wide.", 0),
    ]
    path.write_text("\n".join([head, *("\t".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def write_ten_passage_sources(folder: Path, articles: int = 60) -> Path:
    """A data folder with squad, qa2d and wikipedia, large enough for ten passages a question."""
    for name in ("squad", "qa2d", "wikipedia"):
        (folder / name).mkdir(parents=True)
    for split, letters in (("train", "ABCDEF"), ("valid", "UVW")):
        squad_articles = {
            f"Town_{letter}": [
                (
                    f"Town {letter} has {ord(letter)}{number} bridges over its river. Part {number} of town {letter} "
                    f"is old. People walk there in the evening.",
                    [
                        (
                            f"{letter}{number}",
                            f"How many bridges has town {letter} in part {number}?",
                            [f"{ord(letter)}{number}"],
                        )
                    ],
                )
                for number in range(4)
            ]
            for letter in letters
        }
        with lzma.open(folder / "squad" / f"{split}-v1.1.json.xz", "wt", encoding="utf-8") as file:
            json.dump(squad(squad_articles), file)
    columns = "dataset\texample_uid\tquestion\tanswer\tturker_answer\trule-based\n"
    row = "SQuAD\tx1\tHow many bridges has town A in part 0 ?\t650\tTown A has 650 bridges in part 0 .\tno\n"
    (folder / "qa2d" / "train.tsv").write_text(columns + row)
    other = "SQuAD\tx2\tHow many bridges has town U in part 1 ?\t851\tTown U has 851 bridges .\tno\n"
    (folder / "qa2d" / "valid.tsv").write_text(columns + other)
    with lzma.open(folder / "wikipedia" / "AA.txt.xz", "wt", encoding="utf-8") as file:
        for number in range(articles):
            text = f"Village {number}\n\nVillage {number} has many bridges and a river town. It is part of a valley.\n"
            file.write(f'<doc id="{number}" url="u" title="Village {number}">\n{text}</doc>\n')
        file.write('<doc id="999" url="u" title="Town A">\nTown A\n\nTown A has 650 bridges over its river.\n</doc>\n')
    return folder
