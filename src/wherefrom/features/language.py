"""Which language a text is in, as far as it matters here: whether a question or a document is not in English.

The networks read English alone. Made for short questions, keywords, names and code, and to be wrong on the safe side:
what cannot be told apart is taken for English. It goes by scripts, and by words that a language has and English has not
(`languages.txt`); a question with English function words is English, whatever titles it quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path

from wherefrom.text import FUNCTION_WORDS

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ELIDED = re.compile(r"(l|d|j|qu|n|c|s|m|t|dell|nell|all|sull|un|dall|quell|puis|lorsqu|jusqu)'(.+)")
_SAMPLE = 16_000  # characters of a document that are looked at: 2,000 words and more
_FEW = 8  # words of a language below which a document is not said to be in it

# By script; the first that holds most of the letters. Kana before Han: Japanese is written in both.
_SCRIPTS = (
    ("Japanese", re.compile("[\u3040-\u30ff]")),
    ("Korean", re.compile("[\u1100-\u11ff\uac00-\ud7af]")),
    ("Chinese", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("Ukrainian", re.compile("[іїєґІЇЄҐ]")),
    ("Russian", re.compile("[\u0400-\u052f]")),
    ("Greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("Arabic", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("Hebrew", re.compile("[\u0590-\u05ff]")),
    ("Hindi", re.compile("[\u0900-\u097f]")),
    ("Thai", re.compile("[\u0e00-\u0e7f]")),
)
_DENSE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")  # one says as much as three letters
_OTHER_LETTERS = re.compile("[\u0370-\u1fff\u3040-\ud7af]")
_OTHER = "another language"


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one language."""

    own: frozenset[str]  # English does not have them
    shared: frozenset[str]  # English has them too, if only in names
    weak: frozenset[str]  # of the shared ones, those that are no English words: la, de, van


@dataclass(frozen=True, slots=True)
class _Evidence:
    """How a text's words fall to one language and to English."""

    own: int  # different words of the language's own
    times: int  # ... and how often they come
    weak: int
    shared: int
    function: int  # English function words that are not the language's too
    common: int  # other English words, likewise

    @property
    def order(self) -> tuple[float, int, int]:
        """By what languages are compared."""
        leaning = 0.5 * min(self.weak, 2) + 0.25 * min(self.shared - self.weak, 2)
        return self.own + leaning - self.function, self.own, self.times


def foreign_question(text: str) -> str | None:
    """The language of a question that is not in English; None where it is, or may be."""
    words = _words(text)
    if not words:
        return None
    function = sum(word in FUNCTION_WORDS for word in words)
    script = _script(text, function == 0)
    if script is not None:
        return script
    language, seen = _best(Counter(words))
    english = seen.function
    theirs, length = seen.times + seen.shared, len(words)
    if seen.own >= 2 and not english and seen.times + seen.weak > seen.common and theirs * 4 >= length:
        return language
    outweighed = seen.times >= 2 * english + 2 and seen.times + seen.weak > seen.common + english
    if seen.own >= 3 and outweighed and theirs * 3 >= length:
        return language
    if english or seen.common:
        return None
    accented = [word for word in words if not word.isascii()]
    strange = sum(word not in _languages()[language].own for word in accented)
    leaning = 0.5 * (seen.weak + strange) + 0.25 * (seen.shared - seen.weak)
    begins = 0.5 * (words[0] in _languages()[language].own and text.rstrip().endswith("?"))  # who, how, why
    if seen.own >= 1 and seen.own + leaning + begins >= 1.5 and theirs * 4 >= length:
        return language
    small = sum(not match[0].isascii() and match[0][0].islower() for match in islice(_WORD.finditer(text), 1, None))
    return (language if seen.own else _OTHER) if small >= 2 else None  # names have capitals


def foreign_document(text: str) -> str | None:
    """The language of a document that is not in English, by its beginning; None where it is, or may be."""
    sample = text[:_SAMPLE]
    words = _WORD.findall(sample)
    if not words:
        return None
    script = _script(sample, False)
    if script is not None:
        return script
    # All at once, which is quicker than one by one; blanks stand between them as between words.
    counts = Counter(" ".join(words).lower().replace("’", "'").split(" "))
    for word in [word for word in counts if "'" in word]:
        times = counts.pop(word)
        for part in _parts(word):
            counts[part] += times
    if not _may_be_foreign(counts):
        return None
    language, seen = _best(counts)
    enough = seen.own >= _FEW and seen.times > 2 * seen.function
    return language if enough else None


def _may_be_foreign(counts: Counter[str]) -> bool:
    """Whether a document may be in any of the languages: as if all of them were one. Weighing each takes far longer."""
    own = _anyones().own.intersection(counts)
    if len(own) < _FEW:
        return False
    english = FUNCTION_WORDS.intersection(counts) - own - _anyones().shared
    return sum(counts[word] for word in own) > 2 * sum(counts[word] for word in english)


@lru_cache(maxsize=1024)  # several stages want to know
def out_of_reach(text: str) -> str:
    """Why a question cannot be answered whatever the library holds; empty for one in English."""
    language = foreign_question(text)
    return f"out of reach: questions in {language} are not supported (English only)" if language else ""


def _script(text: str, alone: bool) -> str | None:
    """The language whose script most letters are in; `alone`: no English words stand beside it, and fewer will do."""
    if text.isascii() or not _OTHER_LETTERS.search("".join(set(text))):
        return None
    dense = len(_DENSE.findall(text))
    others = len(_OTHER_LETTERS.findall(text)) + 2 * dense
    if others < 2:
        return None
    latin = sum(letter.isalpha() and letter < "\u0250" for letter in text)
    if not (others > latin or (alone and 2 * others > latin)):
        return None
    for language, letters in _SCRIPTS:
        if letters.search(text):
            return language
    return _OTHER


def _best(counts: Counter[str]) -> tuple[str, _Evidence]:
    """The language that most words speak for; the first by name of several."""
    function = FUNCTION_WORDS.intersection(counts)
    common = _common().intersection(counts)
    weighed = {language: _weighed(counts, function, common, known) for language, known in _languages().items()}
    language = max(weighed, key=lambda name: weighed[name].order)
    return language, weighed[language]


def _weighed(counts: Counter[str], function: Set[str], common: Set[str], known: _Words) -> _Evidence:
    """Sets are compared, not words one by one: a document is weighed for a score of languages."""
    own = known.own.intersection(counts)  # in this order: `counts.keys() & known.own` walks through the longer one
    shared = known.shared.intersection(counts)

    def times(words: Set[str]) -> int:
        return sum(counts[word] for word in words)

    return _Evidence(
        own=len(own),
        times=times(own),
        weak=times(shared & known.weak),
        shared=times(shared),
        function=times(function - own - shared),
        common=times(common - own - shared),
    )


def _words(text: str) -> list[str]:
    """Words in lower case; elided articles stand alone, as in `l' eau`."""
    return [part for match in _WORD.finditer(text) for part in _parts(match[0])]


def _parts(word: str) -> tuple[str, ...]:
    """A word in lower case, or the two that it is."""
    word = word.lower().replace("’", "'")
    elided = _ELIDED.fullmatch(word) if "'" in word else None
    return (f"{elided[1]}'", elided[2]) if elided else (word,)


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    lines = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return {name: frozenset(words.split()) for name, words in pairs}


@cache
def _languages() -> Mapping[str, _Words]:
    lists = _lists()
    return {
        name: _Words(own, shared, frozenset(word for word in shared if len(word) > 1 and word not in FUNCTION_WORDS))
        for name, own in lists.items()
        if (shared := lists.get(f"{name}~")) is not None
    }


@cache
def _anyones() -> _Words:
    """The words of all languages together."""
    known = _languages().values()
    return _Words(
        *(frozenset[str]().union(*sets) for sets in zip(*((w.own, w.shared, w.weak) for w in known), strict=True))
    )


@cache
def _common() -> frozenset[str]:
    return _lists()["English"]
