"""Scores of written answers that need no gold."""

from __future__ import annotations

from dataclasses import replace

from wherefrom.data import catalog
from wherefrom.data.examples import Example, whole
from wherefrom.evaluate.predictions import of_trace
from wherefrom.evaluate.score import score
from wherefrom.evaluate.written import written_values
from wherefrom.types import Answer, Candidate, Hit, Passage, Question, Trace, Word

PASSAGE = whole("p", "The mill was built in 1908 by Ines Rey.")
OTHER = whole("q", "The bridge is older.")


def word(text: str, passage: Passage | None = None, space: str = " ") -> Word:
    if passage is None:
        return Word(text, "vocabulary", space=space)
    start = passage.text.index(text)
    return Word(text, "passage", passage.id, start, start + len(text), 1.0, space)


def trace(*words: Word) -> Trace:
    text = "".join(one.space + one.text for one in words)
    answer = Answer(text, "sentence", 0.9, words, (PASSAGE, OTHER))
    at = PASSAGE.text.index("1908")
    candidate = Candidate("1908", PASSAGE, at, at + 4, 1.0)
    return Trace(Question("1", "When was the mill built?"), (Hit(PASSAGE, 2.0), Hit(OTHER, 1.0)), (candidate,), answer)


GOOD = trace(word("The", PASSAGE, ""), word("mill", PASSAGE), word("came"), word("in", PASSAGE), word("1908", PASSAGE))


def test_an_answer_that_keeps_to_its_sources() -> None:
    values = written_values(GOOD)
    shares = {"from_passage": 0.8, "from_question": 0.0, "from_vocabulary": 0.2}
    held = {"strange": 0.0, "repeats": 0.0, "copied_exact": 1.0, "agrees": 1.0}
    assert values == {"attested": 2 / 3, **shares, **held}


def test_what_stands_nowhere_is_strange_and_does_not_agree() -> None:
    values = written_values(trace(word("The", PASSAGE, ""), word("mill", PASSAGE), word("in", PASSAGE), word("1909")))
    assert values["strange"] == 1.0
    assert values["agrees"] == 0.0


def test_a_word_at_another_place_is_not_exact() -> None:
    wrong = replace(word("mill", PASSAGE), start=0, end=4)
    assert written_values(trace(word("The", PASSAGE, ""), wrong))["copied_exact"] == 0.5


def test_nothing_is_said_of_a_declined_answer() -> None:
    assert written_values(replace(GOOD, answer=Answer(None, "sentence", 0.1))) == {}


def test_four_words_in_a_row() -> None:
    again = [word(text, PASSAGE) for text in ("The", "mill", "was", "built")]
    assert written_values(trace(*again, *again))["repeats"] == 1.0
    assert written_values(trace(*again, word("in", PASSAGE)))["repeats"] == 0.0


def test_scores_tell_them_for_sentences() -> None:
    example = Example(
        Question("1", GOOD.question.text),
        (PASSAGE, OTHER),
        (True, False),
        answers=("1908",),
        sentences=("The mill was built in 1908.",),
        answerable=True,
    )
    astray = trace(word("The", OTHER, ""), word("bridge", OTHER), word("1908", PASSAGE))
    marco = catalog.dataset("ten-passages")
    assert score(marco, [example], {"1": of_trace(GOOD)}).metrics["from_relevant"] == 100.0
    metrics = score(marco, [example], {"1": of_trace(astray)}).metrics
    assert round(metrics["from_relevant"], 1) == 33.3
    assert metrics["agrees"] == 100.0


def test_every_copied_word_counts_alike_in_the_share_of_all_words() -> None:
    examples = [
        Example(
            Question(id, GOOD.question.text),
            (PASSAGE, OTHER),
            (True, False),
            answers=("1908",),
            sentences=("The mill was built in 1908.",),
            answerable=True,
        )
        for id in ("1", "2")
    ]
    astray = replace(trace(word("bridge", OTHER, "")), question=Question("2", GOOD.question.text))
    marco = catalog.dataset("ten-passages")
    metrics = score(marco, examples, {"1": of_trace(GOOD), "2": of_trace(astray)}).metrics
    assert metrics["from_relevant"] == 50.0  # one answer of two
    assert metrics["words_from_relevant"] == 80.0  # four words of five
