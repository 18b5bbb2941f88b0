"""Each protocol cuts texts into its own tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_texts import random_pairs, real_sentences
from nltk.stem.porter import PorterStemmer
from rouge_score.tokenize import tokenize

from wherefrom.metrics.porter import Variant
from wherefrom.metrics.tokens import marco_tokens, narrative_tokens, plain_tokens, rouge_tokens


def some_texts() -> list[str]:
    return [text for prediction, golds in random_pairs(11, 2000) for text in (prediction, *golds)] + list(
        real_sentences()
    )


@pytest.mark.parametrize("stems", [None, "nltk"])
def test_rouge_tokens_are_those_of_rouge_score(stems: Variant | None) -> None:
    stemmer = PorterStemmer() if stems else None
    for text in some_texts():
        assert list(rouge_tokens(text, stems)) == tokenize(text, stemmer)


def test_rouge_stems_only_words_of_more_than_three_letters() -> None:
    assert rouge_tokens("Was founded; 12 cars", "porter") == ("was", "found", "12", "car")
    assert rouge_tokens("gas bus ies") == ("gas", "bus", "ies")


def test_narrative_tokens_have_no_punctuation() -> None:
    assert narrative_tokens("Don't go, Mr. O'Neil!") == ("dont", "go", "mr", "oneil")
    assert plain_tokens("Don't go , Mr.") == ("don't", "go", ",", "mr.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. economy, e.g. in 2008.", "the u.s. economy , e.g. in 2008 ."),
        ("It's 5km (3.1 miles) away!", "it 's 5 km ( 3.1 miles ) away !"),
        ("They don't; he can't, I'll.", "they do n't ; he ca n't , i 'll ."),
        ("A well-known 19-year-old", "a well - known 19 - year - old"),
        ("$1,250.50 or 12%", "$ 1,250.50 or 12 %"),
        ("See https://example.org/a-b.", "see https://example.org/a-b ."),
        ("Dr. Smith, Ph.D., at 5pm", "dr. smith , ph.d. , at 5 pm"),
        ("1990-2000 and/or more...", "1990 - 2000 and/or more ..."),
        ("", ""),
        (" \n\t ", ""),
        ("北京 是 首都", "北京 是 首都"),
    ],
)
def test_marco_tokens_by_hand(text: str, expected: str) -> None:
    assert " ".join(marco_tokens(text)) == expected


def test_marco_tokens_are_nearly_always_those_of_spacy() -> None:
    english = pytest.importorskip("spacy.lang.en", reason="spaCy is no dependency, not even for development")
    tokenizer = english.English().tokenizer
    words = [word for sentence in real_sentences() for word in sentence.split()]
    same = sum(marco_tokens(word) == tuple(str(token).lower() for token in tokenizer(word)) for word in words)
    assert same / len(words) > 0.998


@given(st.text(max_size=60))
def test_tokens_hold_no_blanks_and_marco_loses_no_character(text: str) -> None:
    for tokens in (plain_tokens(text), rouge_tokens(text), narrative_tokens(text), marco_tokens(text)):
        assert all(token and not any(letter.isspace() for letter in token) for token in tokens)
    assert "".join(marco_tokens(text)) == "".join("".join(text.split()).lower().split())
