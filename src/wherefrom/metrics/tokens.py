"""Texts cut into the tokens that each evaluation counts.

A score is only comparable under the same tokens, so each protocol has its own function here. All give a tuple
of small-lettered tokens without blanks in them, and an empty tuple for a text that holds none.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

from wherefrom.metrics.porter import Variant, stem

_ROUGE_TOKEN = re.compile("[a-z0-9]+")
_ASCII_TO_ROUGE = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

# The pieces of spaCy's English tokenizer that change scores; see `marco_tokens`.
_LOWER, _UPPER = "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
_LETTER = f"{_LOWER}{_UPPER}"
_QUOTES = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉"
_UNITS = (
    "km|km²|km³|m|m²|m³|dm|dm²|dm³|cm|cm²|cm³|mm|mm²|mm³|ha|µm|nm|yd|in|ft|kg|g|mg|µg|t|lb|oz|m/s|km/h|kmh|mph|hPa|"
    "Pa|mbar|mb|MB|kb|KB|gb|GB|tb|TB|T|G|M|K|%"
)
_WHOLE = re.compile(
    r"(?:https?://|www\.)\S*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<!°)[a-z]\.|(?:[A-Za-z]\.){2,}|w/o?|and/or|[:;]-?[)(DPp]"
)
_PREFIX = re.compile(rf"…|\.\.+|[§%=—–]|\+(?!\d)|[£$€¥₹¢]|[\[\](){{}}<>_#*&|!?;:,^°{_QUOTES}]")
_SUFFIX = re.compile(
    rf"(?:\):|…|\.\.+|['’][sS]|[—–]|--+|[!?;:,#*&|~@^_=<>\[\](){{}}{_QUOTES}§]|(?<=\d)[+£$€¥₹¢]|(?<=\d)(?:{_UNITS})"
    rf"|(?<=[\d{_LOWER}%²\-+*{_QUOTES})\]])\.|(?<=°[CFKcfk])\.|(?<=[{_UPPER}][{_UPPER}])\.)$"
)
_INFIX = re.compile(
    rf"…|\.\.+|--+|—|(?<=\d)[+\-*^–](?=[\d-])|(?<=[{_LOWER}{_QUOTES}])\.(?=[{_UPPER}{_QUOTES}])|(?<=[{_LETTER}]),(?=[{_LETTER}])"
    rf"|(?<=[{_LETTER}\d])[-–~](?=[{_LETTER}])|(?<=[{_LETTER}\d])[:<>=/](?=[{_LETTER}])"
)
_CLITIC = re.compile(rf"([{_LETTER}]+?)(n['’]t|['’](?:re|ve|ll|d|m|em))$", re.IGNORECASE)
_CLOCK = re.compile(r"(1[0-2]|[1-9])([ap](?:m|\.m\.))$", re.IGNORECASE)
_FUSED = {
    "cannot": ("can", "not"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "dont": ("do", "nt"),
    "cant": ("ca", "nt"),
    "doesnt": ("does", "nt"),
    "didnt": ("did", "nt"),
    "isnt": ("is", "nt"),
    "arent": ("are", "nt"),
    "wasnt": ("was", "nt"),
    "couldnt": ("could", "nt"),
    "wouldnt": ("would", "nt"),
    "shouldnt": ("should", "nt"),
    "havent": ("have", "nt"),
    "hasnt": ("has", "nt"),
    "hadnt": ("had", "nt"),
    "im": ("i", "m"),
    "ive": ("i", "ve"),
    "youre": ("you", "re"),
    "theyre": ("they", "re"),
    "thats": ("that", "s"),
    "whats": ("what", "s"),
}
_WITH_STOP = frozenset(
    """mr. mrs. ms. dr. prof. st. jr. sr. vs. v.s. inc. ltd. co. corp. bros. gen. gov. rep. rev. sen. messrs. mt.
    adm. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ala. ariz. ark. calif. colo. conn. del. fla.
    ga. ia. ill. ind. kan. kans. ky. la. mass. md. mich. minn. miss. mont. n.c. n.d. n.h. n.j. n.m. n.y. neb. nebr.
    nev. okla. ore. pa. s.c. tenn. va. wash. wis. ph.d. e.g. i.e. a.m. p.m. ak. d.c. id.""".split()
)


@lru_cache(maxsize=1 << 12)
def plain_tokens(text: str) -> tuple[str, ...]:
    """Small letters, cut at white space: for texts whose tokens are already set apart."""
    return tuple(text.lower().split())


@lru_cache(maxsize=1 << 12)
def rouge_tokens(text: str, stems: Variant | None = None) -> tuple[str, ...]:
    """Small letters, runs of a-z and 0-9; words of more than three letters are stemmed if asked (ROUGE-1.5.5 -m).

    All other letters part words, so accented letters are lost and Chinese has no tokens at all: this is the
    convention of ROUGE-1.5.5 and of rouge-score, for English.
    """
    # the same both ways; the first is twice as fast
    tokens = text.translate(_ASCII_TO_ROUGE).split() if text.isascii() else _ROUGE_TOKEN.findall(text.lower())
    if stems is None:
        return tuple(tokens)
    return tuple([stem(token, stems) if len(token) > 3 else token for token in tokens])


@lru_cache(maxsize=1 << 12)
def narrative_tokens(text: str) -> tuple[str, ...]:
    """Small letters, ASCII punctuation removed, cut at white space (NarrativeQA as Masque scores it, section 5)."""
    return tuple(text.lower().translate(_NO_PUNCTUATION).split())


@lru_cache(maxsize=1 << 12)
def marco_tokens(text: str) -> tuple[str, ...]:
    """Tokens as MS MARCO's evaluation counts them: spaCy's English tokens in small letters, punctuation included.

    spaCy itself is no dependency, so its rules are rewritten here for what answers hold: punctuation at both
    ends of a word is set apart, and so are hyphens between letters, units after numbers, 's and n't; numbers,
    addresses and common abbreviations stay whole. Rare abbreviations, emoticons and non-Latin scripts can differ.
    """
    return tuple([piece for word in text.split() for piece in _pieces(word)])


@lru_cache(maxsize=1 << 17)
def _pieces(word: str) -> tuple[str, ...]:
    """One word between white space, cut from both ends, then inside."""
    before: list[str] = []
    after: list[str] = []
    while word:
        special = _special(word)
        if special is not None:
            before += special
            break
        if match := _PREFIX.match(word):
            before.append(match[0].lower())
            word = word[match.end() :]
        elif match := _SUFFIX.search(word):
            after.append(match[0].lower())
            word = word[: match.start()]
        else:
            before += _inside(word)
            break
    return (*before, *reversed(after))


def _special(word: str) -> tuple[str, ...] | None:
    """The pieces of a word that has its own rule, or None."""
    small = word.lower()
    if small in _WITH_STOP or _WHOLE.fullmatch(word):
        return (small,)
    if small in _FUSED:
        return _FUSED[small]
    if match := _CLOCK.fullmatch(small) or _CLITIC.fullmatch(small):
        return (match[1], match[2])
    return None


def _inside(word: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for match in _INFIX.finditer(word):
        if match.start() > start:
            pieces.append(word[start : match.start()].lower())
        pieces.append(match[0].lower())
        start = match.end()
    if start < len(word):
        pieces.append(word[start:].lower())
    return pieces
