"""Yes and No: the writer's contract, what is told in each style, and what is left to the other writer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
import pytest

from contracts.material import CANDIDATES, HITS, QUESTIONS, passage, span
from contracts.stages import WriterContract
from wherefrom.errors import NothingWritten
from wherefrom.features.polarity import NAMES, TRUTH_NAMES
from wherefrom.runtime.reader import PassageReading
from wherefrom.runtime.weights import Weights, WeightsError
from wherefrom.stages import Writer
from wherefrom.types import Answer, Hit, Passage, Question, Style, Word, joined
from wherefrom.write.verbatim import VerbatimWriter
from wherefrom.write.yes_no import POLARITY, TRUTH, YesNoWriter, read_line, read_truth_line

KNOT = passage(
    "knot.md#0", "A knot makes a loop. It does not slip or tighten when the rope is loaded. Sailors trust it."
)
YES_NO_QUESTION = Question("7", "Does the knot tighten when the rope is loaded?")
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


def answer_of(weights: Weights, question: Question, style: Style = "short", sure: float = 0.6) -> Answer:
    return YesNoWriter(VerbatimWriter(), weights, sure).write([question], [[]], [[TIGHT]], [0.8], style)[0]


def test_short_is_the_word_with_what_it_rests_on(weights: Weights) -> None:
    answer = answer_of(weights, YES_NO_QUESTION)
    assert answer.text == "No"
    assert answer.words == (Word("No", "vocabulary", share=pytest.approx(0.8808, abs=1e-4)),)
    assert joined(answer.rests_on) == "does not slip or tighten"
    assert all(KNOT.text[word.start : word.end] == word.text for word in answer.rests_on)
    assert answer.evidence == (KNOT,)
    assert answer.chance == 0.8


def test_sentence_is_the_word_and_the_sentence_quoted(weights: Weights) -> None:
    answer = answer_of(weights, YES_NO_QUESTION, "sentence")
    assert answer.text == "No: It does not slip or tighten when the rope is loaded."
    assert joined(answer.words) == answer.text
    assert [word.source for word in answer.words][:3] == ["vocabulary", "vocabulary", "passage"]
    assert all(KNOT.text[word.start : word.end] == word.text for word in answer.words[2:])
    assert answer.rests_on == ()


def test_passage_is_quoted_as_ever(weights: Weights) -> None:
    assert answer_of(weights, YES_NO_QUESTION, "passage").text == KNOT.text


def test_says_yes_where_nothing_speaks_against_it(weights: Weights) -> None:
    (answer,) = YesNoWriter(VerbatimWriter(), weights, 0.6).write(
        [Question("8", "Do sailors trust the knot?")], [[]], [[span(KNOT, "Sailors trust it", 0.9)]], [0.8], "short"
    )
    assert answer.text == "Yes"


def test_other_questions_are_left_to_the_other_writer(weights: Weights) -> None:
    assert answer_of(weights, Question("9", "What does the knot not do?")).text == "does not slip or tighten"


def test_what_it_is_not_sure_of_is_left_to_the_other_writer(weights: Weights) -> None:
    answer = answer_of(weights, YES_NO_QUESTION, sure=0.9)  # it is 0.88 sure
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

    streamed: dict[int, str | None] = {}
    writer = YesNoWriter(Telling(), weights, 0.6)
    answers = writer.write(
        [YES_NO_QUESTION, QUESTIONS[0], YES_NO_QUESTION, QUESTIONS[1]],
        [[], HITS[0], [], HITS[1]],
        [[TIGHT], CANDIDATES[0], [], CANDIDATES[1]],
        [0.1, 0.2, 0.3, 0.4],
        "short",
        lambda place, words: streamed.update({place: joined(words)}),
    )
    assert [answer.text for answer in answers] == ["No", "Ines Moreau", None, "412 kinds"]
    assert [answer.chance for answer in answers] == [0.1, 0.2, 0.3, 0.4]
    assert streamed == {1: "Ines Moreau", 3: "412 kinds"}


@pytest.mark.parametrize("broken", ["{}", '{"bias": 1}', '{"bias": "x", "terms": {}}', "[]"])
def test_weights_that_decide_nothing_name_the_file_and_the_remedy(tmp_path: Path, broken: str) -> None:
    (tmp_path / POLARITY).write_text(broken)
    with pytest.raises(WeightsError, match=r"polarity\.json does not decide .* install wherefrom again"):
        read_line(Weights(tmp_path))


def test_weights_are_read_only_for_a_question_that_needs_them(tmp_path: Path) -> None:
    writer = YesNoWriter(VerbatimWriter(), Weights(tmp_path / "missing"), 0.6)
    assert writer.write(QUESTIONS[:1], HITS[:1], CANDIDATES[:1], [0.8], "short")[0].text == "Ines Moreau"
    with pytest.raises(WeightsError, match="is missing"):
        writer.write([YES_NO_QUESTION], [[]], [[TIGHT]], [0.8], "short")


# A network that says yes and no itself.

HEADED = passage(
    "multer.md#0",
    "Multer is a middleware for forms. Multer will not process any form which is not multipart. It is fast.",
)
ELSEWHERE = passage("busboy.md#0", "Busboy parses forms of all kinds. It is older.")
MULTER_QUESTION = Question("1", "Does multer process forms that are not multipart?")


class Saying:
    """Stands for the network: what it says of a text is written down, (relevance, truth)."""

    def __init__(self, says: Mapping[str, tuple[float, float | None]]) -> None:
        self._says = says
        self.read_texts: list[str] = []

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[PassageReading]]:
        assert len(questions) == len(passages)
        return [[self._reading(each) for each in own] for own in passages]

    def _reading(self, passage: Passage) -> PassageReading:
        self.read_texts.append(passage.text)
        relevance, truth = self._says.get(passage.text, (-5.0, 0.0))
        empty = numpy.zeros(0, numpy.float32)
        return PassageReading(relevance, 0.0, numpy.zeros((0, 2), numpy.int32), empty, empty, truth)


SAYS: dict[str, tuple[float, float | None]] = {
    HEADED.text: (4.0, -3.0),
    ELSEWHERE.text: (-4.0, 5.0),
    "Multer is a middleware for forms.": (1.0, 2.0),
    "Multer will not process any form which is not multipart.": (3.0, -4.0),
    "It is fast.": (-5.0, -6.0),  # says no, and has nothing to do with it
}


@pytest.fixture
def truthful(weights: Weights) -> Weights:
    """The logit of yes is what all passages say together; 0.8 is sure."""
    terms = {name: [float(name == "truth"), 0.0, 1.0] for name in TRUTH_NAMES}
    (weights.folder / TRUTH).write_text(json.dumps({"bias": 0.0, "terms": terms, "sure": 0.8}))
    return weights


def ruled(
    weights: Weights,
    says: Mapping[str, tuple[float, float | None]] = SAYS,
    style: Style = "short",
    sure: float = 0.0,
    hits: Sequence[Passage] = (ELSEWHERE, HEADED),
) -> Answer:
    writer = YesNoWriter(VerbatimWriter(), weights, sure, Saying(says))
    read = [span(hits[0], hits[0].text.split()[0], 0.9)]
    (answer,) = writer.write([MULTER_QUESTION], [[Hit(each, 1.0) for each in hits]], [read], [0.7], style)
    return answer


class TestListeningContract(WriterContract):
    """YesNoWriter is a Writer over a network that says yes and no, too."""

    @pytest.fixture
    def writer(self, truthful: Weights) -> Writer:
        return YesNoWriter(VerbatimWriter(), truthful, 0.0, Saying({}))


def test_the_network_decides_and_the_deciding_sentence_is_quoted(truthful: Weights) -> None:
    answer = ruled(truthful)
    assert answer.text == "No"  # though the first passage says yes, and no word of the best candidate is a negation
    assert answer.words == (Word("No", "vocabulary", share=pytest.approx(0.9521, abs=0.001)),)
    assert joined(answer.rests_on) == "Multer will not process any form which is not multipart."
    assert answer.evidence == (HEADED,)
    assert all(HEADED.text[word.start : word.end] == word.text for word in answer.rests_on)
    assert answer.chance == 0.7


def test_a_passage_that_was_only_skimmed_is_silent_and_the_others_decide(truthful: Weights) -> None:
    skimmed = SAYS | {ELSEWHERE.text: (-4.0, None)}
    answer = ruled(truthful, skimmed)
    assert answer.text == "No"
    assert joined(answer.rests_on) == "Multer will not process any form which is not multipart."


def test_a_sentence_is_the_word_and_the_deciding_sentence(truthful: Weights) -> None:
    answer = ruled(truthful, style="sentence")
    assert answer.text == "No: Multer will not process any form which is not multipart."
    assert joined(answer.words) == answer.text


def test_passages_that_contradict_each_other_get_no_word_but_a_quotation(truthful: Weights) -> None:
    says = SAYS | {ELSEWHERE.text: (4.0, 3.2), "Busboy parses forms of all kinds.": (3.0, 4.0)}
    for style in ("short", "sentence"):
        answer = ruled(truthful, says, style)
        assert answer.text == "Busboy parses forms of all kinds."
        assert answer.evidence == (ELSEWHERE,)
        assert answer.rests_on == ()
        assert all(word.source == "passage" for word in answer.words)


def test_how_sure_it_has_to_be_is_the_weights_unless_the_settings_say(truthful: Weights) -> None:
    says = SAYS | {HEADED.text: (4.0, -1.0)}  # a chance of 0.73
    assert ruled(truthful, says).text == "Multer will not process any form which is not multipart."
    assert ruled(truthful, says, sure=0.7).text == "No"
    assert ruled(truthful, SAYS, sure=0.99).text == "Multer will not process any form which is not multipart."


def test_a_whole_passage_is_quoted_as_ever_and_nothing_more_is_read(truthful: Weights) -> None:
    assert ruled(truthful, style="passage").text == ELSEWHERE.text


@pytest.mark.parametrize("missing", ["network", "line"])
def test_without_network_or_line_the_words_decide(truthful: Weights, missing: str) -> None:
    says: dict[str, tuple[float, float | None]] = {text: (relevance, None) for text, (relevance, _) in SAYS.items()}
    if missing == "line":
        (truthful.folder / TRUTH).unlink()
        says = SAYS
    answer = ruled(truthful, says)
    assert answer.text == "No"  # the question has a negation, the best candidate none
    assert joined(answer.rests_on) == "Busboy"
    assert answer.evidence == (ELSEWHERE,)


def test_a_line_that_is_not_there_is_none_and_a_broken_one_is_named(truthful: Weights) -> None:
    assert read_truth_line(Weights(truthful.folder / "elsewhere")) is None
    (truthful.folder / TRUTH).write_text('{"bias": 0.0, "terms": {}}')
    with pytest.raises(WeightsError, match=r"truth\.json does not decide"):
        read_truth_line(truthful)


def test_only_the_first_passages_and_a_few_sentences_are_read(truthful: Weights) -> None:
    wordy = passage("long.md#0", " ".join(f"Form {number} is here." for number in range(30)) + " Multer is multipart.")
    hits = [wordy, *(passage(f"{number}.md#0", f"Text {number}.") for number in range(20))]
    session = Saying({wordy.text: (4.0, 3.0)})
    writer = YesNoWriter(VerbatimWriter(), truthful, 0.0, session)
    read = [span(hits[12], "Text", 0.9)]
    writer.write([MULTER_QUESTION], [[Hit(each, 1.0) for each in hits]], [read], [0.7], "short")
    assert session.read_texts[:6] == [each.text for each in (*hits[:5], hits[12])]
    assert len(session.read_texts) == 6 + 8
    assert "Multer is multipart." in session.read_texts  # of many those with most of the question's words


def test_a_row_of_a_table_decides_alone(truthful: Weights) -> None:
    table = passage("types.md#0", "form | Multer: yes\nraw | Multer: no\njson | Multer: no")
    says: dict[str, tuple[float, float | None]] = {table.text: (4.0, -3.0), "raw | Multer: no": (3.0, -4.0)}
    assert joined(ruled(truthful, says, hits=[table]).rests_on) == "raw | Multer: no"


def test_nothing_is_written_around_what_it_says(truthful: Weights) -> None:
    writer = YesNoWriter(VerbatimWriter(), truthful, 0.0, Saying(SAYS))
    with pytest.raises(NothingWritten, match="a Yes or No and a quotation"):
        writer.explain(MULTER_QUESTION, [Hit(HEADED, 1.0)], [span(HEADED, "Multer", 0.9)], "sentence")
