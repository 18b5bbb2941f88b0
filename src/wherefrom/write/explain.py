"""How an answer was written: each word's shares by source, and where the network looked when it wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from wherefrom.config import WriteSettings
from wherefrom.errors import NothingWritten, SettingsError
from wherefrom.stages import Writer
from wherefrom.types import Candidate, Hit, Question, Style, Word
from wherefrom.write.spelling import Piece, spelled_with

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from wherefrom.runtime.copying import CopyPlaces
    from wherefrom.runtime.search import WrittenAnswer
    from wherefrom.runtime.writer import WritingTask

    Floats = NDArray[numpy.float32]

SourceKind = Literal["vocabulary", "question", "answer", "passage"]


@dataclass(frozen=True, slots=True)
class NamedSource:
    """One of the sources that the writer had before it."""

    kind: SourceKind
    name: str  # for people: `passage 2: The Berlin Wall`


@dataclass(frozen=True, slots=True)
class Seen:
    """A word that could be copied; its neighbours in the text are its neighbours in the list."""

    source: int  # among the sources
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of the writing of one answer; a word of several tokens has their mean."""

    question: str
    words: tuple[Word, ...]
    sources: tuple[NamedSource, ...]
    shares: tuple[tuple[float, ...], ...]  # (words, sources): of the word that was written; a word's add up to one
    seen: tuple[Seen, ...]
    looked: tuple[tuple[float, ...], ...]  # (words, seen): alpha times mixture, before a word was chosen


@runtime_checkable
class Explaining(Protocol):
    """A writer that can explain how it wrote."""

    def explain(
        self, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate], style: Style
    ) -> Explanation:
        """The explanation of the answer that `write` gives to the same; NothingWritten where that is quoted."""
        ...


def explained_by(
    writer: Writer, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate], style: Style
) -> Explanation:
    """The writer's explanation of its writing, if it can give one."""
    if not isinstance(writer, Explaining):
        raise NothingWritten("this writer quotes its answers: nothing is written that could be explained")
    return writer.explain(question, hits, candidates, style)


def check_written(settings: WriteSettings, style: Style) -> None:
    """Say why answers of this style are never written, where that is so."""
    if settings.kind == "verbatim":
        raise SettingsError(
            "write.kind=verbatim quotes its answers: nothing is written that could be explained; use write.kind=masque"
        )
    if style in ("passage", "explain") or (style == "short" and settings.short == "quote"):
        raise SettingsError(
            f"an answer in style {style} is quoted: nothing is written that could be explained; use style sentence"
        )


def explained(
    pieces: Sequence[Piece], written: WrittenAnswer, places: CopyPlaces, task: WritingTask, sentence: bool
) -> Explanation:
    """The explanation of an answer that was searched for with `looking`; `pieces` are its tokens."""
    import numpy

    assert written.looked is not None
    spelled = spelled_with(pieces, task.question, task.passages, sentence)
    sources, of_place = _sources(places, task)
    shares = numpy.zeros((len(pieces), len(sources)), numpy.float32)  # (tokens, sources)
    shares[:, 0] = written.vocabulary
    for place, source in enumerate(of_place):
        shares[:, source] += written.places[:, place]
    starts = numpy.flatnonzero(~places.follows)  # the places that begin a word of their text
    looked = numpy.add.reduceat(written.looked, starts, axis=1) if len(starts) else written.looked
    ends = [*(starts[1:] - 1).tolist(), len(places) - 1]
    seen = tuple(
        Seen(of_place[first], _text(places, task, first, last))
        for first, last in zip(starts.tolist(), ends, strict=False)
    )
    return Explanation(
        task.question,
        tuple(word for word, _ in spelled),
        sources,
        tuple(_mean(shares, numbers) for _, numbers in spelled),
        seen,
        tuple(_mean(looked, numbers) for _, numbers in spelled),
    )


def _sources(places: CopyPlaces, task: WritingTask) -> tuple[tuple[NamedSource, ...], list[int]]:
    """The sources, and which of them each place is of."""
    from wherefrom.runtime.copying import ANSWER, QUESTION

    sources = [NamedSource("vocabulary", "vocabulary"), NamedSource("question", "question")]
    if (places.source == ANSWER).any():
        sources.append(NamedSource("answer", "the reader's short answer"))
    first = len(sources)
    for number, passage in enumerate(task.passages, start=1):
        sources.append(NamedSource("passage", f"passage {number}: {passage.title or passage.document_id}"))
    kinds = zip(places.source.tolist(), places.passage.tolist(), strict=True)
    return tuple(sources), [1 if kind == QUESTION else 2 if kind == ANSWER else first + of for kind, of in kinds]


def _text(places: CopyPlaces, task: WritingTask, first: int, last: int) -> str:
    of = int(places.passage[first])
    text = task.question if of < 0 else task.passages[of].text
    return text[int(places.start[first]) : int(places.end[last])]


def _mean(rows: Floats, numbers: Sequence[int]) -> tuple[float, ...]:
    return tuple(rows[list(numbers)].mean(axis=0).tolist())
