"""The nine nouns that travel through the pipeline.

All are frozen: a stage returns new values and leaves what it was given alone. Offsets are characters,
at every border: tokens belong to one model, characters to everyone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

Style = Literal["short", "sentence", "quote", "passage", "explain", "free"]
STYLES: tuple[Style, ...] = get_args(Style)

WordSource = Literal["passage", "question", "vocabulary"]
How = Literal["written", "quoted"]

# The steps at which a right answer can be lost, in order; "extraction": it never came into the library.
LosingStage = Literal["extraction", "retrieval", "ranking", "reading", "judging", "writing"]
LOSING_STAGES: tuple[LosingStage, ...] = get_args(LosingStage)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its file a text stands, from the character `start` to the next place: "page 12", "Install › Windows"."""

    start: int
    label: str
    number: int | None = None  # of the page or slide, for opening the file there


def sections_of(places: Iterable[Place]) -> tuple[int, ...]:
    """Where those places begin that are no pages or slides."""
    return tuple(place.start for place in places if place.number is None)


@dataclass(frozen=True, slots=True)
class Document:
    """One text of the library; `text` is exactly what every offset refers to."""

    id: str
    text: str
    title: str = ""
    source: str = ""  # the file it was read from
    date: str = ""  # of this version, as 2024-05-31 or with a time behind it; "" where none is known
    places: tuple[Place, ...] = ()  # in rising order; none where the file has no parts that people know

    @property
    def sections(self) -> tuple[int, ...]:
        """Where its sections begin: the places that are no pages, in the middle of whose sentences others begin."""
        return sections_of(self.places)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document: `document.text[start:end] == passage.text`.

    `places` are those that it touches, with starts in its own text; the first is where it begins.
    """

    id: str
    document_id: str
    text: str
    start: int
    end: int
    title: str = ""  # of its document
    section: str = ""  # the heading that it stands under, where that says more than the title
    places: tuple[Place, ...] = ()

    @property
    def place(self) -> str:
        """Where in its file it begins; empty where that is not known."""
        return self.place_of(0)

    def place_of(self, start: int, end: int | None = None) -> str:
        """Where in its file the character `start` stands; with `end`, also where the characters up to it end."""
        first = _place_at(self.places, start)
        last = first if end is None or end <= start else _place_at(self.places, end - 1)
        labels = [place.label for place in dict.fromkeys((first, last)) if place is not None]
        return " to ".join(labels)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which part of a library a question is asked of; what is empty narrows nothing.

    A document is in a folder if its id or the path of its file begins with it. Dates are as exact as they are written:
    since 2024 begins with its first day, until 2025-06 ends with that month's last. A type is a file's suffix, or a
    name for several, such as "html".
    """

    folders: tuple[str, ...] = ()  # in any of them
    since: str = ""
    until: str = ""
    types: tuple[str, ...] = ()  # of any of them
    tags: tuple[str, ...] = ()  # with all of them

    def __bool__(self) -> bool:
        return any((self.folders, self.since, self.until, self.types, self.tags))


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks, and of which part of the library; None is all of it.

    Where `text` is what the question was understood as, a follow-up made whole or a misspelt word mended, `typed` is
    what was typed: all stages read `text`.
    """

    id: str
    text: str
    within: Filter | None = None
    typed: str = ""  # as it was typed; empty where `text` is that
    instead: tuple[str, ...] = ()  # other readings of it that were tried too, and whose answers were judged less likely


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question of a conversation with its answer: what a follow-up may refer to."""

    question: str  # whole, as it was understood
    answer: str = ""  # empty where there was none
    title: str = ""  # of the document that the answer came from


@dataclass(frozen=True, slots=True)
class Meaning:
    """A whole question that a follow-up may mean."""

    text: str
    chance: float  # that it is meant
    typed: bool  # it is the question as it was typed


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found for a question; the order of a list of hits is their rank."""

    passage: Passage
    score: float
    features: Mapping[str, float] = field(default_factory=dict)  # every earlier stage's score, by stage name

    def rescored(self, stage: str, score: float) -> Hit:
        """A copy that carries `score`, which is also kept in the features under the stage's name."""
        return replace(self, score=score, features={**self.features, stage: score})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer, anchored: `passage.text[start:end] == text`."""

    text: str
    passage: Passage
    start: int
    end: int
    score: float
    features: Mapping[str, float] = field(default_factory=dict)

    def rescored(self, stage: str, score: float) -> Candidate:
        """A copy that carries `score`, which is also kept in the features under the stage's name."""
        return replace(self, score=score, features={**self.features, stage: score})


@dataclass(frozen=True, slots=True)
class Word:
    """Where one word of an answer came from.

    A copied word says at which characters of which passage it stands: `passage.text[start:end]` is the
    word. `share` is the part of the writer's probability that this source gave; `space` is the white
    space between this word and the one before it.
    """

    text: str
    source: WordSource
    passage_id: str | None = None
    start: int | None = None
    end: int | None = None
    share: float = 1.0
    space: str = ""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What another source says instead: `passage.text[start:end] == text`."""

    text: str
    passage: Passage
    start: int
    end: int
    date: str = ""  # of its document, where one is known
    older: bool = False  # an older version of the text that the answer is from


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person gets; `text` is None when the library does not answer the question.

    `chance` is the probability that the answer is right. `evidence` holds the passages that
    the words point to, so that an answer can be checked without the library at hand. `rests_on` is the quotation that
    a bare "Yes" or "No", which stands in no passage, was decided by. `reason` says why there is no answer whatever the
    library holds: the question is in a language that is not read. `disagrees` is what other sources say instead. `how`
    says whether a network wrote the text or it is quoted from the evidence; None where it declines, and of a Yes or No.
    `gone` are the documents of the evidence whose file is no longer there.
    """

    text: str | None
    style: Style
    chance: float
    words: tuple[Word, ...] = ()
    evidence: tuple[Passage, ...] = ()
    rests_on: tuple[Word, ...] = ()
    reason: str = ""
    disagrees: tuple[Disagreement, ...] = ()
    how: How | None = None
    gone: tuple[str, ...] = ()

    @property
    def declined(self) -> bool:
        return self.text is None


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """One sentence of a summary with the passages it rests on.

    `words` tell of each word where it stands, as those of an answer do; `space` is the white space between this
    sentence and the one before it.
    """

    text: str
    evidence: tuple[Passage, ...] = ()
    words: tuple[Word, ...] = ()
    space: str = " "


@dataclass(frozen=True, slots=True)
class Summary:
    """Many documents summarized around a question.

    `reason` says why it holds nothing, or less than was wanted. `chance` is the probability that the documents speak of
    the question at all; None where that was not judged.
    """

    sentences: tuple[SummarySentence, ...] = ()
    reason: str = ""
    chance: float | None = None

    @property
    def text(self) -> str:
        return "".join(sentence.space + sentence.text for sentence in self.sentences).lstrip()

    @property
    def declined(self) -> bool:
        return not self.sentences


@dataclass(frozen=True, slots=True)
class StageReason:
    """What one stage did with a question, for people."""

    stage: str  # retrieve, rank, read, judge or write
    summary: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """Where an answer that was expected was lost; `stage` is None where it was not."""

    expected: str
    stage: LosingStage | None
    detail: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a question was answered as it was, or declined."""

    steps: tuple[StageReason, ...]
    closing: str  # the outcome, its reason and what to try, in one line
    lost: Loss | None = None  # where an expected answer was named


@dataclass(frozen=True, slots=True)
class Trace:
    """One question's whole trip; the command line, the server and the scorer all read it."""

    question: Question
    hits: tuple[Hit, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    answer: Answer | None = None
    summary: Summary | None = None
    timings: Mapping[str, float] = field(default_factory=dict)  # seconds, by stage name
    why: Reasons | None = None  # where it was wanted


def _place_at(places: tuple[Place, ...], character: int) -> Place | None:
    """The last place that begins no later than the character."""
    at = bisect_right(places, character, key=lambda place: place.start)
    return places[at - 1] if at else None


def joined(words: tuple[Word, ...]) -> str:
    """The text that the words spell: for every answer, `joined(answer.words) == answer.text`."""
    return "".join(word.space + word.text for word in words)
