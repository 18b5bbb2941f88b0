"""What a re-ranker looks at: numbers of each candidate of a question, in four groups (RankQA, section 3).

    retrieval    how well its document and passage were found, their length, how the question is asked
    reading      how the reader scored it: scores, place in its order, length
    tags         parts of speech and entity types inside it
    aggregation  the scores of all candidates that give the same answer

A reader puts `span` (the span's log probability alone) and `read` (the score it orders by) into a candidate's features;
a retriever `retrieve`; a ranker that reads puts `relevance` there. One that is missing is taken from the next best.
Counts, places and lengths enter as log(1 + n).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from wherefrom.features.tags import NER, POS, Tagged
from wherefrom.text import normalized
from wherefrom.types import Candidate

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Group = Literal["retrieval", "reading", "tags", "aggregation"]
GROUPS: tuple[Group, ...] = get_args(Group)
STARTS = ("what", "who", "when", "where", "which", "why", "how", "in")  # nine of ten questions of SQuAD; else "other"

_OF_GROUP: dict[Group, tuple[str, ...]] = {
    "retrieval": (
        "doc_sim",
        "par_sim",
        "par_length",
        "question_length",
        *(f"starts_{word}" for word in (*STARTS, "other")),
    ),
    "reading": ("span_score", "read_score", "relevance", "rank", "answer_length"),
    "tags": (*(f"pos_{tag}" for tag in POS), *(f"ner_{tag}" for tag in NER)),
    "aggregation": (
        "occurrences",
        "first_occurrence",
        "min_span",
        "mean_span",
        "max_span",
        "sum_span",
        "min_doc",
        "mean_doc",
        "max_doc",
        "sum_doc",
    ),
}


Marks = Sequence[float]
"""1.0 where a tag stands inside a candidate: first those of POS, then those of NER."""


def names(groups: Sequence[Group] = GROUPS) -> tuple[str, ...]:
    """The features of these groups, in the order of their columns."""
    return tuple(name for group in GROUPS if group in groups for name in _OF_GROUP[group])


def group_of(name: str) -> Group:
    """The group that a feature belongs to."""
    return next(group for group, members in _OF_GROUP.items() if name in members)


def features(
    question: str,
    candidates: Sequence[Candidate],
    tagged: Sequence[Marks] | None = None,
    groups: Sequence[Group] = GROUPS,
) -> NDArray[numpy.float64]:
    """A row a candidate, a column a name: (candidates, names). Candidates come in the reader's order.

    `tagged` gives the tags inside each candidate; the group `tags` needs it.
    """
    import numpy

    rows: list[list[float]] = [[] for _ in candidates]
    documents = _document_scores(candidates)
    spans = [_span_score(candidate) for candidate in candidates]
    if "retrieval" in groups:
        of_question = _of_question(question)
        for row, candidate in zip(rows, candidates, strict=True):
            retrieved = _retrieved(candidate)
            length = math.log1p(len(candidate.passage.text.split()))
            row += [documents[candidate.passage.document_id], retrieved, length, *of_question]
    if "reading" in groups:
        for place, (row, candidate, span) in enumerate(zip(rows, candidates, spans, strict=True)):
            scores = candidate.features
            length = math.log1p(len(candidate.text.split()))
            read, relevance = scores.get("read", candidate.score), scores.get("relevance", 0.0)
            row += [span, read, relevance, math.log1p(place), length]
    if "tags" in groups:
        if tagged is None:
            raise ValueError("the features of the group tags need the candidates' tags")
        for row, marks in zip(rows, tagged, strict=True):
            row += marks
    if "aggregation" in groups:
        for row, numbers in zip(rows, _aggregated(candidates, spans, documents), strict=True):
            row += numbers
    return numpy.array(rows, numpy.float64).reshape(len(candidates), len(names(groups)))


def marks(candidates: Sequence[Candidate], tagged: Sequence[Tagged], begins: Sequence[int]) -> list[Marks]:
    """Which tags stand inside each candidate; `tagged` is the text around it, `begins` where that is in the passage."""
    rows: list[Marks] = []
    for candidate, around, begin in zip(candidates, tagged, begins, strict=True):
        row = [0.0] * (len(POS) + len(NER))
        start, end = candidate.start - begin, candidate.end - begin
        for (first, last), pos, ner in zip(around.spans, around.pos.tolist(), around.ner.tolist(), strict=True):
            if first >= end:
                break
            if last > start:
                row[pos] = row[len(POS) + ner] = 1.0
        rows.append(row)
    return rows


def _of_question(question: str) -> list[float]:
    words = question.lower().split()
    start = words[0].strip("\"'“‘¿(").removesuffix("'s").removesuffix("’s") if words else ""
    first = [float(start == word) for word in STARTS]
    return [math.log1p(len(words)), *first, float(not any(first))]


def _retrieved(candidate: Candidate) -> float:
    return candidate.features.get("retrieve", candidate.features.get("rank", 0.0))


def _span_score(candidate: Candidate) -> float:
    return candidate.features.get("span", candidate.features.get("read", candidate.score))


def _document_scores(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Of each document, how well its best passage was found."""
    best: dict[str, float] = {}
    for candidate in candidates:
        id, score = candidate.passage.document_id, _retrieved(candidate)
        best[id] = max(best.get(id, score), score)
    return best


def _aggregated(
    candidates: Sequence[Candidate], spans: Sequence[float], documents: dict[str, float]
) -> list[tuple[float, ...]]:
    """Of all candidates with the same normal form: how many, the first one's place, and their scores together.

    Span scores are logarithms: their sum is the logarithm of the summed probabilities.
    """
    alike: dict[str, list[int]] = {}
    forms = [normalized(candidate.text) for candidate in candidates]
    for place, form in enumerate(forms):
        alike.setdefault(form, []).append(place)
    numbers: dict[str, tuple[float, ...]] = {}
    for form, places in alike.items():
        span_scores = [spans[place] for place in places]
        document_scores = [documents[candidates[place].passage.document_id] for place in places]
        counted = (math.log1p(len(places)), math.log1p(places[0]))
        numbers[form] = (
            *counted,
            *_summary(span_scores),
            _log_sum(span_scores),
            *_summary(document_scores),
            sum(document_scores),
        )
    return [numbers[form] for form in forms]


def _summary(values: Sequence[float]) -> tuple[float, float, float]:
    return min(values), sum(values) / len(values), max(values)


def _log_sum(values: Sequence[float]) -> float:
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))
