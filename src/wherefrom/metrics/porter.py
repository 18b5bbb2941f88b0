"""English word stems by Porter's rules.

M. F. Porter (1980), "An algorithm for suffix stripping", Program 14(3). Two variants are needed for numbers
that can be compared with others':

- "porter": the paper with the three departures of the author's own programs (-bli, -logi, words of one or two
  letters stay). ROUGE-1.5.5 stems so.
- "nltk": the further changes of NLTK's default stemmer (irregular forms, -ies/-ied of four letters, -y after a
  consonant, ...), which the rouge-score package and NLTK's METEOR use.

A letter here is any character but a, e, i, o, u (and y after a consonant), as in both programs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

Variant = Literal["porter", "nltk"]

_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

_STEP2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP2_NLTK = {**_STEP2, "fulli": "ful"}
_STEP3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP4 = dict.fromkeys("""al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize""".split(), "")


@lru_cache(maxsize=1 << 17)
def stem(word: str, variant: Variant = "porter") -> str:
    """The stem of a word in small letters; words of one or two letters are their own."""
    if variant == "nltk" and word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _plural(word, variant)
    word = _past(word, variant)
    word = _final_y(word, variant)
    word = _double_suffix(word, variant)
    word = _replaced(word, _STEP3, more_than=0)
    word = _last_suffix(word)
    return _tidied(word, variant)


def _shape(word: str) -> str:
    """Each letter as c or v: y is a vowel after a consonant, and a consonant elsewhere."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's m: how often a consonant follows a vowel, in [C](VC)^m[V]."""
    return _shape(word).count("vc")


def _ends_short(word: str, variant: Variant) -> bool:
    """Porter's *o: consonant, vowel, consonant, the last not w, x or y."""
    shape = _shape(word)
    if variant == "nltk" and shape == "vc":
        return True
    return shape.endswith("cvc") and word[-1] not in "wxy"


def _ends_double_consonant(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _shape(word).endswith("c")


def _plural(word: str, variant: Variant) -> str:
    """Step 1a."""
    if variant == "nltk" and len(word) == 4 and word.endswith("ies"):
        return word[:-1]
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str, variant: Variant) -> str:
    """Step 1b."""
    if variant == "nltk" and word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and "v" in _shape(word[: -len(suffix)]):
            return _restored(word[: -len(suffix)], variant)
    return word


def _restored(word: str, variant: Variant) -> str:
    """What -ed and -ing had taken from the word before them: hop(p)ing, fil(e)ing."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double_consonant(word):
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word, variant) else word


def _final_y(word: str, variant: Variant) -> str:
    """Step 1c."""
    if not word.endswith("y"):
        return word
    shape = _shape(word[:-1])
    changes = len(shape) > 1 and shape.endswith("c") if variant == "nltk" else "v" in shape
    return word[:-1] + "i" if changes else word


def _double_suffix(word: str, variant: Variant) -> str:
    """Step 2."""
    if variant == "porter":
        return _replaced(word, _STEP2, more_than=0)
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2], variant)
    if word.endswith("logi"):  # the l counts as the stem's, so that geology loses its y
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _STEP2_NLTK, more_than=0)


def _replaced(word: str, rules: dict[str, str], more_than: int) -> str:
    """The longest suffix decides alone: if what stands before it is too short, the word stays."""
    for size in range(min(7, len(word)), 1, -1):
        replacement = rules.get(word[-size:])
        if replacement is not None:
            return word[:-size] + replacement if _measure(word[:-size]) > more_than else word
    return word


def _last_suffix(word: str) -> str:
    """Step 4."""
    if word.endswith("ion") and not word[:-3].endswith(("s", "t")):
        return word
    return _replaced(word, _STEP4, more_than=1)


def _tidied(word: str, variant: Variant) -> str:
    """Step 5."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1], variant)):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
