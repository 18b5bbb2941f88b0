"""Rankings are scored as trec_eval scores them, ties included."""

from __future__ import annotations

import math
from random import Random

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.metrics.checks import MetricError
from wherefrom.metrics.ranking import (
    RankedGains,
    average_precision,
    dcg_at,
    hit_at,
    mean_average_precision,
    mean_over,
    mean_reciprocal_rank,
    ndcg_at,
    order,
    precision_at,
    ranked,
    ranked_run,
    recall_at,
    reciprocal_rank,
)

gains = st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0]), max_size=12)
rankings = st.builds(lambda listed, missed: RankedGains(tuple(listed), tuple(missed)), gains, gains)
METRICS = (
    average_precision,
    reciprocal_rank,
    precision_at,
    ndcg_at,
    lambda ranking: recall_at(ranking, 5),
    lambda ranking: hit_at(ranking, 3),
    lambda ranking: ndcg_at(ranking, 4),
)


def test_worked_out_by_hand() -> None:
    # relevant at ranks 2 and 4, and one missed: AP = (1/3)(1/2 + 2/4) = 1/3, RR = 1/2
    ranking = RankedGains((0, 1, 0, 1, 0), missed=(1,))
    assert average_precision(ranking) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranking) == 1 / 2
    assert reciprocal_rank(ranking, k=1) == 0.0
    assert precision_at(ranking) == 0.0
    assert precision_at(ranking, 4) == 1 / 2
    assert precision_at(ranking, 10) == 1 / 5  # a list that is too short is filled with irrelevant ones
    assert recall_at(ranking, 2) == 1 / 3
    assert [hit_at(ranking, k) for k in (1, 2)] == [0.0, 1.0]


def test_ndcg_by_hand() -> None:
    # gains 1, 0, 3 and a missed 2: DCG = 1/1 + 3/log2(4) = 2.5; ideal 3, 2, 1: 3 + 2/log2(3) + 1/2
    ranking = RankedGains((1, 0, 3), missed=(2,))
    assert dcg_at(ranking.gains) == pytest.approx(2.5)
    assert ndcg_at(ranking) == pytest.approx(2.5 / (3.5 + 2 / math.log2(3)))
    assert ndcg_at(ranking, 1) == pytest.approx(1 / 3)
    # binary: hit at rank 2 of one relevant
    assert ndcg_at(RankedGains((0, 1)), 10) == pytest.approx(1 / math.log2(3))


def test_means_leave_out_questions_without_a_relevant_item_or_count_them_zero() -> None:
    questions = [RankedGains((1, 0)), RankedGains((0, 1)), RankedGains((0, 0))]
    assert mean_average_precision(questions) == pytest.approx((1 + 1 / 2) / 2)
    assert mean_average_precision(questions, without_relevant="zero") == pytest.approx((1 + 1 / 2) / 3)
    assert mean_reciprocal_rank(questions) == pytest.approx(3 / 4)
    assert mean_over([*questions, RankedGains((), missed=(1,))], precision_at) == pytest.approx(1 / 3)
    with pytest.raises(MetricError, match="none of 1 questions"):
        mean_average_precision([RankedGains((0,))])


def test_ties_keep_the_given_order_or_go_by_larger_id() -> None:
    scores, ids = [0.5, 0.9, 0.5, 0.5], ["d10", "d1", "d9", "é"]
    assert order(scores) == [1, 0, 2, 3]
    assert order(scores, ids, ties="trec") == [1, 3, 2, 0]  # é > d9 > d10
    assert ranked([0.5, 0.5], [0, 1]).gains == (0, 1)
    run = {"d10": 0.5, "d9": 0.5}
    assert ranked_run(run, {"d9": 1}).gains == (1, 0)
    assert ranked_run(run, {"d9": 1}, ties="given").gains == (0, 1)


def test_agrees_with_trec_eval() -> None:
    random = Random(81)
    cutoffs = (1, 3, 5, 10, 20)
    names = {"map", "recip_rank", "ndcg"} | {
        f"{m}.{','.join(map(str, cutoffs))}" for m in ("P", "recall", "ndcg_cut", "success")
    }
    for _ in range(300):
        ids = [f"d{number}" for number in random.sample(range(1000), random.randint(2, 40))]
        listed = random.sample(ids, random.randint(1, len(ids)))
        judged = {
            item: random.choice([-1, 0, 0, 1, 1, 2, 4]) for item in random.sample(ids, random.randint(1, len(ids)))
        }
        coarse = random.choice([2, 5, 1000])  # few different scores make many ties
        run = {item: random.randrange(coarse) / 8 for item in listed}
        theirs = pytrec_eval.RelevanceEvaluator({"q": judged}, names).evaluate({"q": run})["q"]
        ours = ranked_run(run, judged)
        assert average_precision(ours) == pytest.approx(theirs["map"], abs=1e-9)
        assert reciprocal_rank(ours) == pytest.approx(theirs["recip_rank"], abs=1e-9)
        assert ndcg_at(ours) == pytest.approx(theirs["ndcg"], abs=1e-9)
        for k in cutoffs:
            assert precision_at(ours, k) == pytest.approx(theirs[f"P_{k}"], abs=1e-9)
            assert recall_at(ours, k) == pytest.approx(theirs[f"recall_{k}"], abs=1e-9)
            assert ndcg_at(ours, k) == pytest.approx(theirs[f"ndcg_cut_{k}"], abs=1e-9)
            assert hit_at(ours, k) == theirs[f"success_{k}"]


@given(rankings)
def test_bounds(ranking: RankedGains) -> None:
    for metric in METRICS:
        assert 0.0 <= metric(ranking) <= 1.0 + 1e-12
    if not ranking.relevant:
        assert all(metric(ranking) == 0.0 for metric in METRICS)


@given(gains)
def test_the_best_order_is_perfect(given_gains: list[float]) -> None:
    best = RankedGains(tuple(sorted(given_gains, reverse=True)))
    if best.relevant:
        assert average_precision(best) == reciprocal_rank(best) == pytest.approx(1.0)
        assert ndcg_at(best) == pytest.approx(1.0)


@given(gains, st.integers(0, 10))
def test_moving_a_better_item_up_never_hurts(given_gains: list[float], place: int) -> None:
    if place + 1 >= len(given_gains) or given_gains[place] >= given_gains[place + 1]:
        return
    moved = list(given_gains)
    moved[place], moved[place + 1] = moved[place + 1], moved[place]
    for metric in METRICS:
        assert metric(RankedGains(tuple(moved))) >= metric(RankedGains(tuple(given_gains))) - 1e-12


@given(rankings)
def test_recall_and_hits_grow_with_k(ranking: RankedGains) -> None:
    for k in range(1, 8):
        assert recall_at(ranking, k + 1) >= recall_at(ranking, k)
        assert hit_at(ranking, k + 1) >= hit_at(ranking, k)


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 3), max_size=8), st.randoms())
def test_trec_order_does_not_depend_on_how_a_run_is_listed(run: dict[str, int], random: Random) -> None:
    judged = {item: random.randint(0, 1) for item in run}
    mixed = dict(random.sample(list(run.items()), len(run)))
    assert ranked_run(run, judged) == ranked_run(mixed, judged)


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(MetricError, match="number 2 is NaN"):
        ranked([0.5, math.nan], [0, 1])
    with pytest.raises(MetricError, match="2 scores, 1 gains"):
        ranked([0.5, 0.4], [1])
    with pytest.raises(MetricError, match="give the ids"):
        order([0.5], ties="trec")
    with pytest.raises(MetricError, match="k is 0"):
        precision_at(RankedGains((1,)), 0)
    assert order([math.inf, -math.inf, 0.0]) == [0, 2, 1]
