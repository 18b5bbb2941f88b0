"""What speaks for a candidate: each number by hand, and which candidates are compared at all."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from contracts.material import GARDEN, HARBOUR, span
from wherefrom.features.merits import COMPARED, NAMES, different, merits
from wherefrom.features.overlap import Stems
from wherefrom.types import Candidate

STEMS = Stems("english")


def of(question: str, *candidates: Candidate) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in merits(question, candidates, STEMS, None)]


def read(candidate: Candidate, **features: float) -> Candidate:
    named = {name.replace("_", " "): value for name, value in features.items()}
    return replace(candidate, features={**candidate.features, **named})


def test_same_answers_are_compared_once_by_the_best_of_them() -> None:
    first, again, other = span(HARBOUR, "The harbour", -1.0), span(HARBOUR, "harbour", -2.0), span(GARDEN, "412", -3.0)
    assert different([first, again, other]) == [first, other]
    (row, _) = of("What opened?", first, again, other)
    chances = [math.exp(-1.0), math.exp(-2.0), math.exp(-3.0)]
    assert row["share"] == pytest.approx(math.log(sum(chances[:2]) / sum(chances)))
    assert row["lead"] == pytest.approx(math.log(sum(chances[:2])) + 3.0)
    assert row["read"] == 0.0


def test_so_many_are_compared() -> None:
    letters = [read(span(HARBOUR, letter, -float(number))) for number, letter in enumerate("habourfsti")]
    assert len(different(letters)) == len(merits("Which letter?", letters, STEMS, None)) == COMPARED


def test_an_answer_that_another_holds_counts_as_kin() -> None:
    short, long = span(GARDEN, "412", -1.0), span(GARDEN, "412 kinds of rose", -1.0)
    (row, _) = of("How many kinds?", short, long)
    assert row["kin"] == pytest.approx(0.0)
    assert row["share"] == pytest.approx(math.log(0.5))
    assert row["lead"] == 12.0  # nobody says otherwise


def test_other_places_that_say_the_same_are_noticed() -> None:
    twice = [span(HARBOUR, "It", -1.0), span(GARDEN, "It", -2.0)]
    assert of("What?", *twice)[0]["elsewhere"] == 1.0
    assert of("What?", twice[0])[0]["elsewhere"] == 0.0


def test_what_the_passage_lacks_of_the_question_counts_against_it() -> None:
    harbour, garden = of(
        "Who built the lighthouse in 1908?", span(HARBOUR, "Ines Moreau", -1.0), span(GARDEN, "at nine", -1.0)
    )
    assert harbour["passage coverage"] == 1.0
    assert garden["passage coverage"] == 0.0
    assert harbour["rarest missing"] == harbour["numbers missing"] == 0.0
    assert garden["numbers missing"] == 1.0
    assert garden["rarest missing"] > 0
    assert (harbour["kind fits"], harbour["kind misses"]) == (1.0, 0.0)  # a name
    assert (garden["kind fits"], garden["kind misses"]) == (0.0, 1.0)


def test_the_readers_numbers_are_those_of_the_candidate() -> None:
    candidate = read(span(GARDEN, "412", -1.0), relevance=3.0, null_margin=99.0, own_passage=-99.0, retrieve=2.0)
    best = read(span(HARBOUR, "1908", -1.0), retrieve=8.0)
    row = of("How many?", candidate, best)[0]
    assert (row["answer relevance"], row["null margin"], row["own passage"]) == (3.0, 12.0, -12.0)
    assert row["retrieved"] == pytest.approx(0.25)


def test_nothing_gives_nothing() -> None:
    assert merits("Who?", [], STEMS, None) == []
