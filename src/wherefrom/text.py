"""Text cut into sentences and words, by character offsets."""

from __future__ import annotations

import re
import string
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

Span = tuple[int, int]

# Where a sentence may end: closing punctuation before white space, the full stops of Chinese and
# Japanese (which need no space), a blank line, or a line that begins an item of a list. A run of full stops is
# looked at from its first one alone: from each of them, a page of dots would take minutes.
_BREAK = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s) | [。！？｡]+["”’」』）]* | (?<![।॥։۔؟])[।॥։۔؟]++(?=\s)
    | \n(?=[^\S\n]*(?:\n|[-*•–]\s|\d{1,3}[.)]\s))""",
    re.VERBOSE,
)
_SPACES = re.compile(r"\s*")

# A full stop after one of these belongs to the word, not to the sentence ...
_ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st mt ft sr jr vs rev gen col lt sgt capt cpl gov sen hon dept univ bros approx
    e.g i.e eg ie cf ca al viz incl excl z.b d.h""".split()
)
# ... and after one of these, if a number follows.
_BEFORE_NUMBERS = frozenset(
    """no nos nr fig figs vol vols p pp ed art sec ch jan feb mar apr jun jul aug sep sept oct nov dec""".split()
)

# Scripts written without spaces count by the character: Han, Kana, Thai, Lao, Khmer, Myanmar.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNSPACED_ANYWHERE = re.compile(f"[{_UNSPACED}]")
_BETWEEN = frozenset(  # words, and no sign that stands for one
    ".,;:!?\u2026\"'`\u201c\u201d\u2018\u2019\u201e\u00ab\u00bb()[]{}-\u2013\u2014/\\|\u3001\u3002\uff0c\uff01\uff1f\u300c\u300d"
)
# Accents and vowel signs that follow a letter; Indic scripts are made of them.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u200c\u200d"
_LETTERS = f"(?:[^\\W{_UNSPACED}]|[{_MARKS}])++"
_WORD = re.compile(rf"[{_UNSPACED}]|{_LETTERS}(?:['’.,·-]{_LETTERS})*|[^\w\s]")
# What must be copied whole: `3.5`, `1,000`, `U.S` and `O'Brien`, but `Newton` of `Newton's`.
_SOLID = f"[^\\W_{_UNSPACED}]"
_WHOLE = re.compile(
    rf"{_SOLID}+(?:(?<=\d),(?=\d){_SOLID}+|\.{_SOLID}+|['’](?!(?:s|S)(?!{_SOLID})){_SOLID}+)*|[{_UNSPACED}]"
)

# Words that say how a sentence is built, not what it is about; English.
FUNCTION_WORDS = frozenset(
    """a about after all also am an and any are aren't as at be because been before being between both but by can
    can't cannot could couldn't did didn't do does doesn't doing don't during each either else ever every few for
    from get gets give given go goes got had hadn't has hasn't have haven't having he her hers him his how i if in
    into is isn't it its it's itself just kind let many may me might mine more most much must my name neither no nor
    not of off on one ones only or other our out over own please said same say says shall she should shouldn't since
    so some such tell than that that's the their theirs them then there these they this those though through thus to
    too under until up upon us very was wasn't we were weren't what what's when where which while who who's whom whose
    why will with within without won't would wouldn't yes yet you your yours""".split()
)

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")

# Numbers in words; English. `one`, `first` and `second` are mostly used without counting anything.
NUMBER_WORDS = frozenset(
    """zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion
    hundreds thousands millions billions dozen dozens half third thirds quarter quarters fourth fifth sixth seventh
    eighth ninth tenth twice thrice double triple""".split()
)

# Nothing that a text file can hold, yet what broken converters leave behind.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    """The text as it is kept: composed Unicode (NFC), plain line ends, no control characters.

    Offsets always refer to the cleaned text, so this runs once, before anything is cut.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _UNPRINTABLE.sub(lambda match: "\n" if match[0] in "\x0b\x0c" else "", text)
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", _LONG_RUN.sub(_joined_run, text))
    return _LONG_RUN.sub(_joined_run, composed)  # a few signs are composed as two or three


def clean_at(text: str, starts: Sequence[int]) -> tuple[str, list[int]]:
    """The text as `clean` makes it, and where these characters of it, in rising order, are then.

    What is cleaned together with the character before it (an accent, the line feed of a line end) belongs to the piece
    before; that of the place then begins with the next character.
    """
    pieces: list[str] = []
    moved: list[int] = []
    before = length = 0
    for start in starts:
        border = _border(text, max(start, before))
        pieces.append(clean(text[before:border]))
        length += len(pieces[-1])
        moved.append(length)
        before = border
    pieces.append(clean(text[before:]))
    return "".join(pieces), moved


def _border(text: str, start: int) -> int:
    """The first character from `start` on that is cleaned alone, whatever stands before it."""
    while 0 < start < len(text) and (text[start - 1 : start + 1] == "\r\n" or _joins(text[start])):
        start += 1
    return start


def _joins(character: str) -> bool:
    """Whether it, or what follows once it is gone, may be composed with what stands before: marks, Korean vowels."""
    if _UNPRINTABLE.match(character):
        return character not in "\x0b\x0c"
    return not character.isascii() and (unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff")


# Signs that are no letters: a letter may bear many marks, but to bring them into their order takes the square of their
# number. As Unicode's stream-safe format has it (UAX 15), an invisible joiner parts a run of more than thirty.
_LONG_RUN = re.compile(r"[^\w\s\x00-\x7f]{31,}")
_MOST_MARKS = 30
_JOINER = "\u034f"


def _joined_run(run: re.Match[str]) -> str:
    pieces: list[str] = []
    marks = 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MOST_MARKS:
            pieces.append(_JOINER)
            marks = 1
        pieces.append(character)
    return "".join(pieces)


def says_something(text: str) -> bool:
    """Whether there is more than blanks and the marks between words; a sign such as % or & says something."""
    return any(not character.isspace() and character not in _BETWEEN for character in text)


@lru_cache(maxsize=1 << 12)
def normalized(text: str) -> str:
    """The form in which answers are compared: small letters, no punctuation, no a, an, the, single blanks (SQuAD).

    The order matters: punctuation goes first, so "a.m." becomes the word "am", and "the-end" becomes "theend".
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def sentences(text: str) -> list[Span]:
    """The sentences of a text as (start, end), without the white space around them.

    Rules, not a model: a border needs closing punctuation and white space, and is refused after an
    abbreviation, an initial, or before a small letter. Everything but white space is in a sentence.
    """
    return list(each_sentence(text))


def each_sentence(text: str) -> Iterator[Span]:
    """The sentences one by one: a file of millions of them is held once."""
    start = _skip_spaces(text, 0)
    for match in _BREAK.finditer(text, start):
        if match.start() < start or _belongs_to_word(text, start, match.start(), match.end()):
            continue
        end = match.end() if text[match.start()] != "\n" else _last_visible(text, start, match.start())
        if end > start:
            yield start, end
        start = _skip_spaces(text, match.end())
    end = _last_visible(text, start, len(text))
    if end > start:
        yield start, end


def sentences_around(text: str, span: Span) -> Span:
    """The sentences that a span touches, as one span that holds it; the span itself where it touches none."""
    start, end = span
    touched = [(first, last) for first, last in sentences(text) if first < end and last > start]
    return min([start, *(first for first, _ in touched)]), max([end, *(last for _, last in touched)])


_MARKER = re.compile(r"[-*•–—]\s+(?=\S)")  # of an item of a list


def without_marker(text: str, span: Span) -> Span:
    """The span without the dash or dot of an item of a list, if it begins with one."""
    marker = _MARKER.match(text, *span)
    return (marker.end(), span[1]) if marker else span


_LONGEST_HEADING = 80  # characters
_HEADING = re.compile(rf"(?:\A|\n\n)([^\s|][^\n|]{{1,{_LONGEST_HEADING - 1}}})(?=\n\n)")
_NO_HEADING = re.compile(r"(?:[-*•–—>]|\(?\w{1,3}[.)])\s|.*[.,;:!…]$")  # an item of a list, or a sentence


def sections(text: str, spans: Sequence[Span], title: str = "") -> list[str]:
    """For each span the heading that it stands under; nothing before the first, and under the title itself."""
    headings = [
        (match.start(1), " ".join(match[1].split()))
        for match in _HEADING.finditer(text)
        if any(map(str.isalpha, match[1])) and not _NO_HEADING.match(match[1])
    ]
    starts = [start for start, _ in headings]
    above = [bisect_right(starts, start) - 1 for start, _ in spans]
    return ["" if place < 0 or headings[place][1] == title else headings[place][1] for place in above]


def words(text: str) -> list[Span]:
    """The words and punctuation marks of a text as (start, end); `well-known` and `3.5` are one word."""
    return list(each_word(text, 0, len(text)))


def each_word(text: str, start: int, end: int) -> Iterator[Span]:
    """The words between two places one by one: all those of a file without a blank take its size many times."""
    for match in _WORD.finditer(text, start, end):
        yield match.span()


def whole_words(text: str) -> list[Span]:
    """Names, numbers and words as (start, end), without signs around them: what no writer may take apart."""
    return [match.span() for match in _WHOLE.finditer(text)]


def has_unspaced_script(text: str) -> bool:
    """Whether any of the text is in a script that does not put spaces between words."""
    return not text.isascii() and _UNSPACED_ANYWHERE.search(text) is not None


def separated(text: str) -> str:
    """The text with every character of an unspaced script set apart, so that an index sees them as words."""
    return _UNSPACED_ANYWHERE.sub(r" \g<0> ", text) if has_unspaced_script(text) else text


def _skip_spaces(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return match.end() if match else position


def _last_visible(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _belongs_to_word(text: str, sentence_start: int, mark: int, end: int) -> bool:
    """Whether the mark at `mark` is part of a word (Dr. Who) and not the end of a sentence."""
    if text[mark] != ".":
        return False
    following = _skip_spaces(text, end)
    if following < len(text) and text[following].islower() and "\n\n" not in text[end:following]:
        return True
    begin = max(sentence_start, mark - 12)
    word = text[begin:mark].rpartition(" ")[2].rpartition("\n")[2].lstrip("(\"'“‘[")
    if word.isdigit() and mark - sentence_start == len(word):  # the number of an item in a list
        return True
    if len(word) == 1 and word.isupper():  # an initial, as in J. R. R. Tolkien
        return True
    if word.lower() in _BEFORE_NUMBERS:
        return following < len(text) and text[following].isdigit()
    return word.lower() in _ABBREVIATIONS
