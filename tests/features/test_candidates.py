"""What a re-ranker looks at, worked out by hand."""

from __future__ import annotations

import math

import numpy
import pytest

from contracts.material import passage
from wherefrom.features.candidates import GROUPS, STARTS, Group, features, group_of, marks, names
from wherefrom.features.tags import NER, POS, Tagged
from wherefrom.types import Candidate, Passage

BAY = passage("bay.md#0", "The harbour of Ostrava Bay opened in 1908.")
ROSE = passage("rose.md#0", "In 1908, roses came; a harbour too.")
BAY_TOO = passage("bay.md#1", "It opened in the year 1908 or so")


def span(source: Passage, text: str, retrieved: float, log_probability: float) -> Candidate:
    start = source.text.index(text)
    scores = {"retrieve": retrieved, "span": log_probability, "read": log_probability - 1.0, "relevance": 2.0}
    return Candidate(text, source, start, start + len(text), log_probability - 1.0, scores)


CANDIDATES = [
    span(BAY, "1908", 10.0, math.log(0.5)),
    span(ROSE, "a harbour", 4.0, math.log(0.2)),
    span(BAY_TOO, "the year 1908", 12.0, math.log(0.1)),
    span(ROSE, "1908,", 4.0, math.log(0.25)),
]


def column(name: str, groups: tuple[Group, ...] = ("retrieval", "reading", "aggregation")) -> list[float]:
    rows = features("When did the harbour open?", CANDIDATES, None, groups)
    values: list[float] = rows[:, names(groups).index(name)].tolist()
    return values


def test_a_document_is_found_as_well_as_its_best_passage() -> None:
    assert column("par_sim") == [10.0, 4.0, 12.0, 4.0]
    assert column("doc_sim") == [12.0, 4.0, 12.0, 4.0]


def test_lengths_places_and_scores() -> None:
    assert column("par_length")[0] == math.log1p(8)
    assert column("question_length") == [math.log1p(5)] * 4
    assert column("answer_length") == [math.log1p(n) for n in (1, 2, 3, 1)]
    assert column("rank") == [math.log1p(n) for n in range(4)]
    assert column("span_score")[1] == math.log(0.2)
    assert column("read_score")[1] == math.log(0.2) - 1.0
    assert column("relevance") == [2.0] * 4


@pytest.mark.parametrize(
    ("question", "start"),
    [("When was it?", "when"), ("“What's that?", "what"), ("Name a king.", "other"), ("", "other"), ("IN what", "in")],
)
def test_the_question_word_is_one_of_the_starts(question: str, start: str) -> None:
    row = features(question, CANDIDATES[:1], None, ("retrieval",))[0]
    values = dict(zip(names(("retrieval",)), row.tolist(), strict=True))
    assert [word for word in (*STARTS, "other") if values[f"starts_{word}"]] == [start]


def test_answers_that_say_the_same_are_taken_together() -> None:
    # "1908" and "1908," are the same; "the year 1908" is another answer.
    assert column("occurrences") == [math.log1p(n) for n in (2, 1, 1, 2)]
    assert column("first_occurrence") == [math.log1p(n) for n in (0, 1, 2, 0)]
    assert column("max_span") == [math.log(p) for p in (0.5, 0.2, 0.1, 0.5)]
    assert column("min_span") == [math.log(p) for p in (0.25, 0.2, 0.1, 0.25)]
    assert column("mean_span")[3] == pytest.approx((math.log(0.5) + math.log(0.25)) / 2)
    assert column("sum_span") == pytest.approx([math.log(p) for p in (0.75, 0.2, 0.1, 0.75)])
    assert column("min_doc") == [4.0, 4.0, 12.0, 4.0]
    assert column("max_doc") == [12.0, 4.0, 12.0, 12.0]
    assert column("mean_doc") == [8.0, 4.0, 12.0, 8.0]
    assert column("sum_doc") == [16.0, 4.0, 12.0, 16.0]


def test_a_reader_that_says_less_is_read_by_its_score() -> None:
    bare = Candidate("1908", BAY, 37, 41, 0.7)
    values = dict(zip(names(("reading",)), features("?", [bare], None, ("reading",))[0].tolist(), strict=True))
    assert (values["span_score"], values["read_score"], values["relevance"]) == (0.7, 0.7, 0.0)


def test_tags_are_those_inside_the_candidate() -> None:
    tokens = [(0, 8), (9, 13), (14, 16), (17, 20)]  # of "opened, in 1908 or so": what the tagger made of a part
    noun, number, none, date = POS.index("NOUN"), POS.index("NUM"), NER.index("O"), NER.index("DATE")
    around = Tagged(tokens, numpy.array([noun, number, noun, noun], "u1"), numpy.array([none, date, none, none], "u1"))
    candidate = Candidate("1908", BAY, 109, 113, 1.0)
    (row,) = marks([candidate], [around], [100])
    tags = dict(zip(names(("tags",)), row, strict=True))
    assert {name for name, value in tags.items() if value} == {"pos_NUM", "ner_DATE"}


def test_groups_are_columns_side_by_side() -> None:
    tags = [[0.0] * len(names(("tags",)))] * len(CANDIDATES)
    whole = features("Who?", CANDIDATES, tags)
    assert whole.shape == (4, len(names()))
    for group in GROUPS:
        columns = [place for place, name in enumerate(names()) if group_of(name) == group]
        assert (whole[:, columns] == features("Who?", CANDIDATES, tags, (group,))).all()


def test_tags_that_are_needed_and_missing_are_an_error() -> None:
    with pytest.raises(ValueError, match="tags"):
        features("Who?", CANDIDATES)


def test_no_candidates_no_rows() -> None:
    assert features("Who?", [], []).shape == (0, len(names()))
