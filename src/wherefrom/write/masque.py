"""The answer written by a network, word by word, each word with its source.

Use it for whole sentences: `sentence` puts the reader's answer into a sentence of its own, written from the best
passages. `short` quotes the reader's answer as it stands, or is written too (`write.short`); `passage` is always
quoted. `free` is told in the writer's own words, as one tells a story: some words, no whole sentence; it shares a
word with the reader's answer, whose chance it has, or that answer is quoted. It needs the weights `writer`.

What is written keeps to the sources: every name and number stands in a passage or in the question, nothing is said
twice in a row, it does not only say the question again, and the sentence holds the reader's answer. With a check
(`check.py`), a sentence is also well formed and tells the whole question, and none is written where question and answer
do not make one: keywords, how to, why, lists. Where the first try does not keep to this, the next best is taken; where
none does, the sentence around the answer is quoted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from wherefrom.errors import NothingWritten
from wherefrom.features.asking import TurnedQuestion, can_be_told, turned
from wherefrom.runtime.writer import Short, WriterSession, WritingTask, passages_with
from wherefrom.stages import OnWords
from wherefrom.types import Answer, Candidate, Hit, Question, Style, Word, joined
from wherefrom.write.attest import adds_nothing, echoes, holds_answer, loses_most, shares_a_word, unattested
from wherefrom.write.explain import Explanation, explained
from wherefrom.write.marks import WrittenStyle
from wherefrom.write.spelling import Piece, spelled
from wherefrom.write.verbatim import VerbatimWriter

if TYPE_CHECKING:
    from wherefrom.runtime.copying import CopyPlaces
    from wherefrom.runtime.search import SearchSettings, WrittenAnswer
    from wherefrom.write.check import SentenceCheck

_AGAIN = 4  # beginnings that a second try follows
_LEARNT_AS: dict[Style, WrittenStyle] = {"free": "narrative"}  # by which name the network knows a style, if another


@dataclass(frozen=True, slots=True)
class _Writable:
    """A question with passages to write an answer from."""

    place: int  # among the questions
    question: Question
    task: WritingTask  # its question speaks of the one who asks as `you`
    candidate: Candidate | None  # the answer that a sentence shall hold, or that shares a word with what is told freely
    turned: TurnedQuestion


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A written answer that keeps to its sources."""

    words: tuple[Word, ...]
    written: WrittenAnswer
    places: CopyPlaces
    first: bool  # at the first try


class MasqueWriter:
    """Writes from the `passages` best hits; the candidate's own passage is always among them.

    `counts` says how often an answer was `written` at the first try, at `another` try, or `quoted`.
    """

    def __init__(
        self,
        session: WriterSession,
        passages: int = 3,
        beam: int = 1,
        short: Literal["quote", "write"] = "quote",
        check: SentenceCheck | None = None,
    ) -> None:
        self._session = session
        self._passages = passages
        self._beam = beam
        self._short = short
        self._check = check
        self._quoting = VerbatimWriter()
        self.counts: Counter[str] = Counter()

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        quoted = self._quoting.write(questions, hits, candidates, chances, style)
        if self._quotes(style):
            return quoted
        writable = self._writable(questions, hits, candidates, style)
        accepted = self._accepted(writable, style, on_words)
        self.counts.update("written" if answer.first else "another" for answer in accepted.values())
        self.counts["quoted"] += len(writable) - len(accepted)
        answers = list(quoted)
        for one in writable:
            if one.place in accepted:
                words = accepted[one.place].words
                answers[one.place] = _answer(words, style, quoted[one.place].chance, one.task)
        return answers

    def explain(
        self, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate], style: Style
    ) -> Explanation:
        """How the answer that `write` gives was written, word by word.

        It is written once more, now keeping where every step looked: what the passages say is still remembered.
        """
        writable = [] if self._quotes(style) else self._writable([question], [hits], [candidates], style)
        accepted = self._accepted(writable, style, None, looking=True).get(0)
        if accepted is None:
            raise NothingWritten(
                "this answer is quoted: what the network wrote did not pass the check, or the question makes no "
                "sentence; ask in other words, or with write.check=false"
            )
        pieces = _pieces(accepted.written, accepted.places, self._session)
        return explained(pieces, accepted.written, accepted.places, writable[0].task, sentence=style == "sentence")

    def _quotes(self, style: Style) -> bool:
        return style in ("quote", "passage", "explain") or (style == "short" and self._short == "quote")

    def _writable(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        style: Style,
    ) -> list[_Writable]:
        """The questions whose hits have text to write from."""
        return [
            _Writable(place, question, task, candidate, you)
            for place, (question, question_hits, read) in enumerate(zip(questions, hits, candidates, strict=True))
            for candidate in [read[0] if read and style in ("sentence", "free") else None]
            if candidate is None or style == "free" or self._can_be_told(question.text)
            for you in [turned(question.text) if style == "sentence" else TurnedQuestion(question.text, ())]
            if (task := self._task(you.text, question_hits, candidate, style)) is not None
        ]

    def _can_be_told(self, question: str) -> bool:
        """Whether a sentence is worth trying; without a check everything is."""
        return self._check is None or can_be_told(question)

    def _task(
        self, question: str, hits: Sequence[Hit], candidate: Candidate | None, style: Style
    ) -> WritingTask | None:
        """The question and the passages to write from; None where these have no text."""
        passages = passages_with(hits, candidate, self._passages)
        if not any(passage.text.strip() for passage in passages):
            return None
        short = None
        if candidate is not None and style == "sentence":  # stories were learnt without one
            short = Short(passages.index(candidate.passage), candidate.start, candidate.end)
        return WritingTask(question, tuple(passages), short)

    def _accepted(
        self, writable: Sequence[_Writable], style: Style, on_words: OnWords | None, looking: bool = False
    ) -> dict[int, _Accepted]:
        """The written answers that keep to their sources, by the question's place."""
        accepted: dict[int, _Accepted] = {}
        left = list(writable)
        # Second best sentences are rarely well formed: with a check there is one try, then quoting is better.
        beams = (self._beam, max(self._beam, _AGAIN) if self._check is None else self._beam)
        for attempt, beam in enumerate(dict.fromkeys(beams)):
            if not left:
                break
            early = on_words is not None and not attempt and self._check is None
            stream = _WordStream(left, style, self._session, on_words) if early and on_words else None
            learnt_as = _LEARNT_AS.get(style, style)
            all_answers = self._session.write([one.task for one in left], learnt_as, _search(beam, looking), stream)
            for one, answers in zip(left, all_answers, strict=True):
                for number, written in enumerate(answers.written):
                    words = words_of(written, answers.places, one.task, style, self._session)
                    if written.ended and words and self._keeps(words, one, style):
                        words = _of_the_question_itself(words, one.turned)
                        accepted[one.place] = _Accepted(words, written, answers.places, first=not (attempt or number))
                        if on_words is not None and stream is None and not looking:
                            on_words(one.place, words)  # not before it was checked
                        break
            left = [one for one in left if one.place not in accepted]
        return accepted

    def _keeps(self, words: Sequence[Word], one: _Writable, style: Style) -> bool:
        """Whether the words keep to their sources, hold the reader's answer, say nothing twice, and pass the check."""
        sources = [one.task.question, *(passage.text for passage in one.task.passages)]
        text = joined(tuple(words))
        if unattested(words, sources) or echoes(words, sources) or adds_nothing(text, one.task.question):
            return False
        if one.candidate is None:
            return True
        if style == "free":
            return shares_a_word(text, one.candidate.text) and not loses_most(text, one.candidate.text)
        if not holds_answer(text, one.candidate.text):
            return False
        return self._check is None or not self._check.fault(one.task.question, one.candidate, text)


def _search(beam: int, looking: bool) -> SearchSettings:
    from wherefrom.runtime.search import SearchSettings

    return SearchSettings(beam=beam, looking=looking)


def _of_the_question_itself(words: tuple[Word, ...], turned_question: TurnedQuestion) -> tuple[Word, ...]:
    """Words that were copied from the turned question, at their characters of the question; `you` is of neither."""
    placed = []
    for word in words:
        if word.source == "question" and word.start is not None and word.end is not None:
            there = turned_question.original(word.start, word.end)
            if there is None:
                word = replace(word, source="vocabulary", start=None, end=None)
            else:
                word = replace(word, start=there[0], end=there[1])
        placed.append(word)
    return tuple(placed)


def words_of(
    written: WrittenAnswer, places: CopyPlaces, task: WritingTask, style: Style | WrittenStyle, session: WriterSession
) -> tuple[Word, ...]:
    """The words that the written tokens spell."""
    return spelled(_pieces(written, places, session), task.question, task.passages, sentence=style == "sentence")


def _pieces(written: WrittenAnswer, places: CopyPlaces, session: WriterSession) -> list[Piece]:
    pieces = []
    for copied in written.tokens:
        text = session.piece(copied.token)
        if copied.place is None:
            pieces.append(Piece(text, share=copied.share))
            continue
        at = copied.place
        passage = int(places.passage[at])
        pieces.append(
            Piece(
                text,
                "question" if passage < 0 else "passage",
                None if passage < 0 else passage,
                int(places.start[at]),
                int(places.end[at]),
                copied.share,
            )
        )
    return pieces


def _answer(words: tuple[Word, ...], style: Style, chance: float, task: WritingTask) -> Answer:
    """The words, and the passages that they point to in the order of their first words."""
    by_id = {passage.id: passage for passage in task.passages}
    named = dict.fromkeys(word.passage_id for word in words)
    return Answer(
        joined(words), style, chance, words, tuple(by_id[name] for name in named if name is not None), how="written"
    )


class _WordStream:
    """Passes words on as soon as they are whole: when the next has begun."""

    def __init__(self, writable: Sequence[_Writable], style: Style, session: WriterSession, on_words: OnWords) -> None:
        self._writable, self._style, self._session, self._on_words = writable, style, session, on_words
        self._sent: dict[int, int] = Counter()

    def __call__(self, number: int, written: WrittenAnswer, places: CopyPlaces) -> None:
        if self._session.piece(written.tokens[-1].token).startswith("##"):
            return
        one = self._writable[number]
        words = words_of(written, places, one.task, self._style, self._session)[:-1]
        fresh = words[self._sent[number] :]
        self._sent[number] += len(fresh)
        if fresh:
            self._on_words(one.place, fresh)
