"""Yes or No in front of the words that decide it, for questions that ask for no more.

The default, over any other writer: `short` is the word alone, `sentence` the word and the sentence it rests on,
quoted. The word stands in no passage and says so; what decided it is quoted beside it. A logistic regression on what
the reader's best candidate says decides (`features/polarity.py`); where it is not sure, the other writer writes the
deciding words, as it does for all other questions. English only. It needs the weights `yes-no`, a few numbers;
`systems/yes_no` fits them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wherefrom.errors import NothingWritten
from wherefrom.features.chance import FittedLine, probability
from wherefrom.features.overlap import Stems
from wherefrom.features.polarity import NAMES, asks_yes_no, features
from wherefrom.runtime.weights import Weights, WeightsError
from wherefrom.stages import OnWords, Writer
from wherefrom.text import sentences_around
from wherefrom.types import Answer, Candidate, Hit, Question, Style, Word, joined
from wherefrom.write.explain import Explanation, explained_by
from wherefrom.write.verbatim import copied_words

POLARITY = "polarity.json"


def read_line(weights: Weights) -> FittedLine:
    """The logistic regression whose logit is that of yes."""
    try:
        return FittedLine.of(weights.json(POLARITY), NAMES)
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(
            f"{weights.folder / POLARITY} does not decide between yes and no ({error}); install wherefrom again, "
            "or fit it with `wherefrom train yes-no`"
        ) from error


class YesNoWriter:
    """Says Yes or No where a question asks for it and the chance is at least `sure`; leaves all else to `other`."""

    def __init__(self, other: Writer, weights: Weights, sure: float) -> None:
        self.other = other
        self._weights = weights
        self._sure = sure
        self._stems = Stems("english")
        self._line: FittedLine | None = None

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        answers = {
            place: _yes_no_answer(word, read[0], chances[place], style)
            for place, (question, read) in enumerate(zip(questions, candidates, strict=True))
            if style != "passage" and read and (word := self._decided(question.text, read[0])) is not None
        }
        left = [place for place in range(len(questions)) if place not in answers]
        others = self.other.write(
            [questions[place] for place in left],
            [hits[place] for place in left],
            [candidates[place] for place in left],
            [chances[place] for place in left],
            style,
            None if on_words is None else lambda number, words: on_words(left[number], words),
        )
        answers |= zip(left, others, strict=True)
        return [answers[place] for place in range(len(questions))]

    def explain(
        self, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate], style: Style
    ) -> Explanation:
        """How the other writer wrote it; a Yes or No of this one is not written by a network."""
        if candidates and self._decided(question.text, candidates[0]) is not None:
            raise NothingWritten("this answer is a Yes or No and a quotation: nothing is written around them")
        return explained_by(self.other, question, hits, candidates, style)

    def _decided(self, question: str, candidate: Candidate) -> Word | None:
        """Yes or No, with its chance as the share; None where the question asks for neither, or it is not sure."""
        if not asks_yes_no(question):
            return None
        if self._line is None:
            self._line = read_line(self._weights)
        passage = candidate.passage
        row = features(question, passage.title, passage.text, (candidate.start, candidate.end), self._stems)
        yes = probability(self._line.logit(row))
        if max(yes, 1 - yes) < self._sure:
            return None
        return Word("Yes", "vocabulary", share=yes) if yes >= 0.5 else Word("No", "vocabulary", share=1 - yes)


def _yes_no_answer(word: Word, candidate: Candidate, chance: float, style: Style) -> Answer:
    passage = candidate.passage
    if style == "short":
        rests_on = copied_words(passage, candidate.start, candidate.end)
        return Answer(word.text, style, chance, (word,), (passage,), rests_on)
    quoted = copied_words(passage, *sentences_around(passage.text, (candidate.start, candidate.end)))
    words = (word, Word(":", "vocabulary"), *(replace(first, space=" ") for first in quoted[:1]), *quoted[1:])
    return Answer(joined(words), style, chance, words, (passage,))
