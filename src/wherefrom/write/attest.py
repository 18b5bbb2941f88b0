"""Whether an answer keeps to its sources: its content words, its names and numbers, the short answer it holds."""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.text import FUNCTION_WORDS, NUMBER_WORDS, whole_words
from wherefrom.types import Answer, Word, joined

_ARTICLES = frozenset(("a", "an", "the"))
_NOT = frozenset("no not never none neither nor nobody nothing nowhere cannot without".split())
_SCRAP = 3


def attested(answer: Answer) -> float:
    """The share of the answer's content words that come from passages; 1 where there are none to attest."""
    content = [word for word in answer.words if _content(word.text)]
    return sum(word.source == "passage" for word in content) / len(content) if content else 1.0


def _content(word: str) -> bool:
    return any(map(str.isalnum, word)) and word.casefold() not in FUNCTION_WORDS


def unattested(words: Sequence[Word], sources: Sequence[str]) -> list[str]:
    """The names and numbers of an answer that none of the sources has.

    A number has a digit or is written out; a name begins with a capital letter. The first word of a sentence has one
    anyway: it must stand in a source in any case, or be of the vocabulary, which has no names.
    """
    text = joined(tuple(words))
    known = {source[start:end] for source in sources for start, end in whole_words(source)}
    plain = {word.casefold() for word in known}
    opening = len(words[0].space + words[0].text) if words and words[0].source == "vocabulary" else 0
    strange = []
    for place, (start, end) in enumerate(whole_words(text)):
        word = text[start:end]
        counts = any(map(str.isdigit, word)) or word.casefold() in NUMBER_WORDS
        named = word[:1].isupper() and not (place == 0 and (start < opening or word.casefold() in plain))
        if (counts and word.casefold() not in plain) or (named and word not in known):
            strange.append(word)
    return strange


def echoes(words: Sequence[Word], sources: Sequence[str]) -> bool:
    """Whether words come twice in a row that do so in no source: `Garden Garden`, but not `Duran Duran`."""
    plain = _plain(joined(tuple(words)))
    twice = [
        plain[at : at + 2 * count]
        for count in range(1, len(plain) // 2 + 1)
        for at in range(len(plain) - 2 * count + 1)
        if plain[at : at + count] == plain[at + count : at + 2 * count]
    ]
    return any(not any(_in_a_row(_plain(source), phrase) for source in sources) for phrase in twice)


def holds_answer(text: str, short: str) -> bool:
    """Whether a text has the words of a short answer in a row; case, signs and articles do not matter."""
    wanted = [word for word in _plain(short) if word not in _ARTICLES]
    held = [word for word in _plain(text) if word not in _ARTICLES]
    return _in_a_row(held, wanted) if wanted else short.strip().casefold() in text.casefold()


def adds_nothing(text: str, question: str) -> bool:
    """Whether a text only says the question again; what leaves some of it out may have chosen: `red or blue?`."""
    return _contents(text) == _contents(question)


def shares_a_word(text: str, short: str) -> bool:
    """Whether a text has a content word of a short answer, or any word of one that has none."""
    wanted = _contents(short)
    return bool(_contents(text) & wanted) if wanted else bool(set(_plain(text)) & set(_plain(short)))


def loses_most(text: str, short: str) -> bool:
    """Whether a text is a scrap of a short answer, a third of its content words at most, or leaves out its "not"."""
    own, wanted = _contents(text), _contents(short)
    scrap = own < wanted and _SCRAP * len(own) <= len(wanted)
    return scrap or (_denies(short) and not _denies(text))


def _denies(text: str) -> bool:
    return any(word in _NOT or word.endswith(("n't", "n’t")) for word in _plain(text))


def _contents(text: str) -> set[str]:
    return {word for word in _plain(text) if word not in FUNCTION_WORDS}


def _plain(text: str) -> list[str]:
    return [text[start:end].casefold() for start, end in whole_words(text)]


def _in_a_row(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))
