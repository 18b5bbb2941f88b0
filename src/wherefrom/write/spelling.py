"""Wordpieces back to text: copied ones as they stand at their place, others joined by rule.

A network writes pieces of an uncased vocabulary. Where a piece was copied, its characters are those of the passage or
the question, with their capitals, accents and spacing; so a name or a number is written exactly as in the source. The
result is a list of `Word`s, each with the characters it was copied from; those of a question word are the question's.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wherefrom.text import FUNCTION_WORDS, has_unspaced_script, sentences, words
from wherefrom.types import Passage, Word, WordSource

_NO_SPACE_BEFORE = tuple(".,;:!?%)]}…”»°。、，！？")
_NO_SPACE_AFTER = tuple("([{“‘«")
_BEFORE_NUMBERS = tuple("$£€¥#")
_CLITICS = frozenset("s t re ve ll d m".split())
_APOSTROPHES = ("'", "’")
_SPECIAL = re.compile(r"\[[A-Za-z0-9]+\]")
_ENDED = re.compile(r"""[.!?…]["'”’»)\]]*\s*$""")


@dataclass(frozen=True, slots=True)
class Piece:
    """A wordpiece that was written, and the characters it was copied from."""

    text: str  # as the vocabulary has it: `##` before one that continues a word
    source: WordSource = "vocabulary"
    passage: int | None = None  # which of the passages
    start: int | None = None  # characters of the passage or the question
    end: int | None = None
    share: float = 1.0  # of the writer's probability that this source gave

    @property
    def continues(self) -> bool:
        return self.text.startswith("##")


@dataclass(frozen=True, slots=True)
class _SourceText:
    """One of the texts that can be copied from."""

    source: WordSource
    passage_id: str | None
    text: str


@dataclass
class _Run:
    """Pieces that belong together: neighbours in one text, or the pieces of a vocabulary word."""

    place: _SourceText | None  # None: the vocabulary
    continues: bool
    pieces: list[Piece] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the pieces, among all that were written


@dataclass(frozen=True, slots=True)
class _Part:
    """A word of a run, or what a run gives to a word."""

    text: str
    place: _SourceText | None
    start: int
    end: int
    share: float
    space: str | None  # before it; None where a rule must decide
    continues: bool
    numbers: tuple[int, ...]  # of its pieces


def spelled(
    pieces: Sequence[Piece], question: str, passages: Sequence[Passage], sentence: bool = False
) -> tuple[Word, ...]:
    """The words that the pieces spell; a `sentence` begins with a capital letter.

    A copied word is what stands at its place, but for the first letter's case at the start and inside of a sentence.

    A word whose pieces come from several places is taken from the one with the largest share that spells the whole
    word; if none does, it is the vocabulary's.
    """
    return tuple(word for word, _ in spelled_with(pieces, question, passages, sentence))


def spelled_with(
    pieces: Sequence[Piece], question: str, passages: Sequence[Passage], sentence: bool = False
) -> list[tuple[Word, tuple[int, ...]]]:
    """The same words, each with the numbers of the pieces that spell it."""
    spelling = _Spelling(question, passages)
    parts = list(_grouped(_runs(pieces, question, passages)))
    groups = [_resolved(group, spelling) for group in parts]
    spelled_words: list[Word] = []
    written = ""
    tight = True  # whether the next word comes without a space
    for place, (word, known) in enumerate(groups):
        following = groups[place + 1][0].text if place + 1 < len(groups) else ""
        if known is None:
            before, after = _gap(written, word.text, following, spelling.apart(word))
            space = "" if tight else before
        else:  # copied with the word before it
            space = known
            after = word.text.endswith(_NO_SPACE_AFTER) or _opens(written, word.text, following)
        text = word.text
        if sentence and not spelled_words:
            text = _capital(text)
        elif known is None and written and not _ENDED.search(written):
            text = spelling.inside(text, word)
        spelled_words.append(replace(word, text=text, space=space))
        written += space + text
        tight = after
    numbers = [tuple(dict.fromkeys(number for part in group for number in part.numbers)) for group in parts]
    return list(zip(spelled_words, numbers, strict=True))


def _runs(pieces: Sequence[Piece], question: str, passages: Sequence[Passage]) -> Iterator[_Run]:
    """Pieces that follow each other in one text are copied together, with what stands between them."""
    places = [_SourceText("passage", passage.id, passage.text) for passage in passages]
    question_text = _SourceText("question", None, question)
    run: _Run | None = None
    for number, piece in enumerate(pieces):
        place = _place(piece, question_text, places)
        if place is None and _SPECIAL.fullmatch(piece.text):
            continue  # [UNK] and its like have no letters
        if run is not None and run.place is place and _follows(run, piece):
            run.pieces.append(piece)
            run.numbers.append(number)
            continue
        if run is not None:
            yield run
        run = _Run(place, piece.continues, [piece], [number])
    if run is not None:
        yield run


def _place(piece: Piece, question_text: _SourceText, places: Sequence[_SourceText]) -> _SourceText | None:
    """The text that a piece was copied from, if it says so and has characters there."""
    place: _SourceText | None = None
    if piece.source == "question":
        place = question_text
    elif piece.source == "passage" and piece.passage is not None and 0 <= piece.passage < len(places):
        place = places[piece.passage]
    if place is None or piece.start is None or piece.end is None:
        return None
    return place if 0 <= piece.start < piece.end <= len(place.text) else None


def _follows(run: _Run, piece: Piece) -> bool:
    """Whether a piece is the next of its text, or of its word if it is the vocabulary's."""
    if run.place is None:
        return piece.continues
    last = run.pieces[-1]
    assert last.start is not None
    assert last.end is not None
    assert piece.start is not None
    if piece.continues and last.start <= piece.start < last.end:
        return True  # a tokenizer may take a character apart, as it does with Hangul
    return last.end <= piece.start and all(map(_unseen, run.place.text[last.end : piece.start]))


def _unseen(character: str) -> bool:
    """Whether a tokenizer passes over a character: white space, control characters, loose accents."""
    return (
        character.isspace()
        or character == "\ufffd"
        or unicodedata.category(character) in ("Mn", "Cc", "Cf", "Co", "Cn")
    )


def _grouped(runs: Iterator[_Run]) -> Iterator[list[_Part]]:
    """The parts of every word; most have one."""
    group: list[_Part] = []
    for run in runs:
        for part in _parts(run):
            if not part.continues and group:
                yield group
                group = []
            group.append(part)
    if group:
        yield group


def _parts(run: _Run) -> Iterator[_Part]:
    if run.place is None:
        text = "".join(piece.text.removeprefix("##") for piece in run.pieces)
        share = sum(piece.share for piece in run.pieces) / len(run.pieces)
        yield _Part(text, None, 0, 0, share, None, run.continues, tuple(run.numbers))
        return
    start, end = run.pieces[0].start, run.pieces[-1].end
    assert start is not None
    assert end is not None
    text = run.place.text
    while end < len(text) and unicodedata.category(text[end]) == "Mn":
        end += 1  # an accent that the tokenizer took off belongs to its letter
    before = None
    for a, b in words(text[start:end]):
        first, last = start + a, start + b
        space = None if before is None else text[before:first]
        inside = _inside(run, first, last)
        share = sum(run.pieces[place].share for place in inside) / len(inside)
        numbers = tuple(run.numbers[place] for place in inside)
        continues = run.continues and before is None
        yield _Part(text[first:last], run.place, first, last, share, space, continues, numbers)
        before = last


def _inside(run: _Run, start: int, end: int) -> list[int]:
    """The pieces of a run that have characters of this word; the first where none has."""
    pieces = enumerate(run.pieces)
    return [place for place, piece in pieces if (piece.start or 0) < end and (piece.end or 0) > start] or [0]


def _resolved(group: Sequence[_Part], spelling: _Spelling) -> tuple[Word, str | None]:
    """One word of its parts, and the space before it where that is known."""
    space = group[0].space
    text = "".join(part.text for part in group)
    if len(group) == 1:
        (part,) = group
        if part.place is None:
            return Word(spelling.of(text), "vocabulary", share=part.share), space
        return Word(text, part.place.source, part.place.passage_id, part.start, part.end, part.share), space
    shares: dict[_SourceText | None, float] = {None: 0.0}
    for part in group:
        shares[part.place] = shares.get(part.place, 0.0) + part.share / len(group)
    for part in sorted(group, key=lambda part: -shares[part.place]):
        if part.place is None:
            break
        around = _word_at(part.place.text, part.start)
        if around is not None and _plain(part.place.text[around[0] : around[1]]) == _plain(text):
            word = part.place.text[around[0] : around[1]]
            return Word(word, part.place.source, part.place.passage_id, *around, shares[part.place]), space
    return Word(spelling.of(text.lower()), "vocabulary", share=shares[None]), space


def _word_at(text: str, place: int) -> tuple[int, int] | None:
    """The word around a character; no word is longer than 64 characters to either side."""
    begin = max(0, place - 64)
    spans = ((begin + a, begin + b) for a, b in words(text[begin : place + 64]))
    return next(((a, b) for a, b in spans if a <= place < b), None)


class _Spelling:
    """Which words the sources write with capitals; they are read only when a word needs it."""

    def __init__(self, question: str, passages: Sequence[Passage]) -> None:
        self._question = question
        self._passages = {passage.id: passage.text for passage in passages}
        self._names: dict[str, str] | None = None
        self._common: set[str] = set()

    def of(self, word: str) -> str:
        """A vocabulary word as the sources write it, if they always write it with capitals: a name."""
        if not any(character.isalpha() for character in word):
            return word
        return self._read().get(word, word)

    def apart(self, word: Word) -> tuple[bool, bool]:
        """Whether white space stands before and behind a word where it was copied."""
        if word.start is None or word.end is None:
            return False, False
        source = self._question if word.passage_id is None else self._passages[word.passage_id]
        return source[word.start - 1 : word.start].isspace(), source[word.end : word.end + 1].isspace()

    def inside(self, text: str, word: Word) -> str:
        """A word that began a sentence where it was copied, as it stands inside one; a name keeps its capital."""
        if word.start is None or not text[:1].isupper() or text[1:] != text[1:].lower() or text == "I":
            return text
        source = self._question if word.passage_id is None else self._passages[word.passage_id]
        if all(word.start != start for start, _ in sentences(source)):
            return text
        self._read()
        small = text.lower()
        known = small in FUNCTION_WORDS or _plain(text) in self._common
        return small if known and len(small) == len(text) else text

    def _read(self) -> Mapping[str, str]:
        """Names by their plain letters: never in small letters, and seen elsewhere than at the start of a sentence."""
        if self._names is not None:
            return self._names
        seen: dict[str, Counter[str]] = {}
        for text in (self._question, *self._passages.values()):
            starts = {start for start, _ in sentences(text)}
            for start, end in words(text):
                word = text[start:end]
                if word == word.lower():
                    self._common.add(_plain(word))
                elif start not in starts:
                    seen.setdefault(_plain(word), Counter())[word] += 1
        self._names = {
            plain: counts.most_common(1)[0][0] for plain, counts in seen.items() if plain not in self._common
        }
        return self._names


def _gap(written: str, word: str, following: str, apart: tuple[bool, bool] = (False, False)) -> tuple[str, bool]:
    """The space before a word, and whether the next word comes without one; `apart` is how a copied one stood."""
    last = written[-1:]
    if has_unspaced_script(last) and has_unspaced_script(word[:1]):
        return "", False
    if word in _APOSTROPHES:
        return _apostrophe(written, word, following)
    if word == '"':
        opened = written.count('"') % 2 == 1
        return ("", False) if opened else (" ", True)
    if word in ("-", "/", "—") and last.isalnum() and following[:1].isalnum():
        return " " if apart[0] else "", not apart[1]  # `and/or`, but `is /etc`
    if word == "–" and last.isdigit() and following[:1].isdigit():
        return "", True
    if word in (".", ",", ":"):
        return "", _inside_number(written, word, following)
    if word.startswith(_NO_SPACE_BEFORE):
        return "", False
    if word.startswith(_NO_SPACE_AFTER):
        return " ", True
    if word in _BEFORE_NUMBERS:
        return " ", following[:1].isdigit()
    if len(word) == 1 and word.isalpha() and re.search(r"\b\w\.$", written) and following == ".":
        return "", False  # the letters of U.S.
    return " ", False


def _apostrophe(written: str, mark: str, following: str) -> tuple[str, bool]:
    after_word = written[-1:].isalnum()
    if after_word and following.lower() in _CLITICS:
        return "", True  # it's
    if mark == "’":
        return "", False
    opened = re.search(r"(?:^|\s)'(?!.*')", written) is not None
    if opened or (after_word and written[-1:].lower() == "s") or not following:
        return "", False  # closes a quotation, or the masters' house
    return " ", True


def _inside_number(written: str, mark: str, following: str) -> bool:
    """Whether a mark between two numbers belongs to them: 3.5, 1,000 and 10:30, but not `in 1990, 300 people`."""
    match = re.search(r"(?<!\d)\d+$", written)
    if match is None or not following[:1].isdigit():
        return False
    ahead = re.match(r"\d+", following)
    digits = len(ahead[0]) if ahead else 0
    if mark == ",":
        return len(match[0]) <= 3 and digits == 3
    return mark == "." or (len(match[0]) <= 2 and digits == 2)


def _opens(written: str, word: str, following: str) -> bool:
    """Whether a copied mark leaves no space behind it, where the next word was not copied with it."""
    if word == '"':
        return written.count('"') % 2 == 0
    return word in ("-", "/", *_APOSTROPHES) and written[-1:].isalnum() and following[:1].isalnum()


def _capital(word: str) -> str:
    """The word as it begins a sentence; `iPhone` stays as it is."""
    upper = word[:1].upper()
    if word != word.lower() or upper.lower() != word[:1]:
        return word
    return upper + word[1:]


def _plain(text: str) -> str:
    """Small letters without accents, as an uncased vocabulary has them."""
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(character for character in decomposed if unicodedata.category(character) not in ("Mn", "Cf", "Cc"))
