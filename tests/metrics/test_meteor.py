"""METEOR is that of NLTK without WordNet, and with a lookup in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_texts import random_pairs, real_pairs
from nltk.translate.meteor_score import meteor_score

from wherefrom.metrics.checks import MetricError
from wherefrom.metrics.meteor import aligned, chunks, meteor
from wherefrom.metrics.porter import stem

tokens = st.lists(st.sampled_from(["run", "running", "cat", "cats", "the", "house"]), max_size=12)


class Lemma:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class Synset:
    def __init__(self, names: list[str]) -> None:
        self._names = names

    def lemmas(self) -> list[Lemma]:
        return [Lemma(name) for name in self._names]


class LittleWordNet:
    """What NLTK asks of WordNet, over a dictionary."""

    def __init__(self, meanings: dict[str, list[str]]) -> None:
        self._meanings = meanings

    def synsets(self, word: str) -> list[Synset]:
        return [Synset(self._meanings[word])] if word in self._meanings else []


def test_worked_out_by_hand() -> None:
    # "the cat sat" for "the cats sat down": the, sat by form, cat by stem: m = 3, one chunk, P = 1, R = 3/4
    # mean = 0.75 / (0.9 + 0.1·0.75) = 0.75/0.975; penalty = 0.5·(1/3)³ = 0.5/27
    score = meteor("the cat sat".split(), ["the cats sat down".split()])
    assert score == pytest.approx((1 - 0.5 / 27) * 0.75 / 0.975)


def test_scattered_matches_cost() -> None:
    assert aligned(["b", "a"], ["a", "b"]) == [(0, 1), (1, 0)]
    assert chunks([(0, 1), (1, 0)]) == 2
    # P = R = 1, penalty 0.5·(2/2)³
    assert meteor(["b", "a"], [["a", "b"]]) == 0.5


def test_synonyms_match_only_if_given() -> None:
    lookup = {"car": ["auto", "automobile"]}
    assert meteor(["red", "car"], [["red", "auto"]]) < 0.5
    with_them = meteor(["red", "car"], [["red", "auto"]], synonyms=lambda word: lookup.get(word, []))
    assert with_them == pytest.approx(1 - 0.5 / 8)


def test_agrees_with_nltk_without_wordnet() -> None:
    nothing = LittleWordNet({})
    for prediction, references in random_pairs(61, 1500) + real_pairs(62, 300):
        predicted, wanted = prediction.split(), [reference.split() for reference in references]
        assert meteor(predicted, wanted) == pytest.approx(meteor_score(wanted, predicted, wordnet=nothing), abs=1e-12)


def test_agrees_with_nltk_with_synonyms() -> None:
    # NLTK looks up the stems of words, we the words: of words that are their own stems both make the same
    meanings = {"harbour": ["river", "of"], "ran": ["in", "river"], "river": ["harbour"], "of": ["in", "e.g."]}
    for prediction, references in random_pairs(63, 3000):
        predicted, *wanted = [
            [word for word in text.lower().split() if stem(word, "nltk") == word] for text in (prediction, *references)
        ]
        ours = meteor(predicted, wanted, synonyms=lambda word: meanings.get(word, []))
        assert ours == pytest.approx(meteor_score(wanted, predicted, wordnet=LittleWordNet(meanings)), abs=1e-12)


@given(tokens, st.lists(tokens, min_size=1, max_size=3), tokens)
def test_bounds_and_references(predicted: list[str], references: list[list[str]], another: list[str]) -> None:
    score = meteor(predicted, references)
    assert 0.0 <= score <= 1.0
    assert meteor(predicted, [*references, another]) >= score
    assert meteor(predicted, references[::-1]) == score


@given(tokens.filter(bool))
def test_a_text_against_itself_lacks_only_the_smallest_penalty(text: list[str]) -> None:
    assert meteor(text, [text]) == pytest.approx(1 - 0.5 / len(text) ** 3)


def test_awkward_texts() -> None:
    assert meteor([], [["a"]]) == meteor(["a"], [[]]) == meteor([], [[]]) == 0.0
    assert meteor(["Ä"], [["ä"]]) == 0.5
    with pytest.raises(MetricError, match="at least one reference"):
        meteor(["a"], [])
