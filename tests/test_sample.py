"""The sample library: its questions fit its articles, and the demo answers."""

from __future__ import annotations

import collections
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wherefrom import Library
from wherefrom.ingest import markdown

SAMPLE = Path(__file__).parents[1] / "sample"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    library = Library(tmp_path_factory.mktemp("sample") / "library")
    report = library.ingest([SAMPLE / "library"])
    assert report.failures == ()
    assert report.ignored == ()
    return library


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def collapsed(text: str) -> str:
    return " ".join(text.split())


def test_about_sixty_articles_in_five_formats(library: Library) -> None:
    formats = collections.Counter(Path(document.id).suffix for document in library.documents())
    assert set(formats) == {".md", ".html", ".txt", ".pdf", ".docx"}
    assert formats.total() == 60
    assert min(formats.values()) >= 5


def test_questions_of_all_kinds_thirty_of_them_unanswerable(questions: list[dict[str, Any]]) -> None:
    assert len({question["id"] for question in questions}) == len(questions) == 120
    assert sum(not question["answerable"] for question in questions) == 30
    kinds = collections.Counter(question["type"] for question in questions)
    assert set(kinds) == {"who", "what", "when", "where", "which", "how many", "why", "how", "yes/no"}
    assert min(kinds.values()) >= 10


def test_gold_evidence_stands_in_the_text_as_ingested(library: Library, questions: list[dict[str, Any]]) -> None:
    for question in questions:
        if question["answerable"]:
            text = collapsed(library.document(question["document"]).text)
            assert collapsed(question["evidence"]) in text, question["id"]
            if question["type"] != "yes/no":
                assert any(answer.lower() in question["evidence"].lower() for answer in question["answers"]), question[
                    "id"
                ]
        else:
            assert question["answers"] == []
            assert question["document"] is None


def test_web_pages_come_without_their_furniture(library: Library) -> None:
    for document in library.documents():
        text = library.document(document.id).text
        assert not re.search(r"cookie|function\s*\(|All rights|Subscribe|Share:|Most read", text), document.id


def test_most_questions_find_their_document_first(library: Library, questions: list[dict[str, Any]]) -> None:
    answerable = [question for question in questions if question["answerable"]]
    first = sum(
        library.search(question["question"], k=1).hits[0].passage.document_id == question["document"]
        for question in answerable
    )
    assert first >= 0.85 * len(answerable)


def test_the_demo_answers_four_questions_declines_the_fifth_and_writes_a_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SAMPLE / "demo.py"), str(tmp_path / "library")],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.count("$ wherefrom ask") == 6
    assert done.stdout.count("\nfrom ") == 5
    assert done.stdout.count("I don't know.") == 1
    for answer in ("Harald Jäger", "oleuropein", "up to five", "figure-of-eight"):
        assert answer in done.stdout
    assert "\nHarald Jäger opened the gate at Bornholmer Straße.\n" in done.stdout


def test_pdf_and_docx_say_what_their_sources_say(library: Library) -> None:
    sources = list((SAMPLE / "sources").rglob("*.md"))
    assert len(sources) == 14
    for source in sources:
        written = set(re.findall(r"\w+", markdown.read(source.read_bytes(), source.name).text))
        id = source.relative_to(SAMPLE / "sources").as_posix().removesuffix(".md")
        shown = set(re.findall(r"\w+", library.document(id).text))
        assert len(written - shown) <= 0.02 * len(written), f"{id} lacks {sorted(written - shown)}"
