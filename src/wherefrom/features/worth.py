"""How much each statement of the passages is worth telling to a question: numbers of it, and a small network over them.

The network has one hidden layer and runs with numpy. It was fitted on questions whose answer is several sentences, and
on summaries around a question, each with a head of its own; `wherefrom train selector` fits it anew.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy
from numpy.typing import NDArray

from wherefrom.errors import WherefromError
from wherefrom.features.matching import Matcher
from wherefrom.features.overlap import Stems, coverage, rarity
from wherefrom.features.statements import Statement
from wherefrom.text import words

if TYPE_CHECKING:
    from wherefrom.types import Hit

FILE = "selector.npz"
Purpose = Literal["explain", "summary"]
PURPOSES: tuple[Purpose, ...] = ("explain", "summary")

NAMES = (
    "nearness",  # of the statement's words to the question's, by the matcher
    "nearness rank",
    "nearness before",  # of the statement before it, and of the next: answers lie together
    "nearness after",
    "passage nearness",
    "heading nearness",
    "coverage",  # weighted share of the question's stems that it holds
    "coverage around",  # with the statements beside it
    "passage coverage",
    "heading coverage",
    "relevance",  # of its passage, by the reader network
    "relevance lag",  # behind the best passage's
    "null margin",  # of its passage's best span over no answer
    "span start",  # how far the best span's start in it is behind the passage's best
    "span mass",  # share of the passage's span that is in it
    "unread",  # the reader network has not seen its passage
    "hit",  # the place of its passage among the hits
    "retrieved",  # the score of its passage, as a share of the best one's
    "centrality",  # how much it is like the other statements of its document among the hits
    "document share",  # share of all statements that are of its document
    "document place",  # where in the document it begins
    "passage place",  # where in the passage
    "first",  # of the document
    "length",
    "brief",
    "item",
    "list",
    "code",
    "hanging",
    "asks",  # it is a question itself
    "numbers",
    "names",
    "first person",
    "why and because",  # the question's kind, and the words that answer such
    "how and by",
    "what and is",
    "compares",
    "lists",
    "begins with topic",  # its first words hold what is wanted
    "question length",
    "general",  # the question names nothing: "Summarize the meeting."
    "why",
    "how",
    "what",
)

_UNREAD = -8.0  # what stands for the reader's numbers where it has not read
_BOUND = 12.0
_WHY = re.compile(r"\b(?:why|cause[sd]?|reasons?|how come|what (?:leads|led|makes))\b", re.I)
_BECAUSE = re.compile(
    r"\b(?:because|since|due to|caused? by|causes?|result(?:s|ed)? (?:of|from|in)|reasons?|leads? to|led to|owing to"
    r"|thanks to|therefore|so that|in order to|as a result|responsible for|contribut\w+)\b",
    re.I,
)
_HOW = re.compile(r"\bhow (?!many|much|long|old|far|often|tall|big|high|large)", re.I)
_BY = re.compile(
    r"\b(?:by \w+ing|first|then|next|step|after that|using|use|click|press|select|run|must|should|in order to|through"
    r"|works?|process|treat\w*|diagnos\w*)\b",
    re.I,
)
_WHAT = re.compile(r"^\W*(?:what (?:is|are|was|were|does|do)\b|define|describe|explain|who (?:is|was)\b|meaning)", re.I)
_IS = re.compile(r"\b(?:is|are|was|were|means?|refers? to|defined as|known as|called|consists? of|includes?)\b", re.I)
_COMPARE = re.compile(r"\b(?:compare\w*|differen\w+|versus|vs|better|worse|advantages?|contrast|rather than)\b", re.I)
_THAN = re.compile(r"\b(?:than|whereas|while|unlike|both|differ\w*|similar\w*|compared|more|less|but|however)\b", re.I)
_LIST = re.compile(
    r"\b(?:list|which|what are|symptoms|types|kinds|examples|name the|ways|steps|options|methods)\b", re.I
)
_FIRST_PERSON = re.compile(r"\b(?:i|we|me|us|my|our|you|your|yeah|uh|um|okay)\b", re.I)
_GENERAL = frozenset(
    """anyth article artici articl brief briefli content conclus conclusion conversation convers decis decision discuss
    discussion document entir entire everyth file general gist happen happening idea import key main meet meeting mention
    note overview page paper plot point report stori story summar summari summarise summarize summary talk text topic
    transcript whole""".split()
)


class SpanReading(Protocol):
    """What a reader network said of the question and one passage."""

    @property
    def relevance(self) -> float: ...
    @property
    def no_answer(self) -> float: ...
    @property
    def spans(self) -> NDArray[numpy.int32]: ...
    @property
    def start(self) -> NDArray[numpy.float32]: ...
    @property
    def end(self) -> NDArray[numpy.float32]: ...


class SelectorWeights(Protocol):
    """A folder of weights, as far as it is needed here."""

    @property
    def folder(self) -> Path: ...
    def file(self, name: str) -> Path: ...


class SelectorError(WherefromError):
    """The weights cannot be read; the message names the file and the remedy."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class _Layers:
    centre: NDArray[numpy.float32]  # (features,)
    scale: NDArray[numpy.float32]  # (features,)
    hidden: NDArray[numpy.float32]  # (features, width)
    hidden_bias: NDArray[numpy.float32]  # (width,)
    out: NDArray[numpy.float32]  # (width, purposes)
    out_bias: NDArray[numpy.float32]  # (purposes,)
    least: NDArray[numpy.float32]  # (purposes,): a statement of less is not told, but the best


class Selector:
    """Scores statements beside a question, from 0 to 1; may be shared between threads."""

    def __init__(self, weights: SelectorWeights) -> None:
        self._weights = weights

    @property
    def folder(self) -> Path:
        """Of the weights."""
        return self._weights.folder

    def scores(self, rows: NDArray[numpy.float32], purpose: Purpose) -> NDArray[numpy.float32]:
        """sigma(ReLU((x - centre) / scale W + b) W' + b'): one number a row of features."""
        layers = self._layers
        if not len(rows):
            return numpy.zeros(0, numpy.float32)
        at = PURPOSES.index(purpose)
        scaled = (rows - layers.centre) / layers.scale
        hidden = numpy.maximum(scaled @ layers.hidden + layers.hidden_bias, 0.0)  # (statements, width)
        logits = hidden @ layers.out[:, at] + layers.out_bias[at]
        chances: NDArray[numpy.float32] = 1.0 / (1.0 + numpy.exp(-logits))
        return chances

    def least(self, purpose: Purpose) -> float:
        """The score below which a statement is left out although there is room for it."""
        return float(self._layers.least[PURPOSES.index(purpose)])

    @cached_property
    def _layers(self) -> _Layers:
        file = self._weights.file(FILE)
        try:
            with file.open("rb") as opened, numpy.load(opened, allow_pickle=False) as arrays:
                if tuple(arrays["names"].tolist()) != NAMES:
                    raise ValueError("it looks at other things than this version of wherefrom")
                return _Layers(*(arrays[name].astype(numpy.float32) for name in _Layers.__slots__))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise SelectorError(
                f"{file} cannot be read ({error}); install wherefrom again, or fit it with `wherefrom train selector`"
            ) from error


class Worth:
    """Makes the numbers of statements; may be shared between threads."""

    def __init__(self, language: str = "english", matcher: Matcher | None = None) -> None:
        self.stems = Stems(language)
        self._matcher = matcher

    def rows(
        self, question: str, pool: Sequence[Statement], hits: Sequence[Hit], readings: Sequence[SpanReading | None]
    ) -> NDArray[numpy.float32]:
        """(statements, features), in the order of NAMES; a reading is None where the network has not read."""
        if not pool:
            return numpy.zeros((0, len(NAMES)), numpy.float32)
        held = [self.stems(each.text) for each in pool]
        columns = [
            *self._of_nearness(question, pool, hits),
            *self._of_words(question, pool, held, hits),
            *_of_reading(pool, hits, readings),
            *_of_place(pool, held),
            *_of_shape(pool),
            *_of_kind(question, pool),
            *self._of_question(question, pool),
        ]
        return numpy.array(columns, numpy.float32).T.copy()

    def is_general(self, question: str) -> bool:
        """Whether it names nothing that could be looked for, as "Summarize the whole meeting." does."""
        return set(self.stems(question)) <= _GENERAL

    def likeness(self, pool: Sequence[Statement]) -> NDArray[numpy.float32]:
        """(statements, statements): how much they say the same."""
        return similarities([self.stems(each.text) for each in pool])

    def _of_nearness(self, question: str, pool: Sequence[Statement], hits: Sequence[Hit]) -> list[Sequence[float]]:
        if self._matcher is None:
            return [[0.0] * len(pool)] * 6
        near = self._matcher.scores(question, [each.text for each in pool])
        order = numpy.argsort(numpy.argsort(-numpy.array(near), kind="stable"), kind="stable")
        passages = self._matcher.scores(question, [hit.passage.text for hit in hits])
        headings = self._matcher.scores(question, [_heading(hit) for hit in hits])
        before = [near[each.before] if each.before >= 0 else 0.0 for each in pool]
        after = [0.0] * len(pool)
        for place, each in enumerate(pool):
            if each.before >= 0:
                after[each.before] = near[place]
        return [
            near,
            [1.0 / (1.0 + float(place)) for place in order],
            before,
            after,
            [passages[each.hit] for each in pool],
            [headings[each.hit] for each in pool],
        ]

    def _of_words(
        self, question: str, pool: Sequence[Statement], held: Sequence[Sequence[str]], hits: Sequence[Hit]
    ) -> list[Sequence[float]]:
        sets = [frozenset(stems) for stems in held]
        wanted = rarity(self.stems(question), sets)
        passages = [coverage(wanted, frozenset(self.stems(hit.passage.text))) for hit in hits]
        headings = [coverage(wanted, frozenset(self.stems(_heading(hit)))) for hit in hits]
        around = []
        for place, each in enumerate(pool):
            near = sets[place] | (sets[each.before] if each.before >= 0 else frozenset())
            if place + 1 < len(pool) and pool[place + 1].before == place:
                near |= sets[place + 1]
            around.append(coverage(wanted, near))
        return [
            [coverage(wanted, stems) for stems in sets],
            around,
            [passages[each.hit] for each in pool],
            [headings[each.hit] for each in pool],
        ]

    def _of_question(self, question: str, pool: Sequence[Statement]) -> list[Sequence[float]]:
        topic = set(self.stems(question))
        begins = [
            float(bool(topic & set(self.stems(" ".join(each.text.split()[:6]))))) if topic else 0.0 for each in pool
        ]
        constant = [
            math.log1p(len(words(question))),
            float(self.is_general(question)),
            float(bool(_WHY.search(question))),
            float(bool(_HOW.search(question))),
            float(bool(_WHAT.search(question))),
        ]
        return [begins, *([value] * len(pool) for value in constant)]


def similarities(held: Sequence[Sequence[str]]) -> NDArray[numpy.float32]:
    """(texts, texts): cosines of the texts' stems, each (1 + log count) log(1 + n / df)."""
    df = Counter(stem for stems in held for stem in set(stems))
    places = {stem: number for number, stem in enumerate(df)}
    vectors = numpy.zeros((len(held), max(len(places), 1)), numpy.float32)
    for row, stems in enumerate(held):
        for stem, count in Counter(stems).items():
            vectors[row, places[stem]] = (1.0 + math.log(count)) * math.log(1.0 + len(held) / df[stem])
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= numpy.where(lengths > 0, lengths, 1.0)
    cosines: NDArray[numpy.float32] = vectors @ vectors.T
    return cosines


def _heading(hit: Hit) -> str:
    return f"{hit.passage.title} {hit.passage.section}".strip()


def _of_reading(
    pool: Sequence[Statement], hits: Sequence[Hit], readings: Sequence[SpanReading | None]
) -> list[Sequence[float]]:
    relevances = [_UNREAD if reading is None else reading.relevance for reading in readings]
    best = max(relevances)
    tops = [_tops(reading) for reading in readings]
    retrieved = [hit.features.get("retrieve", hit.score) for hit in hits]
    highest = max(retrieved)
    spans = [_in_statement(each, readings[each.hit], tops[each.hit]) for each in pool]
    return [
        [_bounded(relevances[each.hit]) for each in pool],
        [_bounded(relevances[each.hit] - best) for each in pool],
        [_bounded(tops[each.hit][2]) for each in pool],
        [span[0] for span in spans],
        [span[1] for span in spans],
        [float(readings[each.hit] is None) for each in pool],
        [math.log1p(each.hit) for each in pool],
        [retrieved[each.hit] / highest if highest > 0 else 0.0 for each in pool],
    ]


def _tops(reading: SpanReading | None) -> tuple[float, float, float]:
    """The best start and end of a passage, and how far the two are above no answer."""
    if reading is None or not len(reading.start):
        return _UNREAD, _UNREAD, _UNREAD
    start, end = float(reading.start.max()), float(reading.end.max())
    return start, end, start + end - reading.no_answer


def _in_statement(
    each: Statement, reading: SpanReading | None, tops: tuple[float, float, float]
) -> tuple[float, float]:
    """How far its best start is behind the passage's, and its share of the passage's span."""
    if reading is None or not len(reading.start):
        return -_BOUND, 0.0
    inside = (reading.spans[:, 0] >= each.start) & (reading.spans[:, 1] <= each.end)
    if not inside.any():
        return -_BOUND, 0.0
    starts = numpy.exp(reading.start - tops[0])
    ends = numpy.exp(reading.end - tops[1])
    mass = 0.5 * float(starts[inside].sum() / starts.sum() + ends[inside].sum() / ends.sum())
    return max(float(reading.start[inside].max()) - tops[0], -_BOUND), mass


def _of_place(pool: Sequence[Statement], held: Sequence[Sequence[str]]) -> list[Sequence[float]]:
    cosines = similarities(held)
    documents = [each.passage.document_id for each in pool]
    counts = Counter(documents)
    if len(counts) > 1:
        numbers = {document: number for number, document in enumerate(counts)}
        own = numpy.array([numbers[document] for document in documents])
        cosines = numpy.where(own[:, None] == own[None, :], cosines, 0.0)
    others = numpy.maximum([counts[document] - 1 for document in documents], 1)
    central = (cosines.sum(axis=1) - numpy.diagonal(cosines)) / others
    return [
        central.tolist(),
        [counts[document] / len(pool) for document in documents],
        [math.log1p(each.passage.start + each.start) for each in pool],
        [each.start / max(len(each.passage.text), 1) for each in pool],
        [float(each.passage.start + each.start < 3) for each in pool],
    ]


def _of_shape(pool: Sequence[Statement]) -> list[Sequence[float]]:
    texts = [each.text for each in pool]
    lengths = [len(text.split()) for text in texts]
    return [
        [math.log1p(length) for length in lengths],
        [float(length < 8) for length in lengths],
        *([float(each.kind == kind) for each in pool] for kind in ("item", "list", "code")),
        [float(each.hanging) for each in pool],
        [float(text.rstrip("\"')").endswith("?")) for text in texts],
        [min(sum(any(map(str.isdigit, word)) for word in text.split()), 4) / 4 for text in texts],
        [min(sum(word[:1].isupper() for word in text.split()[1:]), 6) / 6 for text in texts],
        [len(_FIRST_PERSON.findall(text)) / max(length, 1) for text, length in zip(texts, lengths, strict=True)],
    ]


def _of_kind(question: str, pool: Sequence[Statement]) -> list[Sequence[float]]:
    """For each kind of question, which statements hold words that answer such; 0 for other questions."""
    kinds = ((_WHY, _BECAUSE), (_HOW, _BY), (_WHAT, _IS), (_COMPARE, _THAN))
    columns: list[Sequence[float]] = [
        [float(bool(wanted and answers.search(each.text))) for each in pool]
        for asks, answers in kinds
        for wanted in [asks.search(question)]
    ]
    lists = bool(_LIST.search(question))
    return [*columns, [float(lists and (each.kind in ("item", "list") or each.text.count(",") > 2)) for each in pool]]


def _bounded(value: float) -> float:
    return max(-_BOUND, min(_BOUND, value))
