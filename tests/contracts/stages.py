"""What every Retriever, Ranker, Reader, Reranker, Judge, Writer and Summarizer promises."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from contracts.material import CANDIDATES, HITS, QUESTIONS
from wherefrom.stages import Judge, Ranker, Reader, Reranker, Retriever, Summarizer, Writer
from wherefrom.types import STYLES, Candidate, Hit, Question, joined


def best_first(scored: Sequence[Hit] | Sequence[Candidate]) -> bool:
    scores = [item.score for item in scored]
    return scores == sorted(scores, reverse=True)


class RetrieverContract:
    """Give a fixture `retriever` and one `questions`, at least one of which finds something."""

    def test_gives_hits_for_each_question_best_first(self, retriever: Retriever, questions: list[Question]) -> None:
        retrieved = retriever.retrieve(questions)
        assert len(retrieved) == len(questions)
        assert any(retrieved)
        assert all(best_first(hits) for hits in retrieved)

    def test_ties_are_ordered_by_id(self, retriever: Retriever, questions: list[Question]) -> None:
        for hits in retriever.retrieve(questions):
            assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))

    def test_a_batch_equals_one_by_one(self, retriever: Retriever, questions: list[Question]) -> None:
        assert retriever.retrieve(questions) == [retriever.retrieve([question])[0] for question in questions]

    def test_empty_in_empty_out(self, retriever: Retriever) -> None:
        assert retriever.retrieve([]) == []
        assert retriever.retrieve([Question("", "")]) == [[]]

    def test_every_hit_keeps_its_score_as_a_feature(self, retriever: Retriever, questions: list[Question]) -> None:
        for hits in retriever.retrieve(questions):
            assert all(hit.score in hit.features.values() for hit in hits)


class RankerContract:
    """Give a fixture `ranker`."""

    def test_orders_the_hits_it_was_given(self, ranker: Ranker) -> None:
        passed = copy.deepcopy(HITS)
        ranked = ranker.rank(QUESTIONS, passed)
        assert passed == HITS, "what was given has been changed"
        assert len(ranked) == len(HITS)
        for before, after in zip(HITS, ranked, strict=True):
            assert {hit.passage for hit in after} <= {hit.passage for hit in before}
            assert len({hit.passage for hit in after}) == len(after)
            assert best_first(after)

    def test_keeps_the_scores_of_earlier_stages(self, ranker: Ranker) -> None:
        for before, after in zip(HITS, ranker.rank(QUESTIONS, HITS), strict=True):
            earlier = {hit.passage: hit.features for hit in before}
            assert all(earlier[hit.passage].items() <= hit.features.items() for hit in after)

    def test_a_batch_equals_one_by_one(self, ranker: Ranker) -> None:
        one_by_one = [ranker.rank([question], [hits])[0] for question, hits in zip(QUESTIONS, HITS, strict=True)]
        assert ranker.rank(QUESTIONS, HITS) == one_by_one

    def test_empty_in_empty_out(self, ranker: Ranker) -> None:
        assert ranker.rank([], []) == []
        assert ranker.rank(QUESTIONS[:1], [[]]) == [[]]


class ReaderContract:
    """Give a fixture `reader`."""

    def test_candidates_are_anchored_and_best_first(self, reader: Reader) -> None:
        passed = copy.deepcopy(HITS)
        read = reader.read(QUESTIONS, passed)
        assert passed == HITS, "what was given has been changed"
        assert len(read) == len(QUESTIONS)
        assert any(read)
        for hits, candidates in zip(HITS, read, strict=True):
            assert best_first(candidates)
            for candidate in candidates:
                assert candidate.text
                assert candidate.passage.text[candidate.start : candidate.end] == candidate.text
                assert candidate.passage in [hit.passage for hit in hits]

    def test_a_batch_equals_one_by_one(self, reader: Reader) -> None:
        one_by_one = [reader.read([question], [hits])[0] for question, hits in zip(QUESTIONS, HITS, strict=True)]
        assert reader.read(QUESTIONS, HITS) == one_by_one

    def test_runs_repeat(self, reader: Reader) -> None:
        assert reader.read(QUESTIONS, HITS) == reader.read(QUESTIONS, HITS)

    def test_empty_in_empty_out(self, reader: Reader) -> None:
        assert reader.read([], []) == []
        assert reader.read(QUESTIONS[:1], [[]]) == [[]]


class RerankerContract:
    """Give a fixture `reranker`."""

    def test_orders_the_candidates_it_was_given(self, reranker: Reranker) -> None:
        passed = copy.deepcopy(CANDIDATES)
        reranked = reranker.rerank(QUESTIONS, passed)
        assert passed == CANDIDATES, "what was given has been changed"
        for before, after in zip(CANDIDATES, reranked, strict=True):
            places = {(c.passage.id, c.start, c.end) for c in before}
            assert {(c.passage.id, c.start, c.end) for c in after} <= places
            assert best_first(after)
            assert all(c.passage.text[c.start : c.end] == c.text for c in after)

    def test_a_batch_equals_one_by_one(self, reranker: Reranker) -> None:
        pairs = zip(QUESTIONS, CANDIDATES, strict=True)
        one_by_one = [reranker.rerank([question], [candidates])[0] for question, candidates in pairs]
        assert reranker.rerank(QUESTIONS, CANDIDATES) == one_by_one

    def test_empty_in_empty_out(self, reranker: Reranker) -> None:
        assert reranker.rerank([], []) == []
        assert reranker.rerank(QUESTIONS[:1], [[]]) == [[]]


class JudgeContract:
    """Give a fixture `judge`."""

    def test_chances_are_probabilities(self, judge: Judge) -> None:
        chances = judge.judge(QUESTIONS, HITS, CANDIDATES)
        assert len(chances) == len(QUESTIONS)
        assert all(0.0 <= chance <= 1.0 for chance in chances)

    def test_nothing_found_is_hardly_answerable(self, judge: Judge) -> None:
        (chance,) = judge.judge(QUESTIONS[:1], [[]], [[]])
        assert chance < 0.1

    def test_prefers_a_question_that_the_passages_speak_of(self, judge: Judge) -> None:
        answered, off_topic = judge.judge(
            [QUESTIONS[0], QUESTIONS[2]], [HITS[0], HITS[2]], [CANDIDATES[0], CANDIDATES[2]]
        )
        assert answered > off_topic

    def test_a_batch_equals_one_by_one(self, judge: Judge) -> None:
        triples = zip(QUESTIONS, HITS, CANDIDATES, strict=True)
        assert judge.judge(QUESTIONS, HITS, CANDIDATES) == [judge.judge([q], [h], [c])[0] for q, h, c in triples]

    def test_empty_in_empty_out(self, judge: Judge) -> None:
        assert judge.judge([], [], []) == []


class WriterContract:
    """Give a fixture `writer`."""

    def test_every_word_knows_where_it_came_from(self, writer: Writer) -> None:
        for style in STYLES:
            chances = [0.5] * len(QUESTIONS)
            answers = writer.write(QUESTIONS, HITS, CANDIDATES, chances, style)
            assert len(answers) == len(QUESTIONS)
            for answer in answers:
                assert answer.style == style
                assert answer.chance == 0.5
                if answer.text is None:
                    assert answer.words == ()
                    continue
                assert joined(answer.words) == answer.text
                evidence = {passage.id: passage for passage in answer.evidence}
                for word in answer.words:
                    assert 0.0 <= word.share <= 1.0
                    if word.source == "passage":
                        assert word.passage_id is not None
                        copied = evidence[word.passage_id].text[word.start : word.end]
                        assert copied.lower() == word.text.lower()

    def test_writes_something_whenever_there_is_a_candidate(self, writer: Writer) -> None:
        chances = [0.5] * len(QUESTIONS)
        for style in STYLES:
            answers = writer.write(QUESTIONS, HITS, CANDIDATES, chances, style)
            for answer, candidates in zip(answers, CANDIDATES, strict=True):
                assert bool(answer.text) == bool(candidates)

    def test_a_batch_equals_one_by_one(self, writer: Writer) -> None:
        chances = [index / 10 for index in range(len(QUESTIONS))]
        together = writer.write(QUESTIONS, HITS, CANDIDATES, chances, "short")
        parts = zip(QUESTIONS, HITS, CANDIDATES, chances, strict=True)
        assert together == [writer.write([q], [h], [c], [p], "short")[0] for q, h, c, p in parts]

    def test_empty_in_empty_out(self, writer: Writer) -> None:
        assert writer.write([], [], [], [], "short") == []


class SummarizerContract:
    """Give a fixture `summarizer`."""

    def test_keeps_to_the_length_and_to_the_passages(self, summarizer: Summarizer) -> None:
        for words in (10, 50):
            summaries = summarizer.summarize(QUESTIONS, HITS, words)
            assert len(summaries) == len(QUESTIONS)
            for hits, summary in zip(HITS, summaries, strict=True):
                assert len(summary.text.split()) <= words
                passed = {hit.passage for hit in hits}
                assert all(set(sentence.evidence) <= passed for sentence in summary.sentences)

    def test_empty_in_empty_out(self, summarizer: Summarizer) -> None:
        assert summarizer.summarize([], [], 50) == []
        assert summarizer.summarize(QUESTIONS[:1], [[]], 50)[0].sentences == ()
