"""Which words a writer may take from its vocabulary: those that sentences need and sources do not offer.

Numbers and names are left out: a writer that cannot make them up must copy them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from wherefrom.data import squad
from wherefrom.text import sentences
from wherefrom.train.pretrained import unbounded
from wherefrom.train.writing.material import WritingMaterial, load

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME_SHARE = 0.5  # of a word's places inside sentences with a capital letter: from here on it is a name
SEEN_ENOUGH = 3  # places that a word needs before its capitals say anything


def vocabulary_order(
    material: Path, data: Path, tokenizer_file: Path, report: Callable[[str], None] = lambda _: None
) -> list[int]:
    """All plain pieces, the most needed first; names are known from SQuAD's paragraphs in the folder of datasets."""
    from tokenizers import Tokenizer

    tokenizer = unbounded(Tokenizer.from_file(str(tokenizer_file)))
    lacking, written = counts(load(material))
    texts = sorted({example.passages[0].text for example in squad.load(data / "squad", "train")})
    order = ordered(lacking, written, names(texts, tokenizer), tokenizer)
    total = sum(lacking.values())
    for size in (2000, 4000, 6000):
        covered = sum(lacking[piece] for piece in order[:size])
        report(f"{size} words: {covered / max(1, total):.4f} of the {total} pieces that cannot be copied")
    return order


def counts(material: WritingMaterial) -> tuple[Counter[int], Counter[int]]:
    """How often each piece of the training targets cannot be copied, and how often it is written at all."""
    lacking: Counter[int] = Counter()
    written: Counter[int] = Counter()

    def add(target: Sequence[int], there: set[int]) -> None:
        for piece in target:
            written[piece] += 1
            lacking[piece] += piece not in there

    text = material.text
    for triple in numpy.flatnonzero(material["sentence_valid"][material["triple_sentence"]] == 0).tolist():
        example, answer = int(material["triple_example"][triple]), int(material["triple_answer"][triple])
        gold = int(material["gold"][example])
        there = {*text("question", int(material["question"][example])), *text("answer", answer)}
        there |= set(text("passage", gold)) if gold >= 0 else set()
        add(text("sentence", int(material["triple_sentence"][triple])), there)
    for example in numpy.flatnonzero(material.of("narrativeqa") & (material["valid"] == 0)).tolist():
        there = set(text("question", int(material["question"][example])))
        for passage in material["passages"][example].tolist():
            there |= set(text("passage", passage)) if passage >= 0 else set()
        first = int(material["answers_until"][example])
        for answer in range(first, first + int(material["references"][example])):
            add(text("answer", answer), there)
    return lacking, written


def names(passages: Sequence[str], tokenizer: Tokenizer) -> set[int]:
    """Pieces whose word mostly begins with a capital letter inside of sentences."""
    capital: Counter[int] = Counter()
    places: Counter[int] = Counter()
    for begin in range(0, len(passages), 1000):
        some = passages[begin : begin + 1000]
        for passage, encoding in zip(some, tokenizer.encode_batch(list(some), add_special_tokens=False), strict=True):
            starts = {start for start, _ in sentences(passage)}
            for piece, (start, _) in zip(encoding.ids, encoding.offsets, strict=True):
                if start in starts or (start and passage[start - 1] in "\"'“‘("):
                    continue
                places[piece] += 1
                capital[piece] += passage[start].isupper()
    return {piece for piece, count in places.items() if count >= SEEN_ENOUGH and capital[piece] >= NAME_SHARE * count}


def ordered(lacking: Mapping[int, int], written: Mapping[int, int], names: set[int], tokenizer: Tokenizer) -> list[int]:
    """All plain pieces, the most needed first; numbers, names and pieces of other scripts come last."""

    tokens = {number: token for token, number in tokenizer.get_vocab().items()}

    def key(piece: int) -> tuple[bool, int, int, int]:
        text = tokens[piece].removeprefix("##")
        odd = piece in names or any(letter.isdigit() for letter in text) or not text.isascii()
        return odd, -lacking.get(piece, 0), -written.get(piece, 0), piece

    plain = [piece for piece, token in tokens.items() if not _special(token)]
    return sorted(plain, key=key)


def _special(token: str) -> bool:
    return token.startswith("[") and token.endswith("]") and len(token) > 2
