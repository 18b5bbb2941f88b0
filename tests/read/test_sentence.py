"""The sentence reader: its contract, and which sentence it prefers."""

from __future__ import annotations

import pytest

from contracts.material import GARDEN, HARBOUR, passage
from contracts.stages import ReaderContract
from wherefrom.read.sentence import SentenceReader
from wherefrom.stages import Reader
from wherefrom.types import Hit, Passage, Question


class TestContract(ReaderContract):
    """SentenceReader is a Reader."""

    @pytest.fixture
    def reader(self) -> Reader:
        return SentenceReader(candidates=10, language="english")


def best(question: str, *passages: Passage) -> str:
    hits = [Hit(passage, 1.0) for passage in passages]
    return SentenceReader(10, "english").read([Question("", question)], [hits])[0][0].text


def test_prefers_the_sentence_with_the_words_of_the_question() -> None:
    assert best("Who built the lighthouse?", GARDEN, HARBOUR) == "Its lighthouse was built by Ines Moreau."


def test_prefers_a_sentence_with_the_kind_of_thing_asked_for() -> None:
    text = passage("a#0", "The tower is tall and grey. The tower was finished in 1911. The tower stands in Ghent.")
    assert best("When was the tower there?", text) == "The tower was finished in 1911."


def test_a_sentence_in_two_overlapping_passages_is_one_candidate() -> None:
    first = Passage("a#0", "a", "One here. Two here.", 0, 19)
    second = Passage("a#1", "a", "Two here. Three here.", 10, 31)
    hits = [Hit(first, 2.0), Hit(second, 1.0)]
    (candidates,) = SentenceReader(10, "english").read([Question("", "two here")], [hits])
    assert sorted(candidate.text for candidate in candidates) == ["One here.", "Three here.", "Two here."]


def test_questions_in_the_text_are_not_answers() -> None:
    text = passage("faq#0", "When does the shop open? It opens at nine.")
    assert best("When does the shop open?", text) == "It opens at nine."


def test_gives_no_more_candidates_than_asked_for() -> None:
    (candidates,) = SentenceReader(2, "english").read([Question("", "harbour")], [[Hit(HARBOUR, 1.0)]])
    assert len(candidates) == 2
