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

from wherefrom.errors import NothingWritten
from wherefrom.runtime.writer import Short, Task, WriterSession
from wherefrom.stages import OnWords
from wherefrom.types import Answer, Candidate, Hit, Question, Style, Word, joined
from wherefrom.write.attest import echoes, tells, unattested
from wherefrom.write.explain import Explanation, explained
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


@dataclass(frozen=True, slots=True)
class _Told:
    """What could be written for one question."""

    words: tuple[Word, ...]
    written: Written
    places: Places
    first: bool  # at the first try


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
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        quoted = self._quoting.write(questions, hits, candidates, chances, style)
        if self._quotes(style):
            return quoted
        asked = self._asked(questions, hits, candidates, style)
        told = self._told(asked, style, on_words)
        self.counts.update("written" if found.first else "another" for found in told.values())
        self.counts["quoted"] += len(asked) - len(told)
        tasks = {one.place: one.task for one in asked}
        return [
            answer if (found := told.get(place)) is None else _answer(found.words, style, answer.chance, tasks[place])
            for place, answer in enumerate(quoted)
        ]

    def explain(
        self, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate], style: Style
    ) -> Explanation:
        """How the answer that `write` gives was written, word by word.

        It is written once more, now keeping where every step looked: what the passages say is still remembered.
        """
        asked = [] if self._quotes(style) else self._asked([question], [hits], [candidates], style)
        found = self._told(asked, style, None, looking=True).get(0) if asked else None
        if found is None:
            raise NothingWritten(
                "this answer is quoted: what the network wrote did not keep to its sources; ask in other words"
            )
        pieces = _pieces(found.written, found.places, self._session)
        return explained(pieces, found.written, found.places, asked[0].task, sentence=style == "sentence")

    def _quotes(self, style: Style) -> bool:
        return style == "passage" or (style == "short" and self._short == "quote")

    def _asked(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        style: Style,
    ) -> list[_Asked]:
        """The questions that there is something to write from for."""
        return [
            _Asked(place, question, task, candidate)
            for place, (question, found, read) in enumerate(zip(questions, hits, candidates, strict=True))
            for candidate in [read[0] if read and style == "sentence" else None]
            if (task := self._task(question, found, candidate)) is not None
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

    def _told(
        self, asked: Sequence[_Asked], style: Style, on_words: OnWords | None, looking: bool = False
    ) -> dict[int, _Told]:
        """What could be written, by the question's place."""
        told: dict[int, _Told] = {}
        left = list(asked)
        for attempt, beam in enumerate(dict.fromkeys((self._beam, max(self._beam, _AGAIN)))):
            if not left:
                break
            hearing = None if on_words is None or attempt else _Hearing(left, style, self._session, on_words)
            found = self._session.write([one.task for one in left], style, _search(beam, looking), hearing)
            for one, answers in zip(left, found, strict=True):
                for number, written in enumerate(answers.written):
                    words = words_of(written, answers.places, one.task, style, self._session)
                    if written.ended and words and _keeps(words, one):
                        told[one.place] = _Told(words, written, answers.places, first=not (attempt or number))
                        break
            left = [one for one in left if one.place not in told]
        return told


def _search(beam: int, looking: bool) -> SearchSettings:
    from wherefrom.runtime.search import SearchSettings

    return SearchSettings(beam=beam, looking=looking)


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


def _answer(words: tuple[Word, ...], style: Style, chance: float, task: Task) -> Answer:
    """The words, and the passages that they point to in the order of their first words."""
    by_id = {passage.id: passage for passage in task.passages}
    named = dict.fromkeys(word.passage_id for word in words)
    return Answer(joined(words), style, chance, words, tuple(by_id[name] for name in named if name is not None))


class _Hearing:
    """Tells words as soon as they are whole: when the next has begun."""

    def __init__(self, asked: Sequence[_Asked], style: Style, session: WriterSession, on_words: OnWords) -> None:
        self._asked, self._style, self._session, self._on_words = asked, style, session, on_words
        self._told: dict[int, int] = Counter()

    def __call__(self, number: int, written: Written, places: Places) -> None:
        if self._session.piece(written.tokens[-1].token).startswith("##"):
            return
        one = self._asked[number]
        words = words_of(written, places, one.task, self._style, self._session)[:-1]
        fresh = words[self._told[number] :]
        self._told[number] += len(fresh)
        if fresh:
            self._on_words(one.place, fresh)
