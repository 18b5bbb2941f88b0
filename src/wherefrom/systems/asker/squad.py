"""Questions that were asked about SQuAD's own training paragraphs (`asking`), in SQuAD's format: for other readers.

    python -m wherefrom.systems.asker.squad ASKED.safetensors DATA TOKENIZER.json OUT.json [--ten-passages DIR]

DATA is the folder of datasets; with that of the ten-passage set also those about passages that were retrieved for
training questions. A question's names are written as its paragraph writes them (`write.spelling`).
"""

from __future__ import annotations

import argparse
import json
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray
from safetensors import safe_open

from wherefrom.data import squad
from wherefrom.data.examples import whole
from wherefrom.durable import write_text
from wherefrom.errors import WherefromError
from wherefrom.evaluate.ten_passages import rows_of
from wherefrom.runtime.weights import unbounded
from wherefrom.systems.reader.material import MOST_PASSAGE_TOKENS, SOURCES
from wherefrom.types import Passage
from wherefrom.write.spelling import Piece, spelled

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_BATCH = 256  # texts that are tokenised together


@dataclass(frozen=True, slots=True)
class Asked:
    """Examples of source `asked`, one at each place."""

    passage: NDArray[Any]
    question: Sequence[NDArray[Any]]  # tokens
    span: NDArray[Any]  # first and last token of the passage
    passages: Mapping[int, bytes]  # the tokens of each passage that is asked about


@dataclass(slots=True)
class _Paragraph:
    """A training paragraph, and what is asked about it."""

    passage: Passage
    article: str
    known: set[str] = field(default_factory=set)  # questions that SQuAD asks, as `_plain` has them
    questions: list[tuple[NDArray[Any], int, int]] = field(default_factory=list)  # tokens, first, last


def write(
    asked: Path,
    data: Path,
    tokenizer_file: Path,
    out: Path,
    report: Callable[[str], None] = lambda _: None,
    ten_passages: Path | None = None,
) -> dict[str, int]:
    """Write the questions about SQuAD's training paragraphs to a file in SQuAD's format; how many there are.

    `ten_passages` is the folder of the set whose training passages count as paragraphs too.
    A question that SQuAD itself asks about the paragraph, or that comes twice, is left out.
    """
    from tokenizers import Tokenizer

    tokenizer = unbounded(Tokenizer.from_file(str(tokenizer_file)))
    known = _paragraphs(data)
    if ten_passages is not None:
        known += _retrieved(ten_passages, {paragraph.passage.text for paragraph in known})
    about = list(_matched(asked_questions(asked), known, tokenizer))
    report(f"{sum(len(paragraph.questions) for paragraph, _ in about):,} questions about {len(about):,} paragraphs")
    articles: list[dict[str, Any]] = []
    kept = paragraphs = 0
    for title, group in groupby(about, lambda told: told[0].article):
        told: list[dict[str, Any]] = []
        for paragraph, encoding in group:
            asks = list(_questions(paragraph, encoding, tokenizer))
            numbered = [{"id": f"asked-{kept + number}", **one} for number, one in enumerate(asks, start=1)]
            kept += len(numbered)
            if numbered:
                told.append({"context": paragraph.passage.text, "qas": numbered})
        if told:
            articles.append({"title": title, "paragraphs": told})
            paragraphs += len(told)
    write_text(out, json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False) + "\n")
    return {"questions": kept, "paragraphs": paragraphs}


def asked_questions(path: Path) -> Asked:
    """The questions in a material that `asking` added to."""
    with safe_open(path, framework="numpy") as file:
        rows = numpy.flatnonzero(file.get_tensor("source") == SOURCES.index("asked"))
        gold, spans = file.get_tensor("gold")[rows], file.get_tensor("spans")[file.get_tensor("spans_until")[rows]]
        texts = {
            name: (file.get_tensor(f"{name}_tokens"), file.get_tensor(f"{name}_starts"))
            for name in ("question", "passage")
        }
        questions = file.get_tensor("question")[rows]

    def text(name: str, number: int) -> NDArray[Any]:
        tokens, starts = texts[name]
        one: NDArray[Any] = tokens[starts[number] : starts[number + 1]]
        return one

    passages = {int(number): _key(text("passage", number)) for number in numpy.unique(gold)}
    return Asked(gold, [text("question", number) for number in questions], spans, passages)


def _paragraphs(data: Path) -> list[_Paragraph]:
    """SQuAD's training paragraphs in their order; of two that are the same the first."""
    found: dict[str, _Paragraph] = {}
    for example in squad.load(data / "squad", "train"):
        passage = example.passages[0]
        paragraph = found.setdefault(passage.text, _Paragraph(passage, example.article))
        paragraph.known.add(_plain(example.question.text))
    return list(found.values())


def _retrieved(ten_passages: Path, known: set[str]) -> list[_Paragraph]:
    """The passages retrieved for training questions that are not `known`, by article."""
    found: dict[str, _Paragraph] = {}
    for row in rows_of(ten_passages / "train.jsonl.gz"):
        for told in row["passages"]:
            text, place = told["passage_text"], told["url"]
            if text not in known and text not in found:
                found[text] = _Paragraph(whole(place, text), place.partition("#")[0])
    return sorted(found.values(), key=lambda paragraph: (paragraph.article, paragraph.passage.id))


def _matched(
    asked: Asked, paragraphs: Sequence[_Paragraph], tokenizer: Tokenizer
) -> Iterator[tuple[_Paragraph, Encoding]]:
    """The paragraphs that are asked about, with the questions, and as tokens."""
    rows: defaultdict[bytes, list[int]] = defaultdict(list)
    for row, passage in enumerate(asked.passage.tolist()):
        rows[asked.passages[passage]].append(row)
    for begin in range(0, len(paragraphs), _BATCH):
        some = paragraphs[begin : begin + _BATCH]
        encodings = tokenizer.encode_batch([told.passage.text for told in some], add_special_tokens=False)
        for paragraph, encoding in zip(some, encodings, strict=True):
            ids = numpy.array(encoding.ids)
            for shift in range(max(0, len(ids) - MOST_PASSAGE_TOKENS) + 1):  # a long one is cut, wherever that was
                for row in rows.get(_key(ids[shift : shift + MOST_PASSAGE_TOKENS]), ()):
                    first, last = (int(token) + shift for token in asked.span[row])
                    paragraph.questions.append((asked.question[row], first, last))
            if paragraph.questions:
                yield paragraph, encoding


def _questions(paragraph: _Paragraph, encoding: Encoding, tokenizer: Tokenizer) -> Iterator[dict[str, Any]]:
    """The questions about a paragraph, each with its answer."""
    text, known = paragraph.passage.text, set(paragraph.known)
    for tokens, first, last in paragraph.questions:
        pieces = [Piece(tokenizer.id_to_token(int(token)) or "") for token in tokens]
        question = "".join(word.space + word.text for word in spelled(pieces, "", [paragraph.passage], sentence=True))
        start, end = encoding.offsets[first][0], encoding.offsets[last][1]
        if _plain(question) and _plain(question) not in known and start < end:
            known.add(_plain(question))
            yield {"question": question, "answers": [{"text": text[start:end], "answer_start": start}]}


def _plain(question: str) -> str:
    """What two spellings of a question have in common: small letters and digits, without accents."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", question.lower()) if letter.isalnum())


def _key(tokens: NDArray[Any]) -> bytes:
    return tokens.astype(numpy.int32).tobytes()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m wherefrom.systems.asker.squad")
    parser.add_argument("asked", type=Path, help="what `asking` wrote")
    parser.add_argument("data", type=Path, help="the folder of datasets, which holds squad")
    parser.add_argument("tokenizer", type=Path, help="the tokenizer.json of the material's encoder")
    parser.add_argument("out", type=Path)
    parser.add_argument("--ten-passages", type=Path, help="the folder of that set: questions about its passages too")
    options = parser.parse_args(arguments)
    try:
        counts = write(options.asked, options.data, options.tokenizer, options.out, print, options.ten_passages)
    except WherefromError as error:
        sys.exit(str(error))
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
