"""The signs of a right answer, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest

from wherefrom.features.overlap import Stems
from wherefrom.judge.signs import NAMES, features
from wherefrom.runtime.reader import PassageReading
from wherefrom.types import Candidate, Hit, Passage

STEMS = Stems("english")


def passage(id: str, text: str, title: str = "", section: str = "") -> Passage:
    return Passage(id, id, text, 0, len(text), title, section)


def reading(text: str, answer: str, relevance: float, peak: float, no_answer: float) -> PassageReading:
    """A word a token; start and end stand out at the answer."""
    spans = [(0, 0)][:0]
    at = 0
    for word in text.split():
        begin = text.index(word, at)
        at = begin + len(word)
        spans.append((begin, at))
    logits = numpy.array([peak if text[a:b].strip(".") == answer else 0.0 for a, b in spans], numpy.float32)
    return PassageReading(relevance, no_answer, numpy.array(spans, numpy.int32), logits, logits)


def candidate(text: str, inside: Passage, score: float) -> Candidate:
    start = inside.text.index(text)
    return Candidate(text, inside, start, start + len(text), score, {"span": score, "read": score})


def named(
    question: str, hits: list[Hit], readings: list[PassageReading], candidates: list[Candidate]
) -> dict[str, float]:
    row = features(question, hits, readings, candidates, STEMS)
    assert row is not None
    return dict(zip(NAMES, row, strict=True))


FIRST = passage("p#0", "Marta fixed the boiler in May 2019.", "House", "Heating")
SECOND = passage("p#1", "The roof was mended in June.")


def seen(question: str, candidates: list[Candidate], no_answer: float = 1.0) -> dict[str, float]:
    hits = [Hit(FIRST, 0.9, {"retrieve": 4.0}), Hit(SECOND, 0.1, {"retrieve": 8.0})]
    readings = [reading(FIRST.text, "May", 3.0, 5.0, no_answer), reading(SECOND.text, "June", -2.0, 2.0, 1.0)]
    return named(question, hits, readings, candidates)


def test_the_null_margin_says_how_much_likelier_the_answer_is_than_none() -> None:
    answers = [candidate("May", FIRST, -0.1), candidate("June", SECOND, -3.0)]
    sure, unsure = seen("When?", answers), seen("When?", answers, no_answer=9.0)
    assert (sure["null margin"], sure["best null margin"]) == (4.0, 4.0)
    assert (unsure["null margin"], unsure["best null margin"]) == (-4.0, 1.0)  # June's passage is better off now
    assert sure["own passage"] > -0.2 > -7.0 > unsure["own passage"]
    assert sure["answer relevance"] == 3.0


def test_the_first_candidate_is_judged_and_not_the_likeliest() -> None:
    other_way = seen("When?", [candidate("June", SECOND, -3.0), candidate("May", FIRST, -0.1)])
    assert (other_way["answer relevance"], other_way["relevance lag"]) == (-2.0, 5.0)
    assert other_way["null margin"] == 1.0
    assert other_way["lead"] == pytest.approx(-2.9)


def test_shares_add_up_over_same_texts_and_over_kin() -> None:
    again = passage("p#2", "Serviced in may, always.")
    answers = [
        candidate("May", FIRST, math.log(0.4)),
        candidate("may", again, math.log(0.2)),
        candidate("May 2019", FIRST, math.log(0.3)),
        candidate("June", SECOND, math.log(0.1)),
    ]
    signs = seen("When?", answers)
    assert math.exp(signs["share"]) == pytest.approx(0.6)
    assert math.exp(signs["kin"]) == pytest.approx(0.9)
    assert math.exp(signs["lead"]) == pytest.approx(6.0)
    assert signs["elsewhere"] == 1.0
    assert seen("When?", answers[:1])["elsewhere"] == 0.0
    assert seen("When?", answers[:1])["lead"] == 12.0  # nothing else is said


def test_words_names_and_numbers_that_the_passage_lacks_show() -> None:
    answers = [candidate("May", FIRST, -0.1)]
    there = seen("When did Marta fix the boiler in 2019?", answers)
    absent = seen("When did Karl fix the chimney in 1987?", answers)
    assert (there["names missing"], there["numbers missing"], there["rarest missing"]) == (0.0, 0.0, 0.0)
    assert absent["numbers missing"] == 1.0
    assert absent["names missing"] == 1.0  # Karl and 1987; a question's first word is no name
    assert absent["rarest missing"] == 1.0
    assert there["passage coverage"] == 1.0 > absent["passage coverage"] > 0.0
    assert seen("When was the heating of the house fixed?", answers)["passage coverage"] == 1.0  # title and section


def test_the_kind_the_length_and_the_form_of_the_question() -> None:
    when = seen("When was the boiler fixed?", [candidate("May 2019", FIRST, -0.1)])
    assert (when["kind fits"], when["kind misses"], when["retrieved"]) == (1.0, 0.0, 0.5)
    assert when["answer length"] == pytest.approx(math.log(3))
    missed = seen("When was the boiler fixed?", [candidate("the boiler", FIRST, -0.1)])
    assert (missed["kind fits"], missed["kind misses"], missed["echo"]) == (0.0, 1.0, 1.0)
    assert (when["keywords"], seen("boiler fixed", [candidate("May", FIRST, -0.1)])["keywords"]) == (0.0, 1.0)
    assert seen("Was the boiler fixed?", [candidate("May", FIRST, -0.1)])["yes or no"] == 1.0
    assert seen("Why was the boiler fixed?", [candidate("May", FIRST, -0.1)])["description"] == 1.0


def test_no_sign_grows_with_the_number_of_passages() -> None:
    answers = [candidate("May", FIRST, -0.1)]
    few = seen("When did Marta fix the boiler?", answers)
    others = [passage(f"q#{n}", f"Nothing of note happened on day {n}.") for n in range(30)]
    hits = [
        Hit(FIRST, 0.9, {"retrieve": 4.0}),
        Hit(SECOND, 0.1, {"retrieve": 8.0}),
        *(Hit(each, 0.0, {"retrieve": 1.0}) for each in others),
    ]
    readings = [reading(FIRST.text, "May", 3.0, 5.0, 1.0), reading(SECOND.text, "June", -2.0, 2.0, 1.0)]
    readings += [reading(each.text, "day", -6.0, 0.0, 1.0) for each in others]
    many = named("When did Marta fix the boiler?", hits, readings, answers)
    assert many == pytest.approx(few, abs=1e-6)


def heard(*truths: tuple[float, float | None]) -> dict[str, float]:
    """The signs of a question of yes or no over passages of this relevance and truth."""
    passages = [passage(f"d#{n}", f"The ferry number {n} takes dogs.", "Ferry") for n in range(len(truths))]
    readings = [
        replace(reading(each.text, "dogs", relevance, 5.0, 0.0), truth=truth)
        for each, (relevance, truth) in zip(passages, truths, strict=True)
    ]
    return named(
        "Does the ferry take dogs?",
        [Hit(each, 1.0) for each in passages],
        readings,
        [candidate("dogs", passages[0], 0.0)],
    )


def test_what_the_relevant_passages_decide_together_shows() -> None:
    signs = heard((4.0, 3.0), (4.0, 1.0), (-8.0, -9.0))
    assert signs["truth"] == pytest.approx(2.0, abs=0.01)
    assert signs["sureness"] == signs["truth"]
    assert signs["agreeing"] == pytest.approx(1.0, abs=0.01)
    assert signs["leading relevance"] == 4.0
    assert signs["leading coverage"] > 0.9
    against = heard((4.0, -3.0), (4.0, 1.0))
    assert against["truth"] == pytest.approx(-1.0, abs=0.01)
    assert against["sureness"] == -against["truth"]
    assert against["agreeing"] == pytest.approx(0.5)


def test_networks_that_say_neither_and_other_questions_have_no_word() -> None:
    assert heard((4.0, None))["sureness"] == 0.0
    assert heard((4.0, 3.0), (4.0, None))["sureness"] == 0.0
    text = passage("d#0", "The ferry takes dogs.")
    own = replace(reading(text.text, "dogs", 4.0, 5.0, 0.0), truth=3.0)
    assert (
        named("What does the ferry take?", [Hit(text, 1.0)], [own], [candidate("dogs", text, 0.0)])["sureness"] == 0.0
    )
