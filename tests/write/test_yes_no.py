"""Yes and No: the writer's contract, what is told in each style, and what is left to the other writer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.material import CANDIDATES, HITS, QUESTIONS, passage, span
from contracts.stages import WriterContract
from wherefrom.features.polarity import NAMES
from wherefrom.runtime.weights import Weights, WeightsError
from wherefrom.stages import Writer
from wherefrom.types import Answer, Question, Style, Word, joined
from wherefrom.write.verbatim import VerbatimWriter
from wherefrom.write.yes_no import POLARITY, YesNoWriter, read_line

KNOT = passage(
    "knot.md#0", "A knot makes a loop. It does not slip or tighten when the rope is loaded. Sailors trust it."
)
ASKED = Question("7", "Does the knot tighten when the rope is loaded?")
TIGHT = span(KNOT, "does not slip or tighten", 0.9)


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    """No for a negation, yes without: logit 2 - 4 * negation."""
    terms = {name: [-4.0 if name == "negation" else 0.0, 0.0, 1.0] for name in NAMES}
    (tmp_path / POLARITY).write_text(json.dumps({"bias": 2.0, "terms": terms}))
    return Weights(tmp_path)


class TestContract(WriterContract):
    """YesNoWriter is a Writer."""

    @pytest.fixture
    def writer(self, weights: Weights) -> Writer:
        return YesNoWriter(VerbatimWriter(), weights, 0.6)


def told(weights: Weights, question: Question, style: Style = "short", sure: float = 0.6) -> Answer:
    return YesNoWriter(VerbatimWriter(), weights, sure).write([question], [[]], [[TIGHT]], [0.8], style)[0]


def test_short_is_the_word_with_what_it_rests_on(weights: Weights) -> None:
    answer = told(weights, ASKED)
    assert answer.text == "No"
    assert answer.words == (Word("No", "vocabulary", share=pytest.approx(0.8808, abs=1e-4)),)
    assert joined(answer.rests_on) == "does not slip or tighten"
    assert all(KNOT.text[word.start : word.end] == word.text for word in answer.rests_on)
    assert answer.evidence == (KNOT,)
    assert answer.chance == 0.8


def test_sentence_is_the_word_and_the_sentence_quoted(weights: Weights) -> None:
    answer = told(weights, ASKED, "sentence")
    assert answer.text == "No: It does not slip or tighten when the rope is loaded."
    assert joined(answer.words) == answer.text
    assert [word.source for word in answer.words][:3] == ["vocabulary", "vocabulary", "passage"]
    assert all(KNOT.text[word.start : word.end] == word.text for word in answer.words[2:])
    assert answer.rests_on == ()


def test_passage_is_quoted_as_ever(weights: Weights) -> None:
    assert told(weights, ASKED, "passage").text == KNOT.text


def test_says_yes_where_nothing_speaks_against_it(weights: Weights) -> None:
    (answer,) = YesNoWriter(VerbatimWriter(), weights, 0.6).write(
        [Question("8", "Do sailors trust the knot?")], [[]], [[span(KNOT, "Sailors trust it", 0.9)]], [0.8], "short"
    )
    assert answer.text == "Yes"


def test_other_questions_are_left_to_the_other_writer(weights: Weights) -> None:
    assert told(weights, Question("9", "What does the knot not do?")).text == "does not slip or tighten"


def test_what_it_is_not_sure_of_is_left_to_the_other_writer(weights: Weights) -> None:
    answer = told(weights, ASKED, sure=0.9)  # it is 0.88 sure
    assert answer.text == "does not slip or tighten"
    assert answer.rests_on == ()


def test_answers_follow_the_questions_and_words_are_heard_at_their_place(weights: Weights) -> None:
    class Telling(VerbatimWriter):
        def write(self, questions, hits, candidates, chances, style, on_words=None):  # type: ignore[no-untyped-def]
            answers = super().write(questions, hits, candidates, chances, style)
            for number, answer in enumerate(answers):
                if on_words and answer.text:
                    on_words(number, answer.words)
            return answers

    heard: dict[int, str | None] = {}
    writer = YesNoWriter(Telling(), weights, 0.6)
    answers = writer.write(
        [ASKED, QUESTIONS[0], ASKED, QUESTIONS[1]],
        [[], HITS[0], [], HITS[1]],
        [[TIGHT], CANDIDATES[0], [], CANDIDATES[1]],
        [0.1, 0.2, 0.3, 0.4],
        "short",
        lambda place, words: heard.update({place: joined(words)}),
    )
    assert [answer.text for answer in answers] == ["No", "Ines Moreau", None, "412 kinds"]
    assert [answer.chance for answer in answers] == [0.1, 0.2, 0.3, 0.4]
    assert heard == {1: "Ines Moreau", 3: "412 kinds"}


@pytest.mark.parametrize("broken", ["{}", '{"bias": 1}', '{"bias": "x", "terms": {}}', "[]"])
def test_weights_that_decide_nothing_name_the_file_and_the_remedy(tmp_path: Path, broken: str) -> None:
    (tmp_path / POLARITY).write_text(broken)
    with pytest.raises(WeightsError, match=r"polarity\.json does not decide .* install wherefrom again"):
        read_line(Weights(tmp_path))


def test_weights_are_read_only_for_a_question_that_needs_them(tmp_path: Path) -> None:
    writer = YesNoWriter(VerbatimWriter(), Weights(tmp_path / "missing"), 0.6)
    assert writer.write(QUESTIONS[:1], HITS[:1], CANDIDATES[:1], [0.8], "short")[0].text == "Ines Moreau"
    with pytest.raises(WeightsError, match="is missing"):
        writer.write([ASKED], [[]], [[TIGHT]], [0.8], "short")
