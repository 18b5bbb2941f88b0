"""Conversations over a library: what is kept, how a follow-up is answered, and when two meanings are tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.conversation import MOST_TURNS, best, questions_of, tried, turn_of
from wherefrom.errors import SettingsError
from wherefrom.types import Document, Filter, Meaning, Trace, Turn

DOCUMENTS = [
    Document("mill.md", "The mill was built by Ann Lee in 1790. The mill is 21 metres high.", "The mill"),
    Document("ann.md", "Ann Lee was born in Ayr. She married Tom Reid in 1788.", "Ann Lee"),
    Document("gate.md", "The gate was built by Bob Moss in 1804.", "The gate"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    library = Library(tmp_path_factory.mktemp("talk") / "library", resolve(overrides=["judge.min_chance=0"]))
    library.put(DOCUMENTS)
    return library


def test_a_follow_up_is_answered_as_what_it_means(library: Library) -> None:
    talk = library.chat()
    assert talk.ask("Who built the mill?").answer.text == "Ann Lee"  # type: ignore[union-attr]
    trace = talk.ask("and the gate?")
    assert (trace.question.text, trace.question.typed) == ("Who built the gate?", "and the gate?")
    assert trace.answer is not None
    assert trace.answer.text == "Bob Moss"
    assert [turn.question for turn in talk.turns] == ["Who built the mill?", "Who built the gate?"]
    assert talk.turns[1].title == "The gate"


def test_a_whole_question_is_as_it_was_typed(library: Library) -> None:
    talk = library.chat(turns=[Turn("Who built the mill?", "Ann Lee", "The mill")])
    trace = talk.ask("When was the gate built?")
    assert (trace.question.text, trace.question.typed, trace.question.instead) == ("When was the gate built?", "", ())


def test_forgetting_begins_anew_and_turns_are_bounded(library: Library) -> None:
    talk = library.chat(turns=[Turn(f"Who is number {place}?") for place in range(3 * MOST_TURNS)])
    talk.ask("Who built the gate?")
    assert len(talk.turns) == MOST_TURNS
    talk.forget()
    assert talk.turns == ()
    assert talk.ask("and the mill?").question.typed == ""


def test_a_conversation_stays_in_its_part_of_the_library(library: Library) -> None:
    talk = library.chat(Filter(folders=("gate.md",)))
    assert {hit.passage.document_id for hit in talk.ask("Who built the mill?").hits} == {"gate.md"}


def test_where_two_are_meant_the_better_answered_one_is_taken_and_the_other_is_said(library: Library) -> None:
    meanings = [Meaning("How high is Ann Lee?", 0.5, False), Meaning("How high is the mill?", 0.45, False)]
    questions = questions_of("how high is it?", meanings, None)
    assert [question.instead for question in questions] == [("How high is the mill?",), ("How high is Ann Lee?",)]
    traces = library.pipeline().ask_many(questions, "short")
    chosen = best(meanings, [trace.answer.chance for trace in traces if trace.answer])
    assert traces[chosen].question.text == "How high is the mill?"


def test_only_what_is_nearly_as_likely_is_tried() -> None:
    meanings = [Meaning("a", 0.7, False), Meaning("b", 0.2, False), Meaning("c", 0.1, True)]
    assert [meaning.text for meaning in tried(meanings, 0.15)] == ["a", "b"]
    assert [meaning.text for meaning in tried(meanings, 0.3)] == ["a"]


def test_a_declined_turn_names_no_answer() -> None:
    assert turn_of(Trace(questions_of("Why?", [Meaning("Why?", 1.0, True)], None)[0])) == Turn("Why?")


def test_settings_can_leave_follow_ups_as_they_are(tmp_path: Path) -> None:
    with Library(tmp_path / "library", resolve(overrides=["conversation.follow_ups=false"])) as library:
        library.put(DOCUMENTS)
        trace = library.ask("and the gate?", turns=[Turn("Who built the mill?", "Ann Lee")])
        assert (trace.question.text, trace.question.typed) == ("and the gate?", "")
    with pytest.raises(SettingsError, match=r"conversation\.unsure is a probability"):
        resolve(overrides=["conversation.unsure=0"])


@pytest.mark.parametrize("typed", ["und wann starb sie?", "word " * 31 + "and when did she die?"])
def test_what_is_not_english_or_long_is_left_alone(library: Library, typed: str) -> None:
    assert [meaning.typed for meaning in library.meanings(typed, [Turn("Who built the mill?", "Ann Lee")])] == [True]
