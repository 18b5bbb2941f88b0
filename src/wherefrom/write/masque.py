"""The answer written by a network, word by word, each word with its source.

Use it for whole sentences: `sentence` tells the reader's answer in a sentence of its own, written from the best
passages. `short` quotes the reader's answer as it stands, or is written too (`write.short`); `passage` is always
quoted. It needs the weights `writer`.

What is written keeps to the sources: no name or number that no passage and not the question has, no stammering, and the
sentence holds the reader's answer. Where the first try does not, the next best is taken; where none does, the sentence
around the answer is quoted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wherefrom.runtime.writer import Short, Task, WriterSession
from wherefrom.stages import Heard
from wherefrom.types import Answer, Candidate, Hit, Passage, Question, Style, Word, joined
from wherefrom.write.attest import echoes, tells, unattested
from wherefrom.write.marks import WrittenStyle
from wherefrom.write.spelling import Piece, spelled
from wherefrom.write.verbatim import VerbatimWriter

if TYPE_CHECKING:
    from wherefrom.runtime.copying import Places
    from wherefrom.runtime.search import SearchSettings, Written

_AGAIN = 4  # beginnings that a second try follows


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question that is written for."""

    place: int  # among the questions
    question: Question
    task: Task
    candidate: Candidate | None


class MasqueWriter:
    """Writes from the `passages` best hits; the candidate's own passage is always among them.

    `counts` tells how often an answer was `written` at the first try, at `another` try, or `quoted`.
    """

    def __init__(
        self, session: WriterSession, passages: int = 3, beam: int = 1, short: Literal["quote", "write"] = "quote"
    ) -> None:
        self._session = session
        self._passages = passages
        self._beam = beam
        self._short = short
        self._quoting = VerbatimWriter()
        self.counts: Counter[str] = Counter()

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        heard: Heard | None = None,
    ) -> list[Answer]:
        quoted = self._quoting.write(questions, hits, candidates, chances, style)
        if style == "passage" or (style == "short" and self._short == "quote"):
            return quoted
        asked = [
            _Asked(place, question, task, candidate)
            for place, (question, found, read) in enumerate(zip(questions, hits, candidates, strict=True))
            for candidate in [read[0] if read and style == "sentence" else None]
            if (task := self._task(question, found, candidate)) is not None
        ]
        told = self._told(asked, style, heard)
        return [
            Answer(joined(told[place]), style, answer.chance, told[place], _evidence(told[place], asked, place))
            if told.get(place)
            else answer
            for place, answer in enumerate(quoted)
        ]

    def _task(self, question: Question, hits: Sequence[Hit], candidate: Candidate | None) -> Task | None:
        """What is written from; None where there is nothing."""
        passages = [hit.passage for hit in hits[: self._passages]]
        if candidate is not None and candidate.passage not in passages:
            passages = [*passages[: self._passages - 1], candidate.passage]
        if not any(passage.text.strip() for passage in passages):
            return None
        short = None
        if candidate is not None:
            short = Short(passages.index(candidate.passage), candidate.start, candidate.end)
        return Task(question.text, tuple(passages), short)

    def _told(self, asked: Sequence[_Asked], style: Style, heard: Heard | None) -> dict[int, tuple[Word, ...]]:
        """The words for each question that could be written for."""
        told: dict[int, tuple[Word, ...]] = {}
        left = list(asked)
        for attempt, beam in enumerate(dict.fromkeys((self._beam, max(self._beam, _AGAIN)))):
            if not left:
                break
            hearing = None if heard is None or attempt else _Hearing(left, style, self._session, heard)
            found = self._session.write([one.task for one in left], style, _search(beam), hearing)
            for one, answers in zip(left, found, strict=True):
                for number, written in enumerate(answers.written):
                    words = words_of(written, answers.places, one.task, style, self._session)
                    if written.ended and words and _keeps(words, one):
                        told[one.place] = words
                        self.counts["another" if attempt or number else "written"] += 1
                        break
            left = [one for one in left if one.place not in told]
        self.counts["quoted"] += len(left)
        return told


def _search(beam: int) -> SearchSettings:
    from wherefrom.runtime.search import SearchSettings

    return SearchSettings(beam=beam)


def _keeps(words: Sequence[Word], asked: _Asked) -> bool:
    """Whether the words keep to their sources, tell the reader's answer, and say nothing twice in a row."""
    sources = [asked.question.text, *(passage.text for passage in asked.task.passages)]
    if unattested(words, sources) or echoes(words, sources):
        return False
    return asked.candidate is None or tells(joined(tuple(words)), asked.candidate.text)


def words_of(
    written: Written, places: Places, task: Task, style: Style | WrittenStyle, session: WriterSession
) -> tuple[Word, ...]:
    """The words that the written tokens spell."""
    return spelled(_pieces(written, places, session), task.question, task.passages, sentence=style == "sentence")


def _pieces(written: Written, places: Places, session: WriterSession) -> list[Piece]:
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


def _evidence(words: Sequence[Word], asked: Sequence[_Asked], place: int) -> tuple[Passage, ...]:
    """The passages that the words point to, in the order of their first words."""
    task = next(one.task for one in asked if one.place == place)
    by_id = {passage.id: passage for passage in task.passages}
    return tuple(by_id[name] for name in dict.fromkeys(word.passage_id for word in words) if name is not None)


class _Hearing:
    """Tells words as soon as they are whole: when the next has begun."""

    def __init__(self, asked: Sequence[_Asked], style: Style, session: WriterSession, heard: Heard) -> None:
        self._asked, self._style, self._session, self._heard = asked, style, session, heard
        self._told: dict[int, int] = Counter()

    def __call__(self, number: int, written: Written, places: Places) -> None:
        if self._session.piece(written.tokens[-1].token).startswith("##"):
            return
        one = self._asked[number]
        words = words_of(written, places, one.task, self._style, self._session)[:-1]
        fresh = words[self._told[number] :]
        self._told[number] += len(fresh)
        if fresh:
            self._heard(one.place, fresh)
