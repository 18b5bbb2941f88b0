"""What people say of answers is kept in the library and becomes training examples."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.conftest import DOCUMENTS
from wherefrom import Library
from wherefrom.data.msmarco import load_ten_passages
from wherefrom.evaluate.feedback import FeedbackTally, examples
from wherefrom.store import schema
from wherefrom.store.feedback import Feedback
from wherefrom.types import Passage


def passage(id: str, text: str) -> Passage:
    return Passage(id, id, text, 0, len(text))


BOILER = passage("boiler.md#0", "The boiler was serviced by Marta in May.")
KEYS = passage("keys.txt#0", "The spare key hangs in the pantry.")


def verdict_body(**changes: Any) -> dict[str, Any]:
    return {
        "question": "Who serviced the boiler?",
        "verdict": "right",
        "answer": "Marta",
        "passages": ["boiler.md#0", "keys.txt#0", "gone.txt#7", "boiler.md#" + "9" * 20, "boiler.md#-1"],
        "evidence": ["boiler.md#0", "keys.txt#" + "9" * 20],
        **changes,
    }


def test_kept_with_the_passages_as_they_were(client: TestClient, library_path: Path) -> None:
    assert client.post("/feedback", json=verdict_body()).json() == {"number": 1}
    assert (
        client.post("/feedback", json=verdict_body(verdict="wrong", better="Ivo", style="sentence")).status_code == 201
    )
    with Library(library_path) as library:
        library.remove(["boiler.md"])
        first, second = library.feedback()
    assert (first.question, first.verdict, first.answer, first.better) == (
        "Who serviced the boiler?",
        "right",
        "Marta",
        None,
    )
    assert [passage.id for passage in first.passages] == ["boiler.md#0", "keys.txt#0"]  # unknown ones are left out
    assert first.passages[0].text == DOCUMENTS[0].text
    assert first.evidence == ("boiler.md#0",)
    assert (second.number, second.verdict, second.better, second.style) == (2, "wrong", "Ivo", "sentence")


@pytest.mark.parametrize(
    "wrong",
    [{"verdict": "maybe"}, {"better": ""}, {"answer": 5}, {"passages": ["x"] * 101}, {"passages": "x"}, {"extra": 1}],
)
def test_wrong_feedback_is_refused(client: TestClient, wrong: dict[str, Any]) -> None:
    assert client.post("/feedback", json=verdict_body(**wrong)).status_code == 422
    missing = verdict_body()
    del missing["answer"]
    assert client.post("/feedback", json=missing).status_code == 422


def test_verdicts_become_examples() -> None:
    tally = FeedbackTally()
    both = (BOILER, KEYS)
    verdicts = [
        Feedback("Who?", "right", "Marta", passages=both, evidence=("boiler.md#0",), number=1),
        Feedback("Who?", "wrong", "May", better="marta", passages=both, evidence=("keys.txt#0",), number=2),
        Feedback("Why?", "right", None, passages=both, number=3),
        Feedback("Who?", "wrong", "May", passages=both, number=4),
        Feedback("Who?", "wrong", "May", better="Zoe", passages=both, number=5),
        Feedback("Who?", "right", "Marta", number=6),
    ]
    rows = list(examples(verdicts, tally))
    assert [(row["query_id"], row["answers"], [p["is_selected"] for p in row["passages"]]) for row in rows] == [
        (1, ["Marta"], [1, 0]),
        (2, ["marta"], [1, 0]),
        (3, ["No Answer Present."], [0, 0]),
    ]
    assert tally.examples == 3
    assert sum(tally.left_out.values()) == 3
    assert len(tally.left_out) == 3


def test_exported_examples_are_read_by_the_loader(client: TestClient, library_path: Path, tmp_path: Path) -> None:
    client.post("/feedback", json=verdict_body())
    client.post("/feedback", json=verdict_body(verdict="wrong", answer="May"))

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "wherefrom", "feedback", "export", *arguments],
            env={**os.environ, "WHEREFROM_LIBRARY": str(library_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    out = tmp_path / "train.jsonl"
    output = run("--out", str(out))
    assert output.splitlines() == [f"1 examples in {out}", "1 left out: it was wrong, and nobody said what is right"]
    (example,) = load_ten_passages(out, "train")
    assert example.question.text == "Who serviced the boiler?"
    assert example.relevant == (True, False)
    assert example.answers == ("Marta",)
    run("--raw", "--out", str(out))
    assert [json.loads(line)["verdict"] for line in out.read_text().splitlines()] == ["right", "wrong"]
    run("--raw", "--who", "nobody", "--out", str(out))
    assert out.read_text() == ""


def test_a_library_from_before_feedback_is_upgraded(library_path: Path) -> None:
    with sqlite3.connect(library_path / "documents.sqlite") as connection:
        for table in ("feedback", "dated", "checksum", "index_file", "place", "tag"):
            connection.execute(f"DROP TABLE {table}")
        for table in ("file", "meta"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN sum")
        connection.execute("ALTER TABLE passage DROP COLUMN section")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with Library(library_path) as library:
        assert len(library.documents()) == len(DOCUMENTS)
        assert library.add_feedback(Feedback("Who?", "right", None)) == 1
    with sqlite3.connect(library_path / "documents.sqlite") as connection:
        assert schema.version(connection) == schema.FORMAT
    connection.close()
