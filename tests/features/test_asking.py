"""What form a question has, and the first person turned round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.features.asking import asks_for_several, can_be_told, turned


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote express originally?",
        "which grey APC cable works in smart mode too?",
        "by how much does gzip usually shrink english text?",
        "how many pages has the second edition of the latex companion",
        "What was FinTS called before 2002?",
        "which bcrypt version do I need for node 12?",
    ],
)
def test_a_thing_is_asked_for(question: str) -> None:
    assert can_be_told(question)


@pytest.mark.parametrize(
    "question",
    [
        "biggest number of tables in a join",  # keywords
        "e2fsck exit code 4",
        "How do I reload the configuration files without restarting the server?",
        "how can I see what patch would do",
        "Why should I not run the driver as nobody?",
        "what's a promissory note",
        "what is /etc/skel for?",
        "what does deferment mean for a loan?",
        "what states can an item have?",
        "In which planes does it fly?",
        "Who looks after it now, the AMS or the team?",
        "boiler shows F28, what now?",
        "Name the largest lake.",
        "",
    ],
)
def test_the_document_says_it_better(question: str) -> None:
    assert not can_be_told(question)


def test_a_list_is_asked_for_by_a_plural() -> None:
    assert asks_for_several("Which file endings does nodemon watch?")
    assert not asks_for_several("Which company makes the processors?")
    assert not asks_for_several("What is the address?")


def test_the_first_person_is_turned_round() -> None:
    question = "Which port must my firewall open for us if I pay?"
    you = turned(question)
    assert you.text == "Which port must your firewall open for you if you pay?"
    start = you.text.index("firewall")
    place = you.original(start, start + len("firewall"))
    assert place is not None
    assert question[slice(*place)] == "firewall"
    assert you.original(you.text.index("your"), you.text.index("your") + 4) is None
    last = you.original(len(you.text) - 4, len(you.text) - 1)
    assert last is not None
    assert question[slice(*last)] == "pay"


def test_the_us_is_a_country() -> None:
    assert turned("Who is a US senator?").text == "Who is a US senator?"


@given(st.text(alphabet="Imy we.us?US ", max_size=40))
def test_every_other_character_is_found_again(question: str) -> None:
    you = turned(question)
    for place, character in enumerate(you.text):
        there = you.original(place, place + 1)
        assert there is None or question[slice(*there)] == character
