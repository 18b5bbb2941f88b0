"""What follow-ups may mean, by rule, and which meaning is chosen, with the shipped weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.conversation.__main__ import cases

from wherefrom.features.followups import follow_up, without_lead
from wherefrom.features.frames import verb_forms
from wherefrom.features.gaps import item
from wherefrom.features.meant import FILE, FollowUpError, FollowUps
from wherefrom.features.subjects import title_name
from wherefrom.features.tags import Tagger
from wherefrom.runtime.weights import SHIPPED, Weights
from wherefrom.types import Turn

CURIE = Turn("Where was Marie Curie born?", "Warsaw", "Marie Curie")
CANAL = Turn("When was the Simplon Tunnel opened?", "1906", "The Orient Express")
CONES = Turn("What are the three cones of Kilimanjaro?", "Kibo, Mawenzi and Shira", "Mount Kilimanjaro")


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(Weights.named("tagger"))


@pytest.fixture(scope="module")
def follow_ups(tagger: Tagger) -> FollowUps:
    return FollowUps(Weights.named("followup"), tagger)


@pytest.mark.parametrize(
    ("typed", "turn", "whole"),
    [
        ("when did she die?", CURIE, "When did Marie Curie die?"),
        ("What was her first name", CURIE, "What was Marie Curie's first name?"),
        ("and Ada Lovelace?", CURIE, "Where was Ada Lovelace born?"),
        ("how many people live there?", CURIE, "How many people live in Warsaw?"),
        ("why?", CURIE, "Why was Marie Curie born?"),
        ("What about the Panama Canal?", CANAL, "When was the Panama Canal opened?"),
        ("who built that tunnel?", CANAL, "Who built the Simplon Tunnel?"),
        ("how long?", CANAL, "How long is the Simplon Tunnel?"),
        ("by whom?", CANAL, "By whom was the Simplon Tunnel opened?"),
        ("why?", Turn("How deep is Lake Baikal?", "1,642 metres"), "Why is Lake Baikal so deep?"),
        ("and how high is the second one?", CONES, "How high is Mawenzi?"),
    ],
)
def test_what_is_meant_is_among_the_readings(typed: str, turn: Turn, whole: str, tagger: Tagger) -> None:
    assert whole in [reading.text for reading in follow_up(typed, [turn], tagger).readings]


def test_the_first_reading_is_what_was_typed_and_without_turns_there_is_no_other(tagger: Tagger) -> None:
    assert follow_up("when did she die? ", [CURIE], tagger).readings[0].text == "when did she die?"
    assert [reading.text for reading in follow_up("and Ada Lovelace?", [], tagger).readings] == ["and Ada Lovelace?"]


def test_it_that_stands_for_nothing_is_not_filled(tagger: Tagger) -> None:
    for typed in ("How long does it take to walk to Rome?", "Is it possible that Rome has two airports?"):
        assert len(follow_up(typed, [CURIE], tagger).readings) == 1, typed


@pytest.mark.parametrize(
    "typed", ["?", "...", "and", "what about", "the one", "'s", "\u200b", "why " * 300, "🙂", "it"]
)
def test_whatever_is_typed_has_readings(typed: str, follow_ups: FollowUps) -> None:
    meanings = follow_ups.meanings(typed, [CURIE, CONES])
    assert meanings
    assert sum(meaning.chance for meaning in meanings) == pytest.approx(1.0, abs=1e-3)


def test_strange_turns_do_no_harm(follow_ups: FollowUps) -> None:
    strange = [Turn("?"), Turn("", "", ""), Turn("x" * 1999, "y " * 5000, "z" * 900), Turn("的", "的", "的")]
    assert follow_ups.meanings("how long is it?", strange)


@pytest.mark.parametrize(
    ("typed", "lead", "rest"),
    [
        ("And in Germany?", "and", "in Germany?"),
        ("ok, what about the second one?", "ok, what about", "the second one?"),
        ("and", "", "and"),
        ("Android was made by whom?", "", "Android was made by whom?"),
    ],
)
def test_what_leads_up_to_a_follow_up_is_apart(typed: str, lead: str, rest: str) -> None:
    assert without_lead(typed) == (lead, rest)


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("founded", ("found", "founded")),
        ("wrote", ("write", "written")),
        ("carried", ("carry", "carried")),
        ("planned", ("plan", "planned")),
        ("discovered", ("discover", "discovered")),
        ("drains", ("drain", "")),
    ],
)
def test_a_verb_is_put_behind_did(word: str, forms: tuple[str, str]) -> None:
    assert verb_forms(word) == forms


def test_items_and_titles() -> None:
    assert [item(("a", "b", "c"), each) for each in ("second", "last", "fifth")] == ["b", "c", ""]
    assert title_name("Istanbul | The Small Atlas") == "Istanbul"
    assert title_name("notes/2024.txt") == ""


def test_our_own_follow_ups_are_understood(follow_ups: FollowUps) -> None:
    """Without asking the library; `python -m bench.conversation` asks it too."""
    understood = {case.id for case in cases() if case.understood(follow_ups.meanings(case.typed, case.turns)[0].text)}
    assert len(understood) >= 27


@pytest.mark.parametrize(
    "typed",
    [
        "What is the national flower of Singapore?",
        "When did Beyoncé release her first album?",
        "Why are clouds white?",
        "In what year did Karl von Frisch win his Nobel Prize?",
        "How many hours does it take to sail from Genoa to Naples?",
        "What did Samuel Pepys bury when the fire came near his house?",
    ],
)
def test_a_whole_question_is_left_alone(typed: str, follow_ups: FollowUps) -> None:
    for turn in (CURIE, CANAL, CONES):
        assert follow_ups.meanings(typed, [turn])[0].typed, turn


def test_weights_that_cannot_be_read_are_named(tmp_path: Path, tagger: Tagger) -> None:
    class Broken:
        def file(self, name: str) -> Path:
            return tmp_path / name

    (tmp_path / FILE).write_bytes(b"no arrays")
    with pytest.raises(FollowUpError, match=f"{FILE} cannot be read"):
        FollowUps(Broken(), tagger).meanings("when did she die?", [CURIE])


def test_the_weights_are_small() -> None:
    assert (SHIPPED / "followup" / FILE).stat().st_size < 1_000_000
