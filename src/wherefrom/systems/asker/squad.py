"""Questions that were asked about SQuAD's own training paragraphs, in SQuAD's format: for other readers.

A question's names are written as its paragraph writes them (`write.spelling`).
"""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from wherefrom.data import squad
from wherefrom.data.examples import whole
from wherefrom.durable import write_text
from wherefrom.evaluate.ten_passages import rows_of
from wherefrom.train.material import MOST_PASSAGE_TOKENS, Material, Numbers
from wherefrom.train.pretrained import unbounded
from wherefrom.types import Passage
from wherefrom.write.spelling import Piece, spelled

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_BATCH = 256  # texts that are tokenised together


@dataclass(frozen=True, slots=True)
class _AskedExamples:
    """Examples of source `asked`, one at each place."""

    passage: Numbers
    question: Sequence[Numbers]  # tokens
    span: Numbers  # first and last token of the passage
    passages: Mapping[int, bytes]  # the tokens of each passage that is asked about


@dataclass(slots=True)
class _Paragraph:
    """A training paragraph, and what is asked about it."""

    passage: Passage
    article: str
    known: set[str] = field(default_factory=set)  # questions that SQuAD asks, as `_plain` has them
    questions: list[tuple[Numbers, int, int]] = field(default_factory=list)  # tokens, first, last


def write(
    asked_file: Path,
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
    about = list(_matched(_asked_questions(asked_file), known, tokenizer))
    report(f"{sum(len(paragraph.questions) for paragraph, _ in about):,} questions about {len(about):,} paragraphs")
    articles: list[dict[str, Any]] = []
    questions = 0
    for title, group in groupby(about, lambda pair: pair[0].article):
        paragraphs: list[dict[str, Any]] = []
        for paragraph, encoding in group:
            numbered = enumerate(_questions(paragraph, encoding, tokenizer), start=questions + 1)
            rows = [{"id": f"asked-{number}", **row} for number, row in numbered]
            questions += len(rows)
            if rows:
                paragraphs.append({"context": paragraph.passage.text, "qas": rows})
        if paragraphs:
            articles.append({"title": title, "paragraphs": paragraphs})
    write_text(out, json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False) + "\n")
    return {"questions": questions, "paragraphs": sum(len(article["paragraphs"]) for article in articles)}


def _asked_questions(path: Path) -> _AskedExamples:
    """The questions in a material that they were added to."""
    material = Material(path)
    rows = numpy.flatnonzero(material.of_source("asked"))
    gold, spans = material.column("gold")[rows], material.column("spans")[material.column("spans_until")[rows]]
    passages = {int(number): _key(material.text("passage", number)) for number in numpy.unique(gold)}
    questions = [material.text("question", number) for number in material.column("question")[rows]]
    return _AskedExamples(gold, questions, spans, passages)


def _paragraphs(data: Path) -> list[_Paragraph]:
    """SQuAD's training paragraphs in their order; of two that are the same the first."""
    paragraphs: dict[str, _Paragraph] = {}
    for example in squad.load(data / "squad", "train"):
        passage = example.passages[0]
        paragraph = paragraphs.setdefault(passage.text, _Paragraph(passage, example.article))
        paragraph.known.add(_plain(example.question.text))
    return list(paragraphs.values())


def _retrieved(ten_passages: Path, known: set[str]) -> list[_Paragraph]:
    """The passages retrieved for training questions that are not `known`, by article."""
    paragraphs: dict[str, _Paragraph] = {}
    for row in rows_of(ten_passages / "train.jsonl.gz"):
        for passage in row["passages"]:
            text, place = passage["passage_text"], passage["url"]
            if text not in known and text not in paragraphs:
                paragraphs[text] = _Paragraph(whole(place, text), place.partition("#")[0])
    return sorted(paragraphs.values(), key=lambda paragraph: (paragraph.article, paragraph.passage.id))


def _matched(
    examples: _AskedExamples, paragraphs: Sequence[_Paragraph], tokenizer: Tokenizer
) -> Iterator[tuple[_Paragraph, Encoding]]:
    """The paragraphs that are asked about, with the questions, and as tokens."""
    rows: defaultdict[bytes, list[int]] = defaultdict(list)
    for row, passage in enumerate(examples.passage.tolist()):
        rows[examples.passages[passage]].append(row)
    for begin in range(0, len(paragraphs), _BATCH):
        batch = paragraphs[begin : begin + _BATCH]
        encodings = tokenizer.encode_batch([each.passage.text for each in batch], add_special_tokens=False)
        for paragraph, encoding in zip(batch, encodings, strict=True):
            ids = numpy.array(encoding.ids)
            for shift in range(max(0, len(ids) - MOST_PASSAGE_TOKENS) + 1):  # a long one is cut, wherever that was
                for row in rows.get(_key(ids[shift : shift + MOST_PASSAGE_TOKENS]), ()):
                    first, last = (int(token) + shift for token in examples.span[row])
                    paragraph.questions.append((examples.question[row], first, last))
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


def _key(tokens: Numbers) -> bytes:
    return tokens.astype(numpy.int32).tobytes()
