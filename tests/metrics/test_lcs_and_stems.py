"""Bit-parallel subsequences agree with the table, and stems with Porter's own list of examples."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_texts import WORDS, real_sentences
from nltk.stem.porter import PorterStemmer

from wherefrom.metrics.lcs import lcs_length, lcs_places
from wherefrom.metrics.porter import Variant, stem

letters = st.lists(st.sampled_from("abcde"), max_size=90)


def table_length(left: list[str], right: list[str]) -> int:
    row = [0] * (len(right) + 1)
    for token in left:
        above = row
        row = [0]
        for place, other in enumerate(right):
            row.append(above[place] + 1 if token == other else max(above[place + 1], row[place]))
    return row[-1]


@given(letters, letters)
def test_length_is_that_of_the_table(left: list[str], right: list[str]) -> None:
    expected = table_length(left, right)
    assert lcs_length(left, right) == lcs_length(right, left) == expected


@given(letters, letters)
def test_places_spell_a_longest_common_subsequence(reference: list[str], other: list[str]) -> None:
    places = lcs_places(reference, other)
    common = [token for place, token in enumerate(reference) if places >> place & 1]
    assert len(common) == table_length(reference, other)
    rest = iter(other)
    assert all(token in rest for token in common)


def test_length_by_hand() -> None:
    assert lcs_length("police killed the gunman".split(), "the gunman kill police".split()) == 2
    assert lcs_length([], ["word"]) == 0


# From the rules of Porter (1980), step by step.
EXAMPLES = """caresses caress ponies poni caress caress cats cat feed feed agreed agre plastered plaster bled bled
motoring motor sing sing conflated conflat troubled troubl sized size hopping hop tanned tan falling fall hissing hiss
fizzed fizz failing fail filing file happy happi relational relat conditional condit rational ration valenci valenc
digitizer digit radicalli radic differentli differ vileli vile analogousli analog vietnamization vietnam predication
predic operator oper feudalism feudal decisiveness decis hopefulness hope callousness callous formaliti formal
sensitiviti sensit sensibiliti sensibl triplicate triplic formative form formalize formal electriciti electr
electrical electr goodness good revival reviv allowance allow inference infer airliner airlin gyroscopic gyroscop
adjustable adjust defensible defens irritant irrit replacement replac adjustment adjust dependent depend adoption adopt
homologou homolog communism commun activate activ angulariti angular homologous homolog effective effect bowdlerize
bowdler probate probat rate rate cease ceas controll control roll roll""".split()


@pytest.mark.parametrize(("word", "expected"), list(zip(EXAMPLES[::2], EXAMPLES[1::2], strict=True)))
def test_porters_examples(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"), [("dying", "die"), ("skies", "sky"), ("died", "die"), ("enjoy", "enjoy")]
)
def test_the_changes_of_nltk(word: str, expected: str) -> None:
    assert stem(word, "nltk") == expected


@pytest.mark.parametrize("variant", ["porter", "nltk"])
def test_stems_agree_with_nltk_on_real_and_made_up_words(variant: Variant) -> None:
    mode = PorterStemmer.MARTIN_EXTENSIONS if variant == "porter" else PorterStemmer.NLTK_EXTENSIONS
    peer = PorterStemmer(mode)
    random = Random(7)
    suffixes = """ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness
    ousness aliti iviti biliti logi fulli icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement
    ment ent ion ou ism ate iti ous ive ize s es ies ed ing eed ied y ll e""".split()
    words = {word for sentence in real_sentences() for word in re.findall(r"\w+", sentence.lower())}
    words |= {word.lower() for word in WORDS}
    for _ in range(20_000):
        head = "".join(random.choices("aeioubcdlstyyrwxé", k=random.randint(1, 4)))
        words.add(head + random.choice(suffixes) + random.choice(["", random.choice(suffixes)]))
    assert len(words) > 15_000
    assert [word for word in words if stem(word, variant) != peer.stem(word)] == []
