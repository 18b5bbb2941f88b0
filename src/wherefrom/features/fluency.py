"""How well formed a sentence is that tells a short answer to a question, by a small network run with numpy; English.

It sees no words but the small ones that hold a sentence together: of all others the part of speech and the ending, so
that it judges how a sentence is built and not what it is about. Beside each word it sees where it comes from: whether
the question has it, and has it behind the same word; whether it belongs to the answer, which is a quotation and may
look like anything. The question is read in the same way, to see what became of its words.
"""

from __future__ import annotations

import hashlib
import itertools
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy
from numpy.typing import NDArray

from wherefrom.errors import WherefromError
from wherefrom.features.chance import probability
from wherefrom.features.tags import POS, ModelFiles, Tagged, Tagger
from wherefrom.features.tokens import tokens
from wherefrom.text import FUNCTION_WORDS

FILE = "fluency.npz"
ROWS = 2048  # of the table that words are looked up in
PARTS = 3  # rows that are added up for a word
FLAGS = 9  # numbers beside a word
_MOST = 80  # tokens of a text that are looked at
_ENDING = 3  # letters
_ARTICLES = frozenset(("a", "an", "the"))
_PLAIN_KINDS = frozenset(("ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ"))  # whose words are told apart

_Floats = NDArray[numpy.float32]


@dataclass(frozen=True, slots=True)
class ToldAnswer:
    """A sentence that tells a short answer to a question."""

    question: str
    answer: str
    sentence: str


@dataclass(frozen=True, slots=True)
class SeenText:
    """What the network sees of one text."""

    rows: NDArray[numpy.int16]  # (tokens, PARTS) of the table
    flags: _Floats  # (tokens, FLAGS)


class FluencyError(WherefromError):
    """The weights cannot be read; the message names the file and the remedy."""

    exit_code = 3


class Fluency:
    """The chance that a person would have written a sentence; may be shared between threads."""

    def __init__(self, weights: ModelFiles, tagger: Tagger) -> None:
        self._weights = weights
        self._tagger = tagger

    def chances(self, statements: Sequence[ToldAnswer]) -> list[float]:
        """One chance a sentence, from 0 to 1."""
        return [probability(self._logit(question, sentence)) for question, sentence in seen(statements, self._tagger)]

    def _logit(self, question: SeenText, sentence: SeenText) -> float:
        pooled = numpy.concatenate([self._pooled(sentence, 0), self._pooled(question, 1)])
        hidden = numpy.maximum(pooled @ self._arrays["hidden.weight"].T + self._arrays["hidden.bias"], 0.0)
        return float((hidden @ self._arrays["out.weight"].T + self._arrays["out.bias"])[0])

    def _pooled(self, text: SeenText, kind: int) -> _Floats:
        """Largest and mean state of a text's tokens: (2 · width,)"""
        arrays = self._arrays
        states: _Floats = arrays["table.weight"][text.rows].sum(axis=1) + text.flags @ arrays["flags.weight"].T
        states = states + arrays["kind.weight"][kind]
        for layer in range(self._layers):
            weight = arrays[f"mix.{layer}.weight"]  # (width, width, 3)
            around = numpy.pad(states, ((1, 1), (0, 0)))
            mixed = sum(around[shift : shift + len(states)] @ weight[:, :, shift].T for shift in range(3))
            states = states + numpy.maximum(mixed + arrays[f"mix.{layer}.bias"], 0.0)
            states = _normed(states, arrays[f"norm.{layer}.weight"], arrays[f"norm.{layer}.bias"])
        return numpy.concatenate([states.max(axis=0), states.mean(axis=0)])

    @cached_property
    def _layers(self) -> int:
        return sum(name.startswith("mix") and name.endswith("weight") for name in self._arrays)

    @cached_property
    def _arrays(self) -> dict[str, _Floats]:
        file = self._weights.file(FILE)
        try:
            with file.open("rb") as opened, numpy.load(opened, allow_pickle=False) as arrays:
                return {name: array.astype(numpy.float32) for name, array in arrays.items()}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise FluencyError(f"{file} cannot be read ({error}); install wherefrom again") from error


def _normed(states: _Floats, weight: _Floats, bias: _Floats) -> _Floats:
    centred = states - states.mean(axis=1, keepdims=True)
    spread = (centred * centred).mean(axis=1, keepdims=True)
    normed: _Floats = centred / numpy.sqrt(spread + 1e-5) * weight + bias
    return normed


def seen(statements: Sequence[ToldAnswer], tagger: Tagger) -> list[tuple[SeenText, SeenText]]:
    """For each what is seen of the question and of the sentence."""
    tagged = tagger.tag([text for each in statements for text in (each.question, each.sentence)])
    pairs = []
    for place, each in enumerate(statements):
        question, sentence = tagged[2 * place], tagged[2 * place + 1]
        question_words, sentence_words = _small(each.question, question), _small(each.sentence, sentence)
        held = _place(sentence_words, _answer_words(each.answer))
        pairs.append(
            (
                _seen(each.question, question, question_words, sentence_words, (0, 0)),
                _seen(each.sentence, sentence, sentence_words, question_words, held),
            )
        )
    return pairs


def _small(text: str, tagged: Tagged) -> list[str]:
    return [text[start:end].lower() for start, end in tagged.spans[:_MOST]]


def _seen(text: str, tagged: Tagged, small: Sequence[str], other: Sequence[str], held: tuple[int, int]) -> SeenText:
    """A text beside another: the sentence beside its question, or the other way round."""
    count = len(small)
    rows = numpy.zeros((max(count, 1), PARTS), numpy.int16)
    flags = numpy.zeros((max(count, 1), FLAGS), numpy.float32)
    have, pairs = set(other), set(itertools.pairwise(other))
    begins = {word[:4] for word in other if len(word) > 3}
    before: set[str] = set()
    for place, word in enumerate(small):
        tag = POS[tagged.pos[place]]
        rows[place] = _word_rows(word, tag)
        here = held[0] <= place < held[1]
        start = tagged.spans[place][0]
        flags[place] = (
            word in have,
            word not in have and word[:4] in begins,
            place > 0 and (small[place - 1], word) in pairs,
            place + 1 < count and (word, small[place + 1]) in pairs,
            here,
            here and place == held[0],
            here and place == held[1] - 1,
            word in before and word.isalnum() and word not in _ARTICLES,
            text[start : start + 1].isupper(),
        )
        before.add(word)
    return SeenText(rows, flags)


@lru_cache(maxsize=1 << 16)
def _word_rows(word: str, tag: str) -> tuple[int, int, int]:
    """The part of speech; the word itself where it is a small one or a mark; the ending of all others."""
    small = word in FUNCTION_WORDS or tag in _PLAIN_KINDS or not word[:1].isalnum()
    return _row(f"tag {tag}"), _row(f"word {word}" if small else f"other {tag}"), _row(f"ends {tag} {word[-_ENDING:]}")


def _row(part: str) -> int:
    digest = hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") % ROWS


def _answer_words(answer: str) -> list[str]:
    return [answer[start:end].lower() for start, end in tokens(answer)]


def _place(words: Sequence[str], wanted: list[str]) -> tuple[int, int]:
    """Where the wanted words stand in a row, without articles before and marks behind; (0, 0) where they do not."""
    while wanted and wanted[0] in _ARTICLES:
        wanted = wanted[1:]
    while len(wanted) > 1 and not wanted[-1].isalnum():
        wanted = wanted[:-1]
    for place in range(len(words) - len(wanted) + 1) if wanted else ():
        if list(words[place : place + len(wanted)]) == wanted:
            return place, place + len(wanted)
    return 0, 0
