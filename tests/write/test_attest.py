"""What an answer may say: names and numbers of its sources, and the short answer."""

from __future__ import annotations

import pytest

from wherefrom.types import Answer, Word
from wherefrom.write.attest import adds_nothing, attested, echoes, holds_answer, loses_most, shares_a_word, unattested

SOURCES = [
    "Who built it in 1908?",
    "The harbour of Ostrava Bay opened in 1,908 days. Ines O'Neil's 3.5 m mast. Two men.",
]


def words(text: str, source: str = "passage") -> tuple[Word, ...]:
    return tuple(Word(part, source, space=" ") for part in text.split())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ("The mast is 3.5 m", []),
        ("The mast is 3 m", ["3"]),
        ("It opened in 1908", []),
        ("It opened in 1,908 days", []),
        ("It opened in 908 days", ["908"]),
        ("Ines O'Neil built it", []),
        ("It is of O'Neil", []),
        ("It is of O'Neil's", []),
        ("It is of Neil", ["Neil"]),
        ("The Bay and a bay", []),
        ("the ostrava", []),
        ("it was two men", []),
        ("it was three men", ["three"]),
        ("", []),
    ],
)
def test_names_and_numbers_that_no_source_has(text: str, strange: list[str]) -> None:
    answer_words = words(text) if text else ()
    assert unattested(answer_words, SOURCES) == strange


def test_the_first_word_may_be_any_of_the_vocabulary() -> None:
    assert unattested((Word("Approximately", "vocabulary"), *words("3.5 m")), SOURCES) == []
    assert unattested((Word("Approximately", "question"), *words("3.5 m")), SOURCES) == ["Approximately"]
    assert unattested((Word("It", "vocabulary"), Word("Approximately", "vocabulary", space=" ")), SOURCES) == [
        "Approximately"
    ]
    assert unattested((Word("7", "vocabulary"),), SOURCES) == ["7"]


def test_a_number_made_of_two_is_found() -> None:
    parts = (Word("3.5", "passage"), Word(".", "vocabulary"), Word("1908", "question"))
    assert unattested(parts, SOURCES) == ["3.5.1908"]


@pytest.mark.parametrize(
    ("text", "short", "expected"),
    [
        ("It was built by Ines Moreau.", "Ines Moreau", True),
        ("It was built by ines moreau.", "the Ines Moreau", True),
        ("It was built by Ines and Moreau.", "Ines Moreau", False),
        ("It costs $5.", "5", True),
        ("It costs 50.", "5", False),
        ("高さは三十一です", "三十一", True),
        ("«?» he said", "«?»", True),
        ("he said", "«?»", False),
    ],
)
def test_tells_the_short_answer(text: str, short: str, expected: bool) -> None:
    assert holds_answer(text, short) is expected


def test_attested_counts_content_words_alone() -> None:
    answer_words = (
        Word("The", "vocabulary"),
        Word("harbour", "passage"),
        Word("opened", "question"),
        Word(".", "vocabulary"),
    )
    assert attested(Answer("", "sentence", 1.0, answer_words)) == 0.5
    assert attested(Answer("", "sentence", 1.0, answer_words[:1])) == 1.0
    assert attested(Answer(None, "sentence", 1.0)) == 1.0


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ("The garden garden", True),
        ("the Botanic Garden Botanic Garden", True),
        ("Mali, Mali and Ghana", True),
        ("The garden of the garden", False),
        ("They heard Duran Duran", False),
        ("They heard duran, duran, mali, mali", True),
        ("", False),
    ],
)
def test_words_twice_in_a_row(text: str, twice: bool) -> None:
    assert echoes(words(text), ["Duran Duran sang in the botanic garden of Mali."]) is twice


@pytest.mark.parametrize(
    ("text", "question", "nothing"),
    [
        ("The harbour opened.", "When was the harbour opened?", True),
        ("The harbour opened in 1908.", "When was the harbour opened?", False),
        ("It is red.", "Is the harbour red or blue?", False),
    ],
)
def test_what_only_says_the_question_again(text: str, question: str, nothing: bool) -> None:
    assert adds_nothing(text, question) is nothing


@pytest.mark.parametrize(
    ("text", "short", "shares"),
    [
        ("he flees to Ostrava", "Ostrava Bay", True),
        ("the king of the town", "the harbour of the town hall", True),
        ("of the king", "of the harbour", False),
        ("it is it", "it", True),
    ],
)
def test_words_that_an_answer_shares(text: str, short: str, shares: bool) -> None:
    assert shares_a_word(text, short) is shares


@pytest.mark.parametrize(
    ("text", "short", "loses"),
    [
        ("tracking", "tracking what has changed while the user is resolving conflicts", True),
        ("A bug.", "A bug that disappears or alters its behavior when one probes it", True),
        ("he is a difference of behaviour", "There is no difference in behaviour", True),
        ("it doesn't differ in behaviour", "There is no difference in behaviour", False),
        ("binary search", "Use binary search on commits", False),
        ("he fled from the tall dragon", "a dragon with wings and claws and teeth of iron", False),  # words of its own
        ("Ostrava", "Ostrava", False),
    ],
)
def test_a_scrap_of_an_answer_and_one_without_its_not(text: str, short: str, loses: bool) -> None:
    assert loses_most(text, short) is loses
