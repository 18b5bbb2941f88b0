"""Questions to begin with: of which sentences they are made, and that the library answers them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.server.app import create_app
from wherefrom.server.examples import examples, question_of
from wherefrom.types import Document


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Iceland became a republic on 17 June 1944.", "When did Iceland become a republic?"),
        (
            "The Antarctic Treaty was signed in Washington on 1 December 1959.",
            "When was the Antarctic Treaty signed in Washington?",
        ),
        ("The gardens were founded in 1859 by a society.", None),  # "the gardens" of what?
        ("The Singapore Botanic Gardens were founded in 1859.", "When were the Singapore Botanic Gardens founded?"),
        ("Hokusai died in 1849.", "When did Hokusai die?"),
        ("Petra is a city in Jordan.", "What is Petra?"),
        ("He died in 1849.", None),
        ("In 1849 it was founded.", None),
        ("It was built in 1900.", None),
        ("An R-Tree is a special index.", "What is an R-Tree?"),
        ("To print your cheques, select File and then Print.", "How do I print my cheques?"),
        ("To be sure, select it.", None),
        ("The VACUUM command rebuilds the database file.", "What does the VACUUM command do?"),
        ("git-reset - Reset current HEAD to the specified state", "What does git-reset do?"),
        ("ALTER RULE — change the definition of a rule", "What does ALTER RULE do?"),
        ("Use REINDEX to rebuild an index from scratch.", "How do I rebuild an index from scratch?"),
        ("Autovacuum is used to reclaim space.", "What is Autovacuum used for?"),
        ("Use it to do this.", None),
        ("Nobody knows.", None),
        ("", None),
    ],
)
def test_sentences_of_a_few_forms_become_questions(sentence: str, expected: str | None) -> None:
    assert question_of(sentence) == expected


def test_at_most_one_a_document_and_those_with_a_date_first(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.put(
            [
                Document("a", "Petra is a city. Petra joined the List in 1985. Petra was built in 300."),
                Document("b", "Ötzi is a mummy. He is old."),
                Document("c", "Nothing of the kind is said."),
            ]
        )
        assert sorted(examples(library, 6)) == ["What is Ötzi?", "When did Petra join the List?"]
        assert examples(library, 1) == ["When did Petra join the List?"]


def test_manuals_get_some_and_kinds_of_questions_take_turns(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.put(
            [
                Document(
                    "reindex", "REINDEX — rebuild indexes\n\nREINDEX rebuilds an index using the data of its table."
                ),
                Document("vacuum", "The VACUUM command rebuilds the database file, repacking it."),
                Document("begin", "Use ROLLBACK to abort a transaction. It is quick."),
                Document("petra", "Petra joined the List in 1985."),
            ]
        )
        assert examples(library, 3) == [
            "When did Petra join the List?",
            "How do I abort a transaction?",
            "What does REINDEX do?",
        ]


def test_most_of_the_sample_library_s_are_answered(tmp_path: Path) -> None:
    settings = resolve(overrides=("rank.kind=none", "read.kind=sentence", "judge.kind=lexical"))
    with Library(tmp_path / "library", settings) as library:
        library.ingest([Path(__file__).parents[2] / "sample" / "library"])
        questions = examples(library, 6)
        assert len(questions) == 6
        assert sum(library.ask(question).answer.text is not None for question in questions) >= 5  # type: ignore[union-attr]


def test_they_are_told_over_http(client: TestClient) -> None:
    assert client.get("/examples").json() == {"questions": []}


def test_only_those_that_are_answered_are_shown_and_each_once(tmp_path: Path) -> None:
    settings = resolve(overrides=("rank.kind=none", "read.kind=sentence", "judge.kind=lexical"))
    with Library(tmp_path / "library", settings) as library:
        library.put(
            [
                Document("a", "Petra is a city. It has a gate."),
                Document("b", "Petra is a city in Jordan. It has walls."),
                Document("c", "Hokusai died in 1849."),
            ]
        )
        assert sorted(examples(library, 6)) == ["What is Petra?", "When did Hokusai die?"]
    judged = resolve(overrides=("rank.kind=none", "read.kind=sentence", "judge.kind=lexical", "judge.min_chance=1.0"))
    for chosen, shown in ((settings, ["What is Petra?", "When did Hokusai die?"]), (judged, [])):
        with TestClient(create_app(Library(tmp_path / "library", chosen)), base_url="http://localhost") as client:
            assert sorted(client.get("/examples").json()["questions"]) == shown


def test_a_number_of_examples_that_is_none_is_refused(client: TestClient) -> None:
    assert client.get("/examples", params={"limit": 0}).status_code == 422
