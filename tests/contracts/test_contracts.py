"""The contracts themselves: they can be kept, and breaking one is noticed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contracts.stages import (
    JudgeContract,
    RankerContract,
    ReaderContract,
    RerankerContract,
    SummarizerContract,
    WriterContract,
)
from wherefrom.stages import Ranker, Reranker, Summarizer
from wherefrom.types import Answer, Candidate, Hit, Question, Style, Summary, SummarySentence, Word


class ShortestFirst:
    """Ranks short passages and short candidates first: useless, and honest."""

    def rank(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
        scored = [[hit.rescored("rank", -float(len(hit.passage.text))) for hit in each] for each in hits]
        return [sorted(each, key=lambda hit: (-hit.score, hit.passage.id)) for each in scored]

    def rerank(self, questions: Sequence[Question], candidates: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
        scored = [[candidate.rescored("rerank", -float(len(candidate.text))) for candidate in c] for c in candidates]
        return [sorted(each, key=lambda candidate: (-candidate.score, candidate.passage.id)) for each in scored]


class FirstWords:
    """Summarises by the first words of the first passage."""

    def summarize(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], words: int) -> list[Summary]:
        return [
            Summary(
                tuple(
                    SummarySentence(" ".join(hit.passage.text.split()[:words]), (hit.passage,))
                    for hit in question_hits[:1]
                )
            )
            for question_hits in hits
        ]


class TestRanker(RankerContract):
    @pytest.fixture
    def ranker(self) -> Ranker:
        return ShortestFirst()


class TestReranker(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return ShortestFirst()


class TestSummarizer(SummarizerContract):
    @pytest.fixture
    def summarizer(self) -> Summarizer:
        return FirstWords()


class Careless:
    """Breaks every promise there is."""

    def rank(self, questions: Sequence[Question], hits: Sequence[list[Hit]]) -> list[list[Hit]]:
        for question_hits in hits:
            question_hits.reverse()
        return list(hits)

    def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
        return [[Candidate("made up", hit.passage, 0, 7, 1.0) for hit in question_hits] for question_hits in hits]

    def judge(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[float]:
        return [1.5 for _ in questions]

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
    ) -> list[Answer]:
        return [Answer("made up", style, chance, (Word("made", "vocabulary"),)) for chance in chances]


def test_a_ranker_that_changes_what_it_was_given_is_noticed() -> None:
    with pytest.raises(AssertionError, match="has been changed"):
        RankerContract().test_orders_the_hits_it_was_given(Careless())  # type: ignore[arg-type]


def test_a_reader_whose_candidates_are_not_in_the_passage_is_noticed() -> None:
    with pytest.raises(AssertionError):
        ReaderContract().test_candidates_are_anchored_and_best_first(Careless())


def test_a_judge_whose_chances_are_no_probabilities_is_noticed() -> None:
    with pytest.raises(AssertionError):
        JudgeContract().test_chances_are_probabilities(Careless())


def test_a_writer_whose_words_do_not_spell_the_answer_is_noticed() -> None:
    with pytest.raises(AssertionError):
        WriterContract().test_every_word_knows_where_it_came_from(Careless())
