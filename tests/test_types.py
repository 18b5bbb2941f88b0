"""The nouns: copies instead of changes, and JSON there and back."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from contracts.material import CANDIDATES, HITS, QUESTIONS
from wherefrom.types import Answer, Hit, Trace, Word
from wherefrom.write.verbatim import VerbatimWriter


def test_rescoring_gives_a_copy_that_remembers() -> None:
    hit = HITS[0][0]
    again = hit.rescored("rank", 0.25)
    assert (again.score, again.features) == (0.25, {"retrieve": 7.5, "rank": 0.25})
    assert (hit.score, hit.features) == (7.5, {"retrieve": 7.5})
    candidate = CANDIDATES[0][0].rescored("rerank", 2.0)
    assert candidate.features == {"read": 0.9, "rerank": 2.0}


def test_nouns_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        HITS[0][0].score = 1.0  # type: ignore[misc]


def test_a_trace_survives_json() -> None:
    (answer,) = VerbatimWriter().write(QUESTIONS[:1], HITS[:1], CANDIDATES[:1], [0.5], "sentence")
    trace = Trace(QUESTIONS[0], tuple(HITS[0]), tuple(CANDIDATES[0]), answer, timings={"read": 0.1})
    assert msgspec.json.decode(msgspec.json.encode(trace), type=Trace) == trace


def test_declining_is_an_answer_without_text() -> None:
    assert Answer(None, "short", 0.1).declined
    assert not Answer("x", "short", 0.9, (Word("x", "vocabulary"),)).declined


def test_equal_hits_are_equal() -> None:
    assert HITS[0][0] == Hit(HITS[0][0].passage, 7.5, {"retrieve": 7.5})
