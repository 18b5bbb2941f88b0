"""Which words a writer may take from its vocabulary: those that sentences need and sources do not offer.

Numbers and names are left out: a writer that cannot make them up must copy them.

python -m wherefrom.train.writing.vocabulary MATERIAL.safetensors DATA TOKENIZER.json OUT.json
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from wherefrom.data import squad
from wherefrom.runtime.weights import unbounded
from wherefrom.text import sentences
from wherefrom.train.writing.material import NARRATIVEQA, load

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME_SHARE = 0.5  # of a word's places inside sentences with a capital letter: from here on it is a name
SEEN_ENOUGH = 3  # places that a word needs before its capitals say anything

Numbers = NDArray[Any]


def needed(material: Mapping[str, Numbers] | Any) -> tuple[Counter[int], Counter[int]]:
    """How often each piece of the training targets cannot be copied, and how often it is said at all."""
    lacking: Counter[int] = Counter()
    said: Counter[int] = Counter()

    def text(name: str, number: int) -> list[int]:
        starts = material[f"{name}_starts"]
        found: list[int] = material[f"{name}_tokens"][starts[number] : starts[number + 1]].tolist()
        return found

    for triple in numpy.flatnonzero(material["sentence_valid"][material["triple_sentence"]] == 0).tolist():
        example, answer = int(material["triple_example"][triple]), int(material["triple_answer"][triple])
        gold = int(material["gold"][example])
        there = {*text("question", int(material["question"][example])), *text("answer", answer)}
        there |= set(text("passage", gold)) if gold >= 0 else set()
        for piece in text("sentence", int(material["triple_sentence"][triple])):
            said[piece] += 1
            lacking[piece] += piece not in there
    stories = (material["source"] == NARRATIVEQA) & (material["valid"] == 0)
    for example in numpy.flatnonzero(stories).tolist():
        there = set(text("question", int(material["question"][example])))
        for passage in material["passages"][example].tolist():
            there |= set(text("passage", passage)) if passage >= 0 else set()
        first = int(material["answers_until"][example])
        for answer in range(first, first + int(material["references"][example])):
            for piece in text("answer", answer):
                said[piece] += 1
                lacking[piece] += piece not in there
    return lacking, said


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


def ordered(lacking: Mapping[int, int], said: Mapping[int, int], names: set[int], tokenizer: Tokenizer) -> list[int]:
    """All plain pieces, the most needed first; numbers, names and pieces of other scripts come last."""

    tokens = {number: token for token, number in tokenizer.get_vocab().items()}

    def key(piece: int) -> tuple[bool, int, int, int]:
        text = tokens[piece].removeprefix("##")
        odd = piece in names or any(letter.isdigit() for letter in text) or not text.isascii()
        return odd, -lacking.get(piece, 0), -said.get(piece, 0), piece

    plain = [piece for piece, token in tokens.items() if not _special(token)]
    return sorted(plain, key=key)


def _special(token: str) -> bool:
    return token.startswith("[") and token.endswith("]") and len(token) > 2


def made(material: Path, data: Path, tokenizer_file: Path, report: Callable[[str], None] = lambda _: None) -> list[int]:
    """The order for a material; names are told from SQuAD's paragraphs in the folder of datasets."""
    from tokenizers import Tokenizer

    tokenizer = unbounded(Tokenizer.from_file(str(tokenizer_file)))
    lacking, said = needed(load(material))
    texts = sorted({example.passages[0].text for example in squad.load(data / "squad", "train")})
    order = ordered(lacking, said, names(texts, tokenizer), tokenizer)
    total = sum(lacking.values())
    for size in (2000, 4000, 6000):
        covered = sum(lacking[piece] for piece in order[:size])
        report(f"{size} words: {covered / max(1, total):.4f} of the {total} pieces that cannot be copied")
    return order


def main(arguments: list[str]) -> None:
    material, data, tokenizer_file, out = (Path(argument) for argument in arguments)
    out.write_text(json.dumps(made(material, data, tokenizer_file, print)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
