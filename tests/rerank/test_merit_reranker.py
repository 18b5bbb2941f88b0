"""The order by merits: its contract, what a line puts first, and a broken line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.material import GARDEN, HARBOUR, span
from contracts.stages import RerankerContract
from wherefrom.build import build
from wherefrom.config import Settings, resolve
from wherefrom.errors import WherefromError
from wherefrom.features.merits import NAMES
from wherefrom.rerank.merits import ORDER, MeritReranker, led
from wherefrom.rerank.vote import VoteReranker
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Reranker
from wherefrom.types import Question


def fitted(folder: Path, **weights: float) -> MeritReranker:
    """A re-ranker that goes by these merits alone."""
    named = {name.replace("_", " "): value for name, value in weights.items()}
    terms = {name: [named.get(name, 0.0), 0.0, 1.0] for name in NAMES}
    (folder / ORDER).write_text(json.dumps({"bias": 0.0, "terms": terms}))
    return MeritReranker(Weights(folder))


class TestContract(RerankerContract):
    """MeritReranker is a Reranker."""

    @pytest.fixture
    def reranker(self, tmp_path: Path) -> Reranker:
        return fitted(tmp_path, read=1.0, passage_coverage=2.0)


def test_words_of_the_question_can_beat_a_surer_reader(tmp_path: Path) -> None:
    surer, named = span(GARDEN, "412", -1.0), span(HARBOUR, "31 metres", -2.0)
    question = Question("", "How tall is the lighthouse?")
    (ranked,) = fitted(tmp_path, read=1.0, passage_coverage=5.0).rerank([question], [[surer, named]])
    assert [candidate.text for candidate in ranked] == ["31 metres", "412"]
    assert ranked[0].features["rerank"] == ranked[0].score == pytest.approx(4.0)
    assert ranked[0].features["read"] == -2.0
    (ranked,) = fitted(tmp_path, read=1.0).rerank([question], [[surer, named]])
    assert [candidate.text for candidate in ranked] == ["412", "31 metres"]


def test_of_spans_at_one_place_the_readers_best_leads_with_the_score_of_the_place(tmp_path: Path) -> None:
    whole = "It is 31 metres tall"
    short, long, other = span(HARBOUR, "31 metres", -1.0), span(HARBOUR, whole, -4.0), span(GARDEN, "412", -0.5)
    (ranked,) = fitted(tmp_path, answer_length=9.0).rerank([Question("", "How tall?")], [[other, short, long]])
    assert [candidate.text for candidate in ranked] == ["31 metres", whole, "412"]
    assert led([short, long, other], [1.0, 5.0, 2.0]) == [5.0, 4.99, 2.0]
    assert led([short, other, long], [5.0, 2.0, 1.0]) == [5.0, 2.0, 1.0]


def test_same_answers_stay_together_and_what_is_not_compared_stays_behind(tmp_path: Path) -> None:
    candidates = [span(HARBOUR, letter, -float(number)) for number, letter in enumerate("habourfsti")]
    candidates.append(span(GARDEN, "h", -20.0))
    (ranked,) = fitted(tmp_path, read=-1.0).rerank([Question("", "Which?")], [candidates])
    assert [candidate.text for candidate in ranked[-4:]] == ["h", "h", "t", "i"]


@pytest.mark.parametrize("text", ['{"bias": 0, "terms": {}}', "[]", '{"bias": 0}'])
def test_a_broken_line_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / ORDER).write_text(text)
    with pytest.raises(WherefromError, match=r"order\.json is not a fitted order .*wherefrom train judge"):
        MeritReranker(Weights(tmp_path)).rerank([Question("", "?")], [[span(GARDEN, "412", 0.0)]])


def test_it_is_the_default_with_the_reader_it_was_fitted_for(tmp_path: Path) -> None:
    assert isinstance(build(Settings(), None).reranker, MeritReranker)
    assert isinstance(build(resolve(overrides=["index.language=none"]), None).reranker, VoteReranker)
    own = resolve(overrides=[f"runtime.reader={tmp_path}/"])
    assert isinstance(build(own, None).reranker, VoteReranker)  # a reader of one's own has no order yet
    assert (
        build(resolve(overrides=["read.kind=sentence", "rank.kind=none", "judge.kind=lexical"]), None).reranker is None
    )
