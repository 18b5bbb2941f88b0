"""Which questions and documents are not in English."""

from __future__ import annotations

import json
import lzma
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from wherefrom.features.language import foreign_document, foreign_question, out_of_reach
from wherefrom.text import FUNCTION_WORDS

FOREIGN: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("foreign_questions.json").read_text(encoding="utf-8")
)
NEEDED = {"Polish": 0.8, "Russian": 1.0, "Chinese": 1.0, "Japanese": 1.0}


@pytest.mark.parametrize("language", FOREIGN)
def test_most_questions_in_other_languages_are_noticed(language: str) -> None:
    questions = FOREIGN[language]
    missed = [question for question in questions if foreign_question(question) is None]
    assert len(missed) <= (1 - NEEDED.get(language, 0.89)) * len(questions), missed


@pytest.mark.parametrize("language", FOREIGN)
def test_most_are_called_by_their_name(language: str) -> None:
    named = [name for name in map(foreign_question, FOREIGN[language]) if name]
    assert named.count(language) >= 0.85 * len(named)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "🦜 404 --help",
        "What does 你好 mean?",
        "Who wrote Der Ring des Nibelungen?",
        "who sings la vie en rose",
        "Who painted Les Demoiselles d'Avignon?",
        "When did Vigdís Finnbogadóttir become president?",
        "What is São Paulo known for?",
        "café au lait caffeine",
        "jsonb vs json",
        "e2fsck exit code 4",
        "pg_hba.conf host all all md5",
        "los angeles las vegas distance",
        "Wałęsa Nobel prize",
        "git rebase -i HEAD~3",
        "μ-law vs A-law",
        "die cast metal temperature",
        "tire pressure",
    ],
)
def test_english_keywords_names_titles_and_code_are_let_through(question: str) -> None:
    assert out_of_reach(question) == ""


def test_the_reason_names_the_language() -> None:
    reason = "out of reach: questions in German are not supported (English only)"
    assert out_of_reach("Wann wurde das Rathaus gebaut?") == reason


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The boiler was serviced in May. " * 20, None),
        (
            "Der Kessel wurde im Mai gewartet und steht nicht mehr im Keller, sondern auf dem Dach bei der Treppe. ",
            "German",
        ),
        ("Котёл был отремонтирован в мае.", "Russian"),
        ("ボイラーは五月に修理されました。", "Japanese"),
        ('He says "der Kessel ist im Keller, und das ist gut so", and he is right about that, as far as I know.', None),
        ("int main(void) { return 0; }\n" * 50, None),
        ("", None),
    ],
)
def test_documents(text: str, language: str | None) -> None:
    assert foreign_document(text) == language


def english_questions(folder: Path) -> Iterator[str]:
    for article in json.loads(lzma.decompress((folder / "squad" / "valid-v1.1.json.xz").read_bytes()))["data"]:
        for paragraph in article["paragraphs"]:
            for record in paragraph["qas"]:
                yield record["question"]


@pytest.mark.skipif("WHEREFROM_DATA" not in os.environ, reason="WHEREFROM_DATA names no datasets")
@pytest.mark.parametrize("keywords", [False, True])
def test_hardly_any_english_question_is_refused(keywords: bool) -> None:
    file = Path(os.environ["WHEREFROM_DATA"]) / "squad" / "valid-v1.1.json.xz"
    if not file.exists():
        pytest.skip("SQuAD is not there")
    questions = list(english_questions(file.parents[1]))
    if keywords:
        questions = [
            " ".join(word for word in re.findall(r"[\w'-]+", question) if word.lower() not in FUNCTION_WORDS)
            for question in questions
        ]
    refused = [question for question in questions if foreign_question(question)]
    assert len(refused) < 0.001 * len(questions), refused
