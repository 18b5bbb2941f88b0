"""Short answers are judged by SQuAD's rules, and by CuratedTREC's patterns."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_texts import random_pairs, random_text

from wherefrom.metrics.answers import (
    Rules,
    best_no_answer_threshold,
    contains_answer,
    contains_pattern,
    exact_match,
    matches_pattern,
    normalized,
    token_f1,
    token_overlap,
    token_precision,
    token_recall,
    with_threshold,
)
from wherefrom.metrics.checks import MetricError

texts = st.text(alphabet=st.sampled_from("aàbcthe THE.,'-\t\n北é1"), max_size=30)


# An independent reading of SQuAD's rules, slow and plain: characters one by one, words struck off one by one.


def plain_tokens(text: str) -> list[str]:
    kept = "".join(c for c in text.lower() if not (c.isascii() and c.isprintable() and not c.isalnum() and c != " "))
    words = re.split(r"(\W+)", kept)  # words and what parts them, so that an article inside "the–end" is found too
    return "".join(" " if word in {"a", "an", "the"} else word for word in words).split()


def plain_f1(prediction: str, gold: str, version: str) -> float:
    predicted, wanted = plain_tokens(prediction), plain_tokens(gold)
    if not predicted or not wanted:
        return float(version == "2.0" and predicted == wanted)
    left, same = list(wanted), 0
    for word in predicted:
        if word in left:
            left.remove(word)
            same += 1
    return 2 * same / (len(predicted) + len(wanted))  # the harmonic mean of same/said and same/wanted


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_agrees_with_an_independent_reading_of_the_rules(version: Rules) -> None:
    for prediction, references in random_pairs(seed=1, count=10_000):
        golds = references
        if version == "2.0":
            golds = [gold for gold in references if plain_tokens(gold)] or [""]
        em = float(any(plain_tokens(prediction) == plain_tokens(gold) for gold in golds))
        f1 = max(plain_f1(prediction, gold, version) for gold in golds)
        assert exact_match(prediction, references, version) == em
        assert token_f1(prediction, references, version) == pytest.approx(f1, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("an apple, a pear", "apple pear"),
        ("the-end", "theend"),  # punctuation goes before articles are looked for
        ("the–end", "–end"),  # an en dash is not ASCII punctuation, and parts words
        ("7 a.m.", "7 am"),
        ("Theory of anthems", "theory of anthems"),
        ("  Zürich\tund\u00a0Bern ", "zürich und bern"),
        ("北京", "北京"),
        ("The.", ""),
        ("?!", ""),
        ("", ""),
    ],
)
def test_normalisation(text: str, expected: str) -> None:
    assert normalized(text) == expected


def test_f1_worked_out_by_hand() -> None:
    # "cat sat on mat" and "cat lay on mat today" share cat, on, mat: P = 3/4, R = 3/5, F1 = 2·(3/4)(3/5)/(27/20) = 2/3
    score = token_overlap("The cat sat on the mat", "a cat lay on the mat today")
    assert score == pytest.approx((3 / 4, 3 / 5, 2 / 3))
    assert token_precision("The cat sat on the mat", ["a cat lay on the mat today"]) == pytest.approx(3 / 4)
    assert token_recall("The cat sat on the mat", ["a cat lay on the mat today"]) == pytest.approx(3 / 5)


def test_repeated_words_count_as_often_as_both_sides_have_them() -> None:
    # "no no no" and "no no yes" share two: P = 2/3, R = 2/3
    assert token_overlap("no no no", "no no yes") == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_the_best_gold_counts() -> None:
    golds = ["Denver Broncos", "The Broncos", "Carolina"]
    assert exact_match("broncos", golds) == 1.0
    assert token_f1("Denver", golds) == pytest.approx(2 / 3)  # P = 1, R = 1/2


@pytest.mark.parametrize(
    ("prediction", "golds", "version", "em", "f1"),
    [
        ("", [], "2.0", 1.0, 1.0),
        ("word", [], "2.0", 0.0, 0.0),
        ("", [""], "2.0", 1.0, 1.0),
        ("the", [""], "2.0", 1.0, 1.0),  # normalises to nothing
        ("", ["word"], "2.0", 0.0, 0.0),
        ("", ["the", "word"], "2.0", 0.0, 0.0),  # the empty gold is left out ...
        ("", ["the", "word"], "1.1", 1.0, 0.0),  # ... by the later rules only
        ("", [""], "1.1", 1.0, 0.0),
        ("!", ["?"], "2.0", 1.0, 1.0),
    ],
)
def test_empty_predictions_and_golds(prediction: str, golds: list[str], version: Rules, em: float, f1: float) -> None:
    assert exact_match(prediction, golds, version) == em
    assert token_f1(prediction, golds, version) == f1


def test_no_gold_is_an_error_under_the_first_rules() -> None:
    with pytest.raises(MetricError, match="without golds"):
        token_f1("word", [], "1.1")


@given(texts, st.lists(texts, min_size=1, max_size=3))
def test_scores_are_bounded_and_ordered(prediction: str, golds: list[str]) -> None:
    em, f1 = exact_match(prediction, golds), token_f1(prediction, golds)
    assert 0.0 <= em <= f1 <= 1.0
    assert f1 <= max(token_precision(prediction, golds), token_recall(prediction, golds))


@given(texts, texts)
def test_f1_is_symmetric_and_precision_is_recall_the_other_way(one: str, other: str) -> None:
    assert token_f1(one, [other]) == pytest.approx(token_f1(other, [one]))
    assert token_overlap(one, other).precision == token_overlap(other, one).recall


@given(texts)
def test_a_text_equals_itself(text: str) -> None:
    assert exact_match(text, [text]) == token_f1(text, [text]) == 1.0


@given(texts, st.lists(texts, min_size=1, max_size=3), texts, st.randoms())
def test_more_golds_never_hurt_and_their_order_is_indifferent(
    prediction: str, golds: list[str], another: str, random: Random
) -> None:
    if any(normalized(gold) for gold in golds):  # by the rules of 2.0 a real gold takes the place of no answer
        assert token_f1(prediction, [*golds, another]) >= token_f1(prediction, golds)
    shuffled = random.sample(golds, len(golds))
    assert token_f1(prediction, shuffled) == token_f1(prediction, golds)
    assert exact_match(prediction, shuffled) == exact_match(prediction, golds)


@given(texts, texts, st.randoms())
def test_f1_does_not_see_the_order_of_words(one: str, other: str, random: Random) -> None:
    words = normalized(one).split()
    random.shuffle(words)
    assert token_f1(" ".join(words), [other]) == pytest.approx(token_f1(normalized(one), [other]))


# Four questions, by doubt: right at 0.1, wrongly answered at 0.2 (has none), right at 0.3, wrong at 0.9.
SCORES, DOUBTS = [1.0, 0.0, 1.0, 0.0], [0.1, 0.2, 0.3, 0.9]
ANSWERABLE, PREDICTIONS = [True, False, True, True], ["a", "b", "c", "d"]


def test_best_threshold_worked_out_by_hand() -> None:
    # all withheld: 1 right (the one without an answer); then +1 = 2, −1 = 1, +1 = 2, +0 = 2: best 2 of 4, first at 0.1
    best = best_no_answer_threshold(SCORES, DOUBTS, ANSWERABLE, PREDICTIONS)
    assert (best.score, best.threshold) == (0.5, 0.1)
    assert with_threshold(SCORES, DOUBTS, ANSWERABLE, 0.1) == [1.0, 1.0, 0.0, 0.0]


def test_withholding_all_is_best_when_nothing_is_right() -> None:
    best = best_no_answer_threshold([0.0, 0.0], [0.5, 0.6], [True, False], ["a", "b"])
    assert (best.score, best.threshold) == (0.5, 0.0)


def test_an_empty_prediction_to_a_question_without_answer_loses_nothing() -> None:
    best = best_no_answer_threshold([1.0, 1.0], [0.2, 0.1], [True, False], ["a", ""])
    assert (best.score, best.threshold) == (1.0, 0.2)


def test_best_threshold_is_what_trying_them_all_finds() -> None:
    random = Random(3)
    for _ in range(200):
        size = random.randint(1, 12)
        answerable = [random.random() < 0.6 for _ in range(size)]
        predictions = [random.choice(["", "said"]) for _ in range(size)]
        scores = [
            random.choice([0.0, 0.5, 1.0]) if has and predicted else float(not has and not predicted)
            for has, predicted in zip(answerable, predictions, strict=True)
        ]
        doubts = random.sample([place / 20 for place in range(1, 21)], size)  # all different, all above 0
        tried = [sum(with_threshold(scores, doubts, answerable, at)) / size for at in [0.0, *doubts]]
        best = best_no_answer_threshold(scores, doubts, answerable, predictions)
        assert best.score == pytest.approx(max(tried))
        assert sum(with_threshold(scores, doubts, answerable, best.threshold)) / size == pytest.approx(best.score)


def test_nan_doubts_and_lists_of_different_length_are_errors() -> None:
    with pytest.raises(MetricError, match="NaN"):
        best_no_answer_threshold([1.0], [float("nan")], [True], ["a"])
    with pytest.raises(MetricError, match="1 scores, 2 no answer scores"):
        with_threshold([1.0], [0.1, 0.2], [True], 0.5)


@pytest.mark.parametrize(
    ("text", "gold", "contained"),
    [
        ("It stars Nicolas Cage's brother.", "nicolas cage", True),
        ("The birdcages are empty.", "cage", False),
        ("Born in São Paulo.", "Sa\u0303o Paulo", True),  # composed or not
        ("Born in Sao Paulo.", "São Paulo", False),
        ("In 1,250 days", "1,250", True),
        ("anything", "", False),
        ("", "word", False),
        ("他住在北京市", "北京", False),  # DrQA's tokens: a run of letters is one
    ],
)
def test_contains_answer_finds_whole_tokens(text: str, gold: str, contained: bool) -> None:
    assert contains_answer(text, ["not there", gold]) is contained


def test_patterns_match_at_the_beginning_in_any_case() -> None:
    assert matches_pattern("March 1997", [r"mar(ch)?\s+19\d\d"]) == 1.0
    assert matches_pattern("in March 1997", [r"mar(ch)?\s+19\d\d"]) == 0.0
    assert contains_pattern("first line\nMARCH 1997", [r"^march 1997$"])


def test_a_bad_pattern_is_named() -> None:
    with pytest.raises(MetricError, match=re.escape("'(unclosed'")):
        matches_pattern("anything", ["(unclosed"])


def test_the_same_text_scores_the_same_again() -> None:
    text = random_text(Random(5))
    assert token_f1(text, [text + " more"]) == token_f1(text, [text + " more"])
