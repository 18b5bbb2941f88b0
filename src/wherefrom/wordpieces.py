"""Text to the wordpieces of an uncased BERT, with the characters that each stands at.

As the package `tokenizers` does it (BertNormalizer, BertPreTokenizer, WordPiece; Devlin et al. 2019,
https://arxiv.org/abs/1810.04805), and a test holds it to that: without the client of a model hub that comes with it.

A text falls into runs of characters that are looked at alone: a sign, an ideograph, or whatever stands between those
and the spaces. What a run becomes is remembered, since most are words that come again.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_MOST_RUNS = 8_192  # remembered, about 500 bytes each: those of ordinary texts come again, and numbers hardly ever
_LONGEST_RUN = 64  # characters of a run that is remembered; longer ones hardly come again

_Span = tuple[int, int]
_Cut = tuple[tuple[int, ...], tuple[_Span, ...]]  # pieces of a run, and their characters in it


@dataclass(frozen=True, slots=True)
class Encoded:
    """The pieces of a text."""

    ids: list[int]
    offsets: list[_Span]  # in characters; what a piece does not show, such as an accent behind it, may lie between two


class Wordpieces:
    """A vocabulary and its rules; may be shared between threads."""

    def __init__(self, vocabulary: Mapping[str, int], special: Mapping[str, int], unknown: str, longest: int) -> None:
        self._vocabulary = vocabulary
        self._special = special  # texts that stand for one piece wherever they stand, such as [SEP]
        self._unknown = vocabulary[unknown]
        self._longest = longest  # characters of a word; a longer one is unknown
        self._longest_piece = max(map(len, vocabulary))
        self._known: dict[str, _Cut] = {}

    @classmethod
    def read(cls, file: Path) -> Wordpieces:
        """From a tokenizer.json; ValueError where it is of another kind than the one that is known here."""
        saved = json.loads(file.read_text(encoding="utf-8"))
        model, added = _checked(saved)
        special = {each["content"]: int(each["id"]) for each in added}
        return cls(model["vocab"], special, model["unk_token"], int(model["max_input_chars_per_word"]))

    def encode(self, text: str) -> Encoded:
        """The pieces of a text and where they stand."""
        ids: list[int] = []
        offsets: list[_Span] = []
        for begin, end, token in self._parts(text):
            if token is not None:
                ids.append(token)
                offsets.append((begin, end))
                continue
            for run in _RUN.finditer(text, begin, end):
                pieces, spans = self._of(run[0])
                start = run.start()
                ids += pieces
                offsets += [(start + a, start + b) for a, b in spans]
        return Encoded(ids, offsets)

    def ids(self, text: str) -> list[int]:
        """The pieces of a text alone, which takes half the time."""
        ids: list[int] = []
        for begin, end, token in self._parts(text):
            if token is not None:
                ids.append(token)
                continue
            for run in _RUN.findall(text, begin, end):
                ids += self._of(run)[0]
        return ids

    def is_whole(self, word: str) -> bool:
        """Whether a word in small letters is one piece: the commonest words of English are."""
        return word in self._vocabulary

    def piece(self, token: int) -> str:
        """A piece as the vocabulary has it, `##` before one that continues a word; empty where there is none."""
        return self._pieces.get(token, "")

    @cached_property
    def _pieces(self) -> dict[int, str]:
        return {number: piece for pieces in (self._vocabulary, self._special) for piece, number in pieces.items()}

    def _parts(self, text: str) -> Iterator[tuple[int, int, int | None]]:
        """What stands between special pieces, and those: from where to where, and which one."""
        begin = 0
        if self._marks is not None:
            for mark in self._marks.finditer(text):
                if mark.start() > begin:
                    yield begin, mark.start(), None
                yield mark.start(), mark.end(), self._special[mark[0]]
                begin = mark.end()
        if begin < len(text):
            yield begin, len(text), None

    @cached_property
    def _marks(self) -> re.Pattern[str] | None:
        """The longer first, where one begins as another does."""
        longest_first = sorted(self._special, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def _of(self, run: str) -> _Cut:
        known = self._known
        cut = known.get(run)
        if cut is None:
            cut = self._cut(run)
            if len(run) <= _LONGEST_RUN:
                if len(known) >= _MOST_RUNS:
                    known = self._known = {}  # threads that look something up keep the old one
                known[run] = cut
        return cut

    def _cut(self, run: str) -> _Cut:
        ids: list[int] = []
        spans: list[_Span] = []
        for word, places in _words(run):
            pieces = self._pieces_of(word)
            if pieces is None:
                pieces = [(self._unknown, 0, len(word))]
            for token, start, end in pieces:
                ids.append(token)
                spans.append((places[start], places[end - 1] + 1))
        return tuple(ids), tuple(spans)

    def _pieces_of(self, word: str) -> list[tuple[int, int, int]] | None:
        """Always the longest piece that fits, from the left; None where none does."""
        if len(word) > self._longest:
            return None
        pieces = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(min(len(word), start + self._longest_piece - len(mark)), start, -1):
                token = self._vocabulary.get(mark + word[start:end])
                if token is not None:
                    break
            else:
                return None
            pieces.append((token, start, end))
            start = end
        return pieces


def _checked(saved: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The model and the special pieces of a tokenizer.json, if they are such as are known here."""
    try:
        model, cleaned, added = saved["model"], saved["normalizer"], saved["added_tokens"]
        wanted = {
            "model.type": (model["type"], "WordPiece"),
            "model.continuing_subword_prefix": (model["continuing_subword_prefix"], "##"),
            "normalizer.type": (cleaned["type"], "BertNormalizer"),
            "normalizer.clean_text": (cleaned["clean_text"], True),
            "normalizer.handle_chinese_chars": (cleaned["handle_chinese_chars"], True),
            "normalizer.lowercase": (cleaned["lowercase"], True),
            "normalizer.strip_accents": (cleaned["strip_accents"] in (None, True), True),
            "pre_tokenizer.type": (saved["pre_tokenizer"]["type"], "BertPreTokenizer"),
            "model.unk_token": (model["unk_token"] in model["vocab"], True),
        }
        for each in added:
            plain = not (each["single_word"] or each["lstrip"] or each["rstrip"] or each["normalized"])
            wanted[f"added_tokens, {each['content']}"] = (plain and bool(each["content"]), True)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a tokenizer of uncased wordpieces: {error}") from error
    for name, (value, needed) in wanted.items():
        if value != needed:
            raise ValueError(f"not a tokenizer of uncased wordpieces: its {name} is another")
    return model, added


def _words(run: str) -> Iterator[tuple[str, Sequence[int]]]:
    """The words of a run in small letters without accents, and where in the run each of their characters stands."""
    if run.isascii() and run.isprintable():  # nothing in it is removed, and no character becomes two
        yield run.lower(), range(len(run))
        return
    word: list[str] = []
    places: list[int] = []
    for character, place in _plain(run):
        alone = _is_sign(character)
        if (alone or character == " ") and word:
            yield "".join(word), places
            word, places = [], []
        if alone:
            yield character, [place]
        elif character != " ":
            word.append(character)
            places.append(place)
    if word:
        yield "".join(word), places


def _plain(run: str) -> Iterator[tuple[str, int]]:
    """Characters as the vocabulary writes them, each with its place: decomposed, without accents, in small letters.

    An accent of a letter has the place of its letter. Marks that change places with each other in the decomposed text
    leave their places where they were, as `tokenizers` has it.
    """
    decomposed: list[tuple[int, str, bool]] = []  # combining class, character, whether it begins one of the run's
    places: list[int] = []
    for place, character in enumerate(run):
        if _is_removed(character):
            continue
        parts = f" {character} " if _is_ideograph(character) else character
        for part in parts:
            for number, each in enumerate(unicodedata.normalize("NFD", part)):
                moves = unicodedata.combining(each) if _is_mark(each) else 0
                decomposed.append((moves, each, number == 0))
                if number == 0:
                    places.append(place)
    at = -1
    for _, character, begins in _ordered(decomposed):
        at += begins
        if not _is_accent(character):
            for small in character.lower():
                yield small, places[max(at, 0)]


def _ordered(decomposed: list[tuple[int, str, bool]]) -> Iterator[tuple[int, str, bool]]:
    """Marks that follow each other in the order of their combining classes (Unicode, D109)."""
    marks: list[tuple[int, str, bool]] = []
    for each in decomposed:
        if each[0]:
            marks.append(each)
            continue
        yield from sorted(marks, key=lambda mark: mark[0])
        marks = []
        yield each
    yield from sorted(marks, key=lambda mark: mark[0])


# Kinds of characters as `tokenizers` has them: those of Unicode 8, whatever the Unicode of this Python. A newer mark is
# no accent and a newer sign is a letter; networks were trained with texts that were cut so.
_SPACES = "9-a d 20 a0 1680 2000-200a 2028-2029 202f 205f 3000"
_REMOVED = """
0-8 b-c e-1f 7f-9f ad 600-605 61c 6dd 70f 180e 200b-200f 202a-202e 2060-2064 2066-206f e000-f8ff feff fff9-fffb fffd
110bd 1bca0-1bca3 1d173-1d17a e0001 e0020-e007f f0000-ffffd 100000-10fffd
"""
_ACCENTS = """
300-36f 483-487 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed 711 730-74a
7a6-7b0 7eb-7f3 816-819 81b-823 825-827 829-82d 859-85b 8e3-902 93a 93c 941-948 94d 951-957 962-963 981 9bc 9c1-9c4
9cd 9e2-9e3 a01-a02 a3c a41-a42 a47-a48 a4b-a4d a51 a70-a71 a75 a81-a82 abc ac1-ac5 ac7-ac8 acd ae2-ae3 b01 b3c b3f
b41-b44 b4d b56 b62-b63 b82 bc0 bcd c00 c3e-c40 c46-c48 c4a-c4d c55-c56 c62-c63 c81 cbc cbf cc6 ccc-ccd ce2-ce3 d01
d41-d44 d4d d62-d63 dca dd2-dd4 dd6 e31 e34-e3a e47-e4e eb1 eb4-eb9 ebb-ebc ec8-ecd f18-f19 f35 f37 f39 f71-f7e
f80-f84 f86-f87 f8d-f97 f99-fbc fc6 102d-1030 1032-1037 1039-103a 103d-103e 1058-1059 105e-1060 1071-1074 1082
1085-1086 108d 109d 135d-135f 1712-1714 1732-1734 1752-1753 1772-1773 17b4-17b5 17b7-17bd 17c6 17c9-17d3 17dd
180b-180d 18a9 1920-1922 1927-1928 1932 1939-193b 1a17-1a18 1a1b 1a56 1a58-1a5e 1a60 1a62 1a65-1a6c 1a73-1a7c 1a7f
1ab0-1abd 1b00-1b03 1b34 1b36-1b3a 1b3c 1b42 1b6b-1b73 1b80-1b81 1ba2-1ba5 1ba8-1ba9 1bab-1bad 1be6 1be8-1be9 1bed
1bef-1bf1 1c2c-1c33 1c36-1c37 1cd0-1cd2 1cd4-1ce0 1ce2-1ce8 1ced 1cf4 1cf8-1cf9 1dc0-1df5 1dfc-1dff 20d0-20dc 20e1
20e5-20f0 2cef-2cf1 2d7f 2de0-2dff 302a-302d 3099-309a a66f a674-a67d a69e-a69f a6f0-a6f1 a802 a806 a80b a825-a826
a8c4 a8e0-a8f1 a926-a92d a947-a951 a980-a982 a9b3 a9b6-a9b9 a9bc a9e5 aa29-aa2e aa31-aa32 aa35-aa36 aa43 aa4c aa7c
aab0 aab2-aab4 aab7-aab8 aabe-aabf aac1 aaec-aaed aaf6 abe5 abe8 abed fb1e fe00-fe0f fe20-fe2f 101fd 102e0 10376-1037a
10a01-10a03 10a05-10a06 10a0c-10a0f 10a38-10a3a 10a3f 10ae5-10ae6 11001 11038-11046 1107f-11081 110b3-110b6
110b9-110ba 11100-11102 11127-1112b 1112d-11134 11173 11180-11181 111b6-111be 111ca-111cc 1122f-11231 11234
11236-11237 112df 112e3-112ea 11300-11301 1133c 11340 11366-1136c 11370-11374 114b3-114b8 114ba 114bf-114c0
114c2-114c3 115b2-115b5 115bc-115bd 115bf-115c0 115dc-115dd 11633-1163a 1163d 1163f-11640 116ab 116ad 116b0-116b5
116b7 1171d-1171f 11722-11725 11727-1172b 16af0-16af4 16b30-16b36 16f8f-16f92 1bc9d-1bc9e 1d167-1d169 1d17b-1d182
1d185-1d18b 1d1aa-1d1ad 1d242-1d244 1da00-1da36 1da3b-1da6c 1da75 1da84 1da9b-1da9f 1daa1-1daaf 1e8d0-1e8d6
e0100-e01ef
"""
_MOVING = """
8d4-8e1 1b44 1baa 1bf2-1bf3 1dfb 302e-302f a953 a9c0 111c0 11235 1134d 11442 11446 116b6 11c3f 1d165-1d166 1d16d-1d172
1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e944-1e94a
"""  # marks of Unicode 9 that are kept, and change places in decomposed text
_SIGNS = """
21-2f 3a-40 5b-60 7b-7e a1 a7 ab b6-b7 bb bf 37e 387 55a-55f 589-58a 5be 5c0 5c3 5c6 5f3-5f4 609-60a 60c-60d 61b
61e-61f 66a-66d 6d4 700-70d 7f7-7f9 830-83e 85e 964-965 970 af0 df4 e4f e5a-e5b f04-f12 f14 f3a-f3d f85 fd0-fd4
fd9-fda 104a-104f 10fb 1360-1368 1400 166d-166e 169b-169c 16eb-16ed 1735-1736 17d4-17d6 17d8-17da 1800-180a 1944-1945
1a1e-1a1f 1aa0-1aa6 1aa8-1aad 1b5a-1b60 1bfc-1bff 1c3b-1c3f 1c7e-1c7f 1cc0-1cc7 1cd3 2010-2027 2030-2043 2045-2051
2053-205e 207d-207e 208d-208e 2308-230b 2329-232a 2768-2775 27c5-27c6 27e6-27ef 2983-2998 29d8-29db 29fc-29fd
2cf9-2cfc 2cfe-2cff 2d70 2e00-2e2e 2e30-2e42 3001-3003 3008-3011 3014-301f 3030 303d 30a0 30fb a4fe-a4ff a60d-a60f
a673 a67e a6f2-a6f7 a874-a877 a8ce-a8cf a8f8-a8fa a8fc a92e-a92f a95f a9c1-a9cd a9de-a9df aa5c-aa5f aade-aadf
aaf0-aaf1 abeb fd3e-fd3f fe10-fe19 fe30-fe52 fe54-fe61 fe63 fe68 fe6a-fe6b ff01-ff03 ff05-ff0a ff0c-ff0f ff1a-ff1b
ff1f-ff20 ff3b-ff3d ff3f ff5b ff5d ff5f-ff65 10100-10102 1039f 103d0 1056f 10857 1091f 1093f 10a50-10a58 10a7f
10af0-10af6 10b39-10b3f 10b99-10b9c 11047-1104d 110bb-110bc 110be-110c1 11140-11143 11174-11175 111c5-111c9 111cd
111db 111dd-111df 11238-1123d 112a9 114c6 115c1-115d7 11641-11643 1173c-1173e 12470-12474 16a6e-16a6f 16af5
16b37-16b3b 16b44 1bc9f 1da87-1da8b
"""
_IDEOGRAPHS = "3400-4dbf 4e00-9fff f900-faff 20000-2a6df 2a700-2b81f 2b920-2ceaf 2f800-2fa1f"


def _class(ranges: str) -> str:
    """Ranges such as `41-5a 5f` as they stand between the brackets of a regular expression."""
    pairs = (each.split("-") for each in ranges.split())
    return "".join(f"\\U{int(pair[0], 16):08x}-\\U{int(pair[-1], 16):08x}" for pair in pairs)


_alone, _between = _class(_SIGNS) + _class(_IDEOGRAPHS), _class(_SPACES)
_RUN = re.compile(f"[^{_alone}{_between}]+|[{_alone}]")
_is_sign, _is_ideograph = re.compile(f"[{_class(_SIGNS)}]").match, re.compile(f"[{_class(_IDEOGRAPHS)}]").match
_is_mark = re.compile(f"[{_class(_ACCENTS)}{_class(_MOVING)}]").match
_is_removed, _is_accent = re.compile(f"[{_class(_REMOVED)}]").match, re.compile(f"[{_class(_ACCENTS)}]").match
