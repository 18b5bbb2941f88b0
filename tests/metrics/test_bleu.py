"""BLEU counts what the paper, sacrebleu and coco-caption count."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_texts import random_pairs, real_pairs
from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from sacrebleu.metrics.bleu import BLEU

from wherefrom.metrics.bleu import (
    BleuCounts,
    bleu,
    brevity_penalty,
    closest_length,
    corpus_bleu,
    counted,
    sentence_bleu,
)
from wherefrom.metrics.checks import MetricError

tokens = st.lists(st.sampled_from("abcd"), max_size=12)


def test_clipping_example_of_the_paper() -> None:
    # Papineni et al. (2002), section 2.1: the word "the" seven times, twice in the first reference → 2/7
    predicted = "the the the the the the the".split()
    references = ["the cat is on the mat".split(), "there is a cat on the mat".split()]
    counts = counted(predicted, references)
    assert counts == BleuCounts(7, 7, (2, 0, 0, 0), (7, 6, 5, 4))
    assert bleu([counts])[0] == pytest.approx(2 / 7)


def test_bleu_by_hand() -> None:
    # "the cat sat on mat" against "the cat sat on the mat": p1 5/5, p2 3/4, p3 2/3, p4 1/2, c = 5, r = 6
    predicted, wanted = "the cat sat on mat".split(), "the cat sat on the mat".split()
    penalty = math.exp(1 - 6 / 5)
    precisions = (1, 3 / 4, 2 / 3, 1 / 2)
    expected = [penalty * math.prod(precisions[:n]) ** (1 / n) for n in (1, 2, 3, 4)]
    assert sentence_bleu(predicted, [wanted]) == pytest.approx(expected)
    assert sentence_bleu(predicted, [wanted], brevity=False)[0] == 1.0


def test_the_corpus_is_scored_as_one() -> None:
    # "a b" for "a b" and "c" for "d e f": same 2 of 3 unigrams, c = 3, r = 5
    scores = corpus_bleu([["a", "b"], ["c"]], [[["a", "b"]], [["d", "e", "f"]]])
    assert scores[0] == pytest.approx(math.exp(1 - 5 / 3) * 2 / 3)
    assert scores[1] == pytest.approx(math.exp(1 - 5 / 3) * math.sqrt(2 / 3 * 1 / 1))
    assert scores[2:] == (0.0, 0.0)


def test_the_closest_reference_length_and_of_two_the_shorter() -> None:
    assert closest_length(5, [3, 8]) == 3
    assert closest_length(5, [4, 6]) == 4
    assert closest_length(5, [9, 6]) == 6
    assert brevity_penalty(7, 7) == brevity_penalty(9, 7) == 1.0
    assert brevity_penalty(0, 7) == 0.0


def test_agrees_with_coco_caption() -> None:
    pairs = random_pairs(31, 1500) + real_pairs(32, 300)
    pairs = [(predicted, wanted) for predicted, wanted in pairs if all(reference.split() for reference in wanted)]
    peer = BleuScorer(n=4)
    for predicted, wanted in pairs:
        peer += (predicted, wanted)
    corpus, each = peer.compute_score(option="closest")
    split = [(predicted.split(), [reference.split() for reference in wanted]) for predicted, wanted in pairs]
    ours = corpus_bleu([predicted for predicted, _ in split], [wanted for _, wanted in split], smoothing="coco")
    assert ours == pytest.approx(corpus, abs=1e-12)
    for place, (text, references) in enumerate(split):
        own_scores = sentence_bleu(text, references, smoothing="coco")
        assert own_scores == pytest.approx([scores[place] for scores in each], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("count", [1, 3, 40, 800])
def test_agrees_with_sacrebleu(count: int) -> None:
    for seed in range(5):
        pairs = random_pairs(33 + seed, count) + real_pairs(40 + seed, count)
        predicted = [" ".join(text.split()) for text, _ in pairs]
        wanted = [" ".join(references[0].split()) for _, references in pairs]
        ours = corpus_bleu([text.split() for text in predicted], [[text.split()] for text in wanted])
        for order in (1, 2, 3, 4):
            peer = BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
            assert 100 * ours[order - 1] == pytest.approx(peer.corpus_score(predicted, [wanted]).score, abs=1e-9)


def test_several_references_agree_with_sacrebleu() -> None:
    pairs = [pair for pair in random_pairs(51, 600) if len(pair[1]) == 3]
    peer = BLEU(tokenize="none", smooth_method="none", force=True)
    split = [(predicted.split(), [reference.split() for reference in wanted]) for predicted, wanted in pairs]
    streams = [[" ".join(wanted[place]) for _, wanted in split] for place in range(3)]
    theirs = peer.corpus_score([" ".join(predicted) for predicted, _ in split], streams).score
    ours = corpus_bleu([predicted for predicted, _ in split], [wanted for _, wanted in split])
    assert 100 * ours[3] == pytest.approx(theirs, abs=1e-9)


@given(tokens, st.lists(tokens, min_size=1, max_size=3), st.randoms())
def test_bounds_and_order_of_references(predicted: list[str], references: list[list[str]], random: Random) -> None:
    scores = sentence_bleu(predicted, references)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert sentence_bleu(predicted, random.sample(references, len(references))) == scores
    assert all(
        free >= score for free, score in zip(sentence_bleu(predicted, references, brevity=False), scores, strict=True)
    )


@given(tokens.filter(lambda text: len(text) >= 4))
def test_a_text_equals_itself(text: list[str]) -> None:
    assert sentence_bleu(text, [text, ["z"] * len(text)]) == pytest.approx((1.0, 1.0, 1.0, 1.0))


@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=5), st.randoms())
def test_the_order_of_texts_is_indifferent(pairs: list[tuple[list[str], list[str]]], random: Random) -> None:
    mixed = random.sample(pairs, len(pairs))
    one, other = ([predicted for predicted, _ in p] for p in (pairs, mixed))
    assert corpus_bleu(one, [[w] for _, w in pairs]) == pytest.approx(corpus_bleu(other, [[w] for _, w in mixed]))


def test_awkward_texts() -> None:
    assert sentence_bleu([], [["a"]]) == (0.0, 0.0, 0.0, 0.0)
    assert sentence_bleu(["a"], [[]]) == (0.0, 0.0, 0.0, 0.0)
    assert sentence_bleu(["a"], [["a"]]) == (1.0, 0.0, 0.0, 0.0)  # too short for bigrams
    with pytest.raises(MetricError, match="at least one reference"):
        sentence_bleu(["a"], [])
    with pytest.raises(MetricError, match="nothing to score"):
        corpus_bleu([], [])
    with pytest.raises(MetricError, match="2 predictions, 1 lists of references"):
        corpus_bleu([["a"], ["b"]], [[["a"]]])
