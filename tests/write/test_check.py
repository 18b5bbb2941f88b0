"""What keeps a written sentence from being shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from wherefrom.features.fluency import Fluency, ToldAnswer
from wherefrom.types import Candidate, Passage
from wherefrom.write.check import SentenceCheck

TEXT = "The gate is closed at night. Gzip usually shrinks English text by 60-70%, but it does not shrink photos."
PASSAGE = Passage("a#0", "a", TEXT, 0, len(TEXT), "gzip")
QUESTION = "by how much does gzip usually shrink english text?"


class _Chance:
    """Gives every sentence the same chance."""

    def __init__(self, chance: float) -> None:
        self.chance = chance

    def chances(self, statements: Sequence[ToldAnswer]) -> list[float]:
        return [self.chance] * len(statements)


def check(chance: float = 1.0, **settings: object) -> SentenceCheck:
    return SentenceCheck(cast(Fluency, _Chance(chance)), 0.5, **settings)  # type: ignore[arg-type]


def fault(question: str, answer: str, sentence: str, text: str = TEXT) -> str:
    passage = Passage("a#0", "a", text, 0, len(text))
    start = text.index(answer)
    return check().fault(question, Candidate(answer, passage, start, start + len(answer), 1.0), sentence)


def test_a_good_sentence_has_no_fault() -> None:
    assert fault(QUESTION, "60-70%", "Gzip usually shrinks english text by 60-70%.") == ""


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("Gzip usually shrink english text by 60-70%.", "verb"),
        ("Gzip usually shrinks english text 60-70%.", "'by'"),
        ("Gzip shrinks english text by 60-70%.", "'usually' of the question is lost"),
        ("Gzip usually shrinks english text in text by 60-70%.", "twice"),
        ("Gzip usually shrinks english text by half.", "without the answer"),
        ("Gzip usually shrinks awful english text by 60-70%.", "'awful' stands in no source"),
        ("Gzip usually shrinks english text by 60-70% of the.", "ends in"),
        ("Gzip can usually shrinks english text by 60-70%.", "'can' comes too often"),
        ("Gzip usually shrinks english text\nby 60-70%.", "not one sentence"),
        ("Gzip usually shrinks english text by 60-70%", "not one sentence"),
    ],
)
def test_what_is_wrong_is_said(sentence: str, wrong: str) -> None:
    assert wrong in fault(QUESTION, "60-70%", sentence)


def test_a_noun_that_is_half_kept() -> None:
    text = "Scrap value: zero is usually assumed."
    question = "what scrap value is usually assumed?"
    assert "only 'scrap'" in fault(question, "zero", "Zero scrap is usually assumed.", text)
    assert fault(question, "zero", "Zero is usually assumed.", text) == ""


def test_an_answer_that_is_no_number_is_not_counted() -> None:
    text = "Requests are served once a second."
    assert "no number" in fault("how many requests can it serve?", "once", "It can serve once requests.", text)


def test_an_answer_that_is_a_sentence_stands_in_none() -> None:
    text = "By default all commands must exit with code 0 here."
    answer = "all commands must exit with code 0"
    assert "a sentence itself" in fault("what is the default of it?", answer, f"The default of it is {answer}.", text)


def test_a_negation_is_kept() -> None:
    text = "The team does not recommend Zebu at all."
    assert "negation" in fault("which brand do they recommend?", "Zebu", "They recommend Zebu.", text)


def _candidate() -> Candidate:
    start = TEXT.index("60-70%")
    return Candidate("60-70%", PASSAGE, start, start + 6, 1.0)


def test_what_is_not_well_formed_is_stopped() -> None:
    sentence = "Gzip usually shrinks english text by 60-70%."
    assert check(0.4).fault(QUESTION, _candidate(), sentence) == "not well formed"
    assert check(0.6).fault(QUESTION, _candidate(), sentence) == ""


def test_what_the_evidence_does_not_bear_out_is_stopped() -> None:
    sentence = "Gzip usually shrinks english text by 60-70%."
    heard: list[tuple[str, Passage]] = []

    def truth(statement: str, passage: Passage) -> float | None:
        heard.append((statement, passage))
        return -1.0

    assert "borne out" in check(truth=truth, least_truth=0.0).fault(QUESTION, _candidate(), sentence)
    assert check(truth=truth, least_truth=-2.0).fault(QUESTION, _candidate(), sentence) == ""
    assert heard == [(sentence, PASSAGE)] * 2
    assert check(truth=lambda *_: None, least_truth=9.0).fault(QUESTION, _candidate(), sentence) == ""
