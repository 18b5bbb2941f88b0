"""Yes or No in front of the words that decide it, for questions that ask for no more.

The default, over any other writer: `short` is the word alone, `sentence` the word and the sentence it rests on,
quoted. The word stands in no passage and says so; what decided it is quoted beside it. English only.

A reader network that was trained for it says of every passage which way it decides; a logistic regression makes a
chance of that, of the sentences read one by one and of their words (`features/polarity.py`), and the sentence that
decides is quoted. Where the chance of neither word is large enough, the sentence is quoted without one. An older
network says nothing of the kind, nor does another reader: there the regression looks at the words of the best
candidate alone, and where it is not sure the other writer writes, as it does for all other questions.

It needs the weights `yes-no`, a few numbers; `systems/yes_no` fits them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from wherefrom.errors import NothingWritten
from wherefrom.features.chance import FittedLine, probability
from wherefrom.features.overlap import Stems
from wherefrom.features.polarity import NAMES, TRUTH_NAMES, asks_yes_no, features, log_support, pooled_truth
from wherefrom.runtime.reader import PassageReading
from wherefrom.runtime.weights import Weights, WeightsError
from wherefrom.stages import OnWords, Writer
from wherefrom.text import Span, says_something, sentences, sentences_around, without_marker
from wherefrom.types import Answer, Candidate, Hit, Passage, Question, Style, Word, joined
from wherefrom.write.explain import Explanation, explained_by
from wherefrom.write.verbatim import copied_words

POLARITY = "polarity.json"  # the line for what the best candidate says
TRUTH = "truth.json"  # the line for what the network says; missing in weights of older networks
_SURE = 0.6  # where neither settings nor weights say how sure is enough
_PASSAGES = 5  # that are listened to; reading and judging have paid for them
_SENTENCES = 8  # of the passage that decides, read one by one: each costs a short pass


class PairReader(Protocol):
    """What is asked of the reader network's session."""

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[PassageReading]]: ...


def read_line(weights: Weights) -> FittedLine:
    """The logistic regression on what the best candidate says; its logit is that of yes."""
    return _line(weights, POLARITY, NAMES)[0]


def read_truth_line(weights: Weights) -> tuple[FittedLine, float] | None:
    """The one on what the network says, and how sure it has to be; None in weights that were fitted without."""
    return _line(weights, TRUTH, TRUTH_NAMES) if (weights.folder / TRUTH).exists() else None


def _line(weights: Weights, file: str, names: Sequence[str]) -> tuple[FittedLine, float]:
    try:
        saved = weights.json(file)
        return FittedLine.of(saved, names), float(saved.get("sure", _SURE))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise WeightsError(
            f"{weights.folder / file} does not decide between yes and no ({error}); install wherefrom again, "
            "or fit it with `wherefrom train yes-no`"
        ) from error


@dataclass(frozen=True, slots=True)
class HeardSentence:
    """A sentence of a passage, and what the network says of it alone."""

    span: Span
    relevance: float
    truth: float


@dataclass(frozen=True, slots=True)
class Hearing:
    """What the network says to a question of yes or no: the features, and the deciding passage by its sentences."""

    features: tuple[float, ...]  # in the order of TRUTH_NAMES
    passage: Passage
    sentences: tuple[HeardSentence, ...]

    def deciding(self, yes: bool) -> Span:
        """The sentence that decides it this way; the first of those that do so equally."""
        return max(self.sentences, key=lambda each: log_support(each.relevance, each.truth, yes)).span


def hearings(
    session: PairReader, questions: Sequence[str], passages: Sequence[Sequence[Passage]], stems: Stems
) -> list[Hearing | None]:
    """A hearing of each question over its passages; None where the network was not trained for yes and no."""
    leading = [
        None if lead is None else (question, *lead)
        for question, own, readings in zip(questions, passages, session.read(questions, passages), strict=True)
        for lead in [_leading(own, readings)]
    ]
    spans = [None if lead is None else _sentences(lead[0], lead[1].text, stems) for lead in leading]
    cut = [
        [] if lead is None or own is None else [_alone(lead[1], span) for span in own]
        for lead, own in zip(leading, spans, strict=True)
    ]
    return [
        None if lead is None or own is None else _hearing(*lead, own, readings, stems)
        for lead, own, readings in zip(leading, spans, session.read(questions, cut), strict=True)
    ]


def _leading(passages: Sequence[Passage], readings: Sequence[PassageReading]) -> tuple[Passage, float, float] | None:
    """The passage that decides, the truth of all together and the highest relevance.

    It is the most relevant of those that say what all together say: the others would be quoted for the opposite.
    """
    heard = [
        (passage, reading.relevance, reading.truth)
        for passage, reading in zip(passages, readings, strict=True)
        if reading.truth is not None  # else it was only skimmed, and stands behind the others
    ]
    if not heard:
        return None
    truth = pooled_truth([relevance for _, relevance, _ in heard], [own for _, _, own in heard])
    agreeing = [each for each in heard if (each[2] >= 0) == (truth >= 0)]
    passage, *_ = max(agreeing, key=lambda each: each[1])
    return passage, truth, max(relevance for _, relevance, _ in heard)


def _hearing(
    question: str,
    passage: Passage,
    truth: float,
    relevance: float,
    spans: Sequence[Span],
    readings: Sequence[PassageReading],
    stems: Stems,
) -> Hearing:
    heard = tuple(
        HeardSentence(span, reading.relevance, reading.truth or 0.0)
        for span, reading in zip(spans, readings, strict=True)
    )
    apart = pooled_truth([each.relevance for each in heard], [each.truth for each in heard])
    nearest = max(heard, key=lambda each: each.relevance).span
    words = features(question, passage.title, passage.text, nearest, stems)
    return Hearing((truth, truth * probability(relevance), apart, *words), passage, heard)


def _sentences(question: str, text: str, stems: Stems) -> list[Span]:
    """The sentences to be read alone, rows of a table one by one; of many those with most of the question's words."""
    spans = [part for span in sentences(text) for part in _rows(text, span) if says_something(text[slice(*part)])]
    if len(spans) > _SENTENCES:
        wanted = set(stems(question))
        held = {span: len(wanted & set(stems(text[slice(*span)]))) for span in spans}
        spans = sorted(sorted(spans, key=lambda span: (-held[span], span))[:_SENTENCES])
    return spans or [(0, len(text))]


def _rows(text: str, span: Span) -> list[Span]:
    """A sentence's lines where it is made of a table's rows, such as `bigint | Storage Size: 8 bytes`."""
    start, end = span
    if " | " not in text[start:end]:
        return [span]
    rows, begin = [], start
    for line in text[start:end].splitlines(keepends=True):
        rows.append((begin, begin + len(line.rstrip())))
        begin += len(line)
    return rows


def _alone(passage: Passage, span: Span) -> Passage:
    """A sentence as a passage, under the headings that it stands under."""
    start, end = span
    return replace(passage, text=passage.text[start:end], start=passage.start + start, end=passage.start + end)


class YesNoWriter:
    """Says Yes or No where a question asks for it and the chance is at least `sure`; leaves other questions to `other`.

    `sure` 0 is what the weights say. `session` is the reader network's, where the pipeline has one.
    """

    def __init__(self, other: Writer, weights: Weights, sure: float = 0.0, session: PairReader | None = None) -> None:
        self.other = other
        self._weights = weights
        self._sure = sure
        self._session = session
        self._stems = Stems("english")
        self._line: FittedLine | None = None
        self._truth_line: tuple[FittedLine, float] | None = None

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        answers = self._answers(questions, hits, candidates, chances, style)
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
        if self._answers([question], [hits], [candidates], [1.0], style):
            raise NothingWritten("this answer is a Yes or No and a quotation: nothing is written around them")
        return explained_by(self.other, question, hits, candidates, style)

    def heard(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[Hearing | None]:
        """What the network says to questions of yes or no; None where it cannot say."""
        if self._session is None:
            return [None] * len(questions)
        passages = [_passages(own, read) for own, read in zip(hits, candidates, strict=True)]
        return hearings(self._session, [question.text for question in questions], passages, self._stems)

    def _answers(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
    ) -> dict[int, Answer]:
        """The answers of this writer, by their places."""
        if style in ("passage", "explain"):
            return {}
        places = [place for place, question in enumerate(questions) if candidates[place] and asks_yes_no(question.text)]
        heard = self._heard_at(places, questions, hits, candidates)
        answers: dict[int, Answer] = {}
        for place in places:
            best, hearing = candidates[place][0], heard.get(place)
            if hearing is not None and self._truth_line is not None:
                answers[place] = _heard_answer(hearing, *self._truth_word(hearing), chances[place], style)
            elif (word := self._word(questions[place].text, best)) is not None:
                around = sentences_around(best.passage.text, (best.start, best.end))
                span = (best.start, best.end) if style == "short" else around
                answers[place] = _yes_no_answer(word, best.passage, span, chances[place], style)
        return answers

    def _heard_at(
        self,
        places: Sequence[int],
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
    ) -> Mapping[int, Hearing | None]:
        """The hearings at these places; none where the weights cannot make a chance of them."""
        if self._session is None or not places:
            return {}
        self._truth_line = self._truth_line or read_truth_line(self._weights)
        if self._truth_line is None:
            return {}
        heard = self.heard(
            [questions[place] for place in places],
            [hits[place] for place in places],
            [candidates[place] for place in places],
        )
        return dict(zip(places, heard, strict=True))

    def _truth_word(self, hearing: Hearing) -> tuple[bool, Word | None]:
        """Whether it is rather yes than no, and the word with its chance as the share; None where it is not sure."""
        assert self._truth_line is not None
        line, fitted = self._truth_line
        yes = probability(line.logit(hearing.features))
        return yes >= 0.5, _yes_or_no(yes, self._sure or fitted)

    def _word(self, question: str, candidate: Candidate) -> Word | None:
        """Yes or No by the words of the best candidate; None where it is not sure."""
        if self._line is None:
            self._line = read_line(self._weights)
        passage = candidate.passage
        row = features(question, passage.title, passage.text, (candidate.start, candidate.end), self._stems)
        return _yes_or_no(probability(self._line.logit(row)), self._sure or _SURE)


def _passages(hits: Sequence[Hit], candidates: Sequence[Candidate]) -> list[Passage]:
    """The first passages, and the one of the best candidate wherever it stands."""
    passages = [hit.passage for hit in hits[:_PASSAGES]]
    return list(dict.fromkeys([*passages, *(candidate.passage for candidate in candidates[:1])]))


def _yes_or_no(yes: float, sure: float) -> Word | None:
    if max(yes, 1 - yes) < sure:
        return None
    return Word("Yes", "vocabulary", share=yes) if yes >= 0.5 else Word("No", "vocabulary", share=1 - yes)


def _heard_answer(hearing: Hearing, yes: bool, word: Word | None, chance: float, style: Style) -> Answer:
    """The word with the sentence that decides; the sentence alone where there is no word."""
    span = hearing.deciding(yes)
    if word is not None:
        return _yes_no_answer(word, hearing.passage, span, chance, style)
    quoted = copied_words(hearing.passage, *without_marker(hearing.passage.text, span))
    return Answer(joined(quoted), style, chance, quoted, (hearing.passage,))


def _yes_no_answer(word: Word, passage: Passage, span: Span, chance: float, style: Style) -> Answer:
    quoted = copied_words(passage, *without_marker(passage.text, span))
    if style == "short":
        return Answer(word.text, style, chance, (word,), (passage,), quoted)
    words = (word, Word(":", "vocabulary"), *(replace(first, space=" ") for first in quoted[:1]), *quoted[1:])
    return Answer(joined(words), style, chance, words, (passage,))
