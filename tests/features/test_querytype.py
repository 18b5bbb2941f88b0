"""Question types."""

from __future__ import annotations

import pytest

from wherefrom.features.querytype import query_type


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote Hamlet?", "PERSON"),
        ("Which Roman emperor died in 79?", "PERSON"),
        ("How many moons has Mars?", "NUMERIC"),
        ("When did the war end?", "NUMERIC"),
        ("In what year was it built?", "NUMERIC"),
        ("Where is Ghent?", "LOCATION"),
        ("What country borders Chad?", "LOCATION"),
        ("Why is the sky blue?", "DESCRIPTION"),
        ("How does a lock work?", "DESCRIPTION"),
        ("definition of entropy", "DESCRIPTION"),
        ("What is photosynthesis?", "DESCRIPTION"),
        ("Is the Earth flat?", "DESCRIPTION"),
        ("What instrument did he play?", "ENTITY"),
        ("Which team won?", "ENTITY"),
    ],
)
def test_the_type_follows_the_question_word_and_its_noun(question: str, expected: str) -> None:
    assert query_type(question) == expected
