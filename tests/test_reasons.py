"""Why a question was answered as it was, and which step lost the answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wherefrom import Library, why
from wherefrom.config import Settings, resolve
from wherefrom.reasons import lost_at, offered, same_answer
from wherefrom.types import STYLES, Answer, Candidate, Document, Hit, Passage, Question, Style, Trace, Word

TEXTS = (
    "The lighthouse was built in 1854 by Ada Holm.",
    "The keeper keeps the lamp key in the blue drawer.",
    "Bread needs flour, water and salt.",
    "The harbour froze in the winter of 1921.",
    "A gull eats what it finds.",
    "The boathouse burnt down in 1930.",
)


def passage(number: int) -> Passage:
    text = TEXTS[number]
    return Passage(f"notes.md#{number}", "notes.md", text, 0, len(text), "Harbour notes")


def candidate(text: str, number: int, score: float = -0.1) -> Candidate:
    start = TEXTS[number].index(text)
    return Candidate(text, passage(number), start, start + len(text), score, {"span": score})


def trace(
    *candidates: Candidate, answer: str | None = None, chance: float = 0.2, order: tuple[int, ...] = (0, 1, 2, 3, 4)
) -> Trace:
    hits = [Hit(passage(n), 0.9 / rank, {"retrieve": 9.0 - n, "rank": 0.9 / rank}) for rank, n in enumerate(order, 1)]
    words = tuple(Word(text, "passage", space=" " * bool(n)) for n, text in enumerate((answer or "").split()))
    question = Question("", "Who built the lighthouse?")
    return Trace(question, tuple(hits), candidates, Answer(answer, "short", chance, words if answer else ()))


def test_a_declined_question_names_the_chance_the_nearest_and_what_to_try() -> None:
    reasons = why(trace(candidate("Ada Holm", 0)), 0.4)
    assert reasons.closing == (
        "declined: the best answer's chance 0.20 is below 0.40; the library comes nearest in Harbour notes "
        '(notes.md#0); try other words, --min-chance 0.20 for "Ada Holm", or add documents'
    )
    assert [step.stage for step in reasons.steps] == ["retrieve", "rank", "read", "judge", "write"]
    assert reasons.steps[0].summary.startswith("5 passages of 1 document found")
    assert reasons.steps[3].summary == "chance 0.20, 0.40 needed: too little"
    assert reasons.lost is None


def test_a_hopeless_chance_is_no_reason_to_lower_the_bar() -> None:
    assert "--min-chance" not in why(trace(candidate("Ada Holm", 0), chance=0.01), 0.4).closing


def test_an_answered_question_says_so() -> None:
    reasons = why(trace(candidate("Ada Holm", 0), answer="Ada Holm", chance=0.9), 0.4)
    assert reasons.closing.startswith("answered: the chance 0.90")
    assert reasons.steps[4].summary == "quoted as it was read:"


@pytest.mark.parametrize("style", STYLES)
def test_it_says_in_words_how_each_style_was_written(style: Style) -> None:
    answer = Answer("It was Ada Holm.", style, 0.9, (Word("It was Ada Holm.", "vocabulary"),))
    summary = why(replace(trace(candidate("Ada Holm", 0)), answer=answer), 0.4).steps[4].summary
    wanted = {"short": "in a few words", "explain": "in some sentences", "free": "in words of its own"}
    assert summary == f"written {wanted.get(style, f'as a {style}'.replace('quote', 'quotation'))}:"


def test_nothing_found_and_nothing_read() -> None:
    nothing = Trace(Question("", "x"), answer=Answer(None, "short", 0.0))
    assert why(nothing, 0.4).closing.startswith("declined: no passage shares a word")
    assert why(trace(), 0.4).closing.startswith("declined: nothing could be read")


def test_ranks_tell_where_a_passage_was_found() -> None:
    ranked = why(trace(candidate("Ada Holm", 0), order=(3, 0, 1)), 0.4).steps[1].details
    assert ranked[0] == "1. Harbour notes (notes.md#3), relevance 0.90, found as number 3"


def test_signals_for_and_against() -> None:
    judged = why(trace(candidate("1921", 3), candidate("1854", 0, -0.2)), 0.4).steps[3].details
    assert judged == (
        "for: the best passage has relevance 0.90",
        "against: not mentioned near the best answer: built, lighthouse",
        'against: "1854" is nearly as likely',
    )
    agreed = why(trace(candidate("1854", 0), candidate("1921", 3, -4.0)), 0.4).steps[3].details
    assert "for: all words of the question are mentioned near the best answer" in agreed
    assert not any("nearly as likely" in signal for signal in agreed)


@pytest.mark.parametrize(
    ("of", "expect", "stage"),
    [
        (trace(candidate("Ada Holm", 0), answer="Ada Holm", chance=0.9), "Ada Holm", None),
        (trace(candidate("Ada Holm", 0)), "Ada Holm", "judging"),
        (trace(candidate("Ada Holm", 0), answer="1854", chance=0.9), "Ada Holm", "writing"),
        (trace(candidate("1854", 0), answer="1854", chance=0.9), "Ada Holm", "reading"),
        (trace(candidate("1854", 0), candidate("Ada Holm", 0), answer="1854", chance=0.9), "Ada Holm", "reading"),
        (trace(candidate("1921", 3), order=(1, 2, 3, 4, 5, 0)), "Ada Holm", "ranking"),
        (trace(candidate("1921", 3), order=(1, 2, 3)), "Ada Holm", "retrieval"),
        (trace(candidate("1921", 3)), "Nils Berg", "extraction"),
        (trace(candidate("1921", 3), answer="No", chance=0.9), "yes", "writing"),
        (trace(candidate("1921", 3), answer="No, it did not.", chance=0.9), "no", None),
    ],
)
def test_the_step_that_lost_an_expected_answer(of: Trace, expect: str, stage: str | None) -> None:
    loss = why(of, 0.4, expect, held=lambda text: any(text in known for known in TEXTS)).lost
    assert loss is not None
    assert loss.stage == stage


def test_the_candidate_that_was_right_is_numbered() -> None:
    lost = why(trace(candidate("1854", 0), candidate("Ada Holm", 0)), 0.4, "Ada Holm").lost
    assert lost is not None
    assert lost.detail.endswith("(it is possible answer 2)")


def test_the_library_is_only_searched_where_nothing_else_tells() -> None:
    def unasked() -> bool:
        raise AssertionError

    assert lost_at(0, False, unasked, None) == "judging"


@pytest.mark.parametrize(
    ("text", "expected", "same"),
    [
        ("It was Ada Holm.", "ada holm", True),
        ("Holm", "Ada Holm", True),  # the better part
        ("Holm", "Ada Maria Holm of Bergen", False),
        ("Holmes", "Holm", False),
        ("press *", "*", True),
        ("", "Holm", False),
    ],
)
def test_same_answers(text: str, expected: str, same: bool) -> None:
    assert same_answer(text, expected) is same


def test_a_library_knows_what_it_holds(tmp_path: Path) -> None:
    lexical = resolve(None, ("rank.kind=none", "read.kind=sentence", "judge.kind=lexical"), Settings())
    with Library(tmp_path / "library", lexical) as library:
        library.put([Document(f"{number}.txt", text) for number, text in enumerate(TEXTS)])
        declined = library.ask("Who built the lighthouse?")
        lost = [library.why(declined, expect=text).lost for text in ("flour, WATER and salt", "Nils Berg", "Ada Holm")]
        assert [each.stage for each in lost if each] == ["retrieval", "extraction", None]
        assert library.why(library.ask("Who built the lighthouse?", min_chance=1.0), min_chance=1.0).closing.startswith(
            "declined: the best answer's chance"
        )


def test_what_may_be_right_is_offered_where_it_declines_and_nothing_else() -> None:
    question, best = Question("1", "When was the lighthouse built?"), candidate("in 1854", 0)
    declined = Trace(question, (), (best, candidate("Ada Holm", 0)), Answer(None, "short", 0.5))
    assert offered(declined) == best
    unlikely = Answer(None, "short", 0.2)
    beyond = Answer(None, "short", 0.5, reason="out of reach: questions in German are not supported (English only)")
    for answer in (unlikely, beyond, Answer("1854", "short", 0.9), None):
        assert offered(Trace(question, (), (best,), answer)) is None
    assert offered(Trace(question, (), (), Answer(None, "short", 0.5))) is None
