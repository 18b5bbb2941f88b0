"""ROUGE counts what the paper says, and what ROUGE-1.5.5, rouge-score and coco-caption say."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_texts import random_pairs, random_text, real_pairs, real_sentences
from pycocoevalcap.rouge.rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer

from wherefrom.metrics.checks import MetricError
from wherefrom.metrics.rouge import (
    DUC,
    Hits,
    RougeOptions,
    joined_references,
    rouge,
    rouge_l,
    rouge_l_marco,
    rouge_lsum,
    rouge_n,
    rouge_su,
)

tokens = st.lists(st.sampled_from("abcdef"), max_size=15)
PEER_NAMES = {"1": "rouge1", "2": "rouge2", "L": "rougeL", "Lsum": "rougeLsum"}


# Lin (2004), section 3: the example of ROUGE-L and ROUGE-S.
S1 = "police killed the gunman".split()
S2 = "police kill the gunman".split()
S3 = "the gunman kill police".split()


def test_example_of_the_paper() -> None:
    assert rouge_n(S2, S1, 2) == rouge_n(S3, S1, 2) == Hits(1, 3, 3)  # "the gunman" in both: bigrams cannot tell
    assert rouge_l(S2, S1).score().f == 3 / 4
    assert rouge_l(S3, S1).score().f == 2 / 4
    # pairs police-the, police-gunman, the-gunman; singles police, the ("gunman" ends both)
    assert rouge_su(S2, S1, gap=4) == Hits(3 + 2, 6 + 3, 6 + 3)
    # the pair the-gunman; the single "the" ("gunman" ends the one, "police" the other)
    assert rouge_su(S3, S1, gap=4) == Hits(1 + 1, 6 + 3, 6 + 3)


def test_rouge_1_and_2_by_hand() -> None:
    # prediction "the cat the cat sat", reference "the cat sat on the mat"
    predicted, wanted = "the cat the cat sat".split(), "the cat sat on the mat".split()
    assert rouge_n(predicted, wanted, 1) == Hits(4, 5, 6)  # the 2, cat 1 of 2, sat 1
    assert rouge_n(predicted, wanted, 2) == Hits(2, 4, 5)  # "the cat" 1 of 2, "cat sat" 1
    assert rouge_n(predicted, wanted, 2).score() == pytest.approx((2 / 4, 2 / 5, 2 * 2 / 9))


def test_skip_bigrams_reach_over_four_tokens_and_no_more() -> None:
    # a ... f: five tokens apart is a gap of four; g is one too far from a
    assert rouge_su(list("a1234f"), list("a5678f"), gap=4).same == 1 + 1  # a-f and the single a
    assert rouge_su(list("a12345g"), list("a67890g"), gap=4).same == 1  # the single a alone
    # four tokens have 6 pairs and, the last left out, 3 singles
    assert rouge_su(list("abcd"), list("abcd"), gap=4) == Hits(9, 9, 9)
    assert rouge_su(list("abcd"), list("abcd"), gap=4, every_unigram=True) == Hits(10, 10, 10)
    assert rouge_su(["a"], ["a"]) == Hits(0, 0, 0)
    # gap 0 is bigrams
    assert rouge_su(list("abcd"), list("abcd"), gap=0).same == 3 + 3


def test_union_lcs_of_the_paper() -> None:
    # Lin (2004), section 3.2: r = w1 w2 w3 w4 w5, c1 = w1 w2 w6 w7 w8, c2 = w1 w3 w8 w9 w5; the union is w1 w2 w3 w5
    reference = ["w1 w2 w3 w4 w5".split()]
    prediction = ["w1 w2 w6 w7 w8".split(), "w1 w3 w8 w9 w5".split()]
    assert rouge_lsum(prediction, reference) == Hits(4, 10, 5)
    assert rouge_lsum(prediction, reference).score().recall == 4 / 5


def test_alpha_moves_f_from_recall_to_precision() -> None:
    hits = Hits(2, 4, 5)  # P = 0.5, R = 0.4
    assert hits.score(alpha=0.0).f == pytest.approx(0.4)
    assert hits.score(alpha=1.0).f == pytest.approx(0.5)
    assert hits.score(alpha=0.5).f == pytest.approx(2 * 0.5 * 0.4 / 0.9)


def test_marco_takes_the_best_precision_and_the_best_recall() -> None:
    # against "a b c d": lcs 2, P = 2/2, R = 2/4; against "b": lcs 1, P = 1/2, R = 1; so P = 1, R = 1, F = 1
    assert rouge_l_marco(["a", "b"], ["a b c d".split(), ["b"]]) == (1.0, 1.0, 1.0)
    # one reference: P = 1, R = 1/2, F = 2.44·(1/2) / (1/2 + 1.44) = 1.22/1.94
    assert rouge_l_marco(["a", "b"], ["a b c d".split()]).f == pytest.approx(1.22 / 1.94)


def test_marco_with_empty_texts() -> None:
    assert rouge_l_marco([], [["a"]]).f == 0.0
    assert rouge_l_marco(["a"], [[]]).f == 0.0
    assert rouge_l_marco([], [[]]).f == 1.0  # as coco-caption: one empty token on both sides


def test_several_references_by_hand() -> None:
    hits = [Hits(1, 2, 4), Hits(2, 2, 2), Hits(0, 2, 3)]  # F: 2/6, 1, 0
    assert joined_references(hits, "average") == pytest.approx((3 / 6, 3 / 9, 2 * 3 / 15))
    assert joined_references(hits, "best") == (1.0, 1.0, 1.0)
    # left out in turn: the first → best 1; the second → best 1/3; the third → best 1. Means of P: (1 + 1/2 + 1)/3
    assert joined_references(hits, "jackknife") == pytest.approx((2.5 / 3, 2.25 / 3, (1 + 1 / 3 + 1) / 3))
    assert joined_references(hits[:1], "jackknife") == hits[0].score()


def test_duc_options() -> None:
    # stemmed (-m), but not words of three letters: running and runs meet, "its" and "it" do not
    assert rouge("running ties its", ["runs tie it"], ("1",), DUC)["1"].f == pytest.approx(1 / 3)  # ties → ti
    # 250 words count, on both sides (-l 250)
    long = " ".join(f"w{number}" for number in range(300))
    assert rouge(long, [long + " more"], ("1", "2", "SU4"), DUC) == dict.fromkeys(("1", "2", "SU4"), (1.0, 1.0, 1.0))
    tail = " ".join(["x"] * 250 + ["hit"])
    assert rouge(tail, ["hit"], ("1",), DUC)["1"].f == 0.0


def test_the_limit_counts_words_between_white_space_across_lines() -> None:
    options = RougeOptions(limit=3)
    # a-b, c and d are three words, and four tokens
    assert rouge("a-b c\nd e", ["a-b c d f"], ("1",), options)["1"] == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("stems", [None, "nltk"])
def test_agrees_with_rouge_score(stems: str | None) -> None:
    scorer = RougeScorer(list(PEER_NAMES.values()), use_stemmer=stems is not None)
    options = RougeOptions(stems=stems)  # type: ignore[arg-type]
    for prediction, references in random_pairs(21, 400) + real_pairs(22, 200):
        ours = rouge(prediction, references, ("1", "2", "L", "Lsum"), options)
        theirs = scorer.score_multi(references, prediction)
        for kind, name in PEER_NAMES.items():
            assert ours[kind].f == pytest.approx(theirs[name].fmeasure, abs=1e-12)  # type: ignore[index]
        single = rouge(prediction, references[:1], ("1", "2", "L", "Lsum"), options)
        peer = scorer.score(references[0], prediction)
        for kind, name in PEER_NAMES.items():
            ours_of_kind = single[kind]  # type: ignore[index]
            assert (ours_of_kind.precision, ours_of_kind.recall) == pytest.approx(
                (peer[name].precision, peer[name].recall), abs=1e-12
            )


def test_summaries_of_many_lines_agree_with_rouge_score() -> None:
    scorer = RougeScorer(["rougeLsum"])
    random = Random(23)
    pool = [*real_sentences(), *(random_text(random) for _ in range(50))]
    for _ in range(100):
        shared = random.sample(pool, 3)
        summary = "\n".join(shared[:2] + random.sample(pool, 3))
        reference = "\n".join(shared + random.sample(pool, 2))
        ours = rouge(summary, [reference], ("Lsum",))["Lsum"]
        theirs = scorer.score(reference, summary)["rougeLsum"]
        assert ours == pytest.approx((theirs.precision, theirs.recall, theirs.fmeasure), abs=1e-12)


def test_marco_agrees_with_coco_caption() -> None:
    peer = Rouge()
    for prediction, references in random_pairs(24, 1500) + real_pairs(25, 500):
        predicted = " ".join(prediction.split())
        wanted = [" ".join(reference.split()) for reference in references]
        ours = rouge_l_marco(predicted.split(), [reference.split() for reference in wanted]).f
        assert ours == pytest.approx(peer.calc_score([predicted], wanted), abs=1e-12)


@given(tokens, tokens)
def test_bounds_and_symmetry(predicted: list[str], wanted: list[str]) -> None:
    for count in (rouge_l, rouge_su, lambda a, b: rouge_n(a, b, 1), lambda a, b: rouge_n(a, b, 2)):
        hits, back = count(predicted, wanted), count(wanted, predicted)
        assert (hits.same, hits.predicted, hits.wanted) == (back.same, back.wanted, back.predicted)
        assert all(0.0 <= value <= 1.0 for value in hits.score())
        assert min(hits.score()[:2]) <= hits.score().f + 1e-12
        assert hits.score().f <= max(hits.score()[:2]) + 1e-12
    assert rouge_l(predicted, wanted).same <= rouge_n(predicted, wanted, 1).same


@given(tokens.filter(lambda words: len(words) > 1))
def test_a_text_equals_itself(text: list[str]) -> None:
    for hits in (rouge_l(text, text), rouge_n(text, text, 1), rouge_n(text, text, 2), rouge_su(text, text)):
        assert hits.score() == (1.0, 1.0, 1.0)
    assert rouge_l_marco(text, [text]) == (1.0, 1.0, 1.0)
    assert rouge_lsum([text], [text]).score().f == 1.0


@given(tokens, st.lists(tokens, min_size=1, max_size=4), tokens, st.randoms())
def test_more_references_never_hurt_and_their_order_is_indifferent(
    predicted: list[str], references: list[list[str]], another: list[str], random: Random
) -> None:
    before = rouge_l_marco(predicted, references)
    assert rouge_l_marco(predicted, [*references, another]).f >= before.f - 1e-12
    assert rouge_l_marco(predicted, random.sample(references, len(references))) == before


@given(tokens, tokens, st.sampled_from("abcdef"))
def test_a_longer_prediction_never_recalls_less(predicted: list[str], wanted: list[str], token: str) -> None:
    assert rouge_l([*predicted, token], wanted).same >= rouge_l(predicted, wanted).same
    assert rouge_n([*predicted, token], wanted, 1).same >= rouge_n(predicted, wanted, 1).same


@pytest.mark.parametrize("text", ["", "...", "北京"])
def test_texts_without_tokens_score_nothing(text: str) -> None:
    for score in rouge(text, ["some words", text], ("1", "2", "L", "Lsum", "SU4")).values():
        assert score == (0.0, 0.0, 0.0)


def test_no_reference_and_unknown_kinds_are_errors() -> None:
    with pytest.raises(MetricError, match="at least one reference"):
        rouge("text", [])
    with pytest.raises(MetricError, match="ROUGE-W is not known"):
        rouge("text", ["text"], ("W",))  # type: ignore[arg-type]
