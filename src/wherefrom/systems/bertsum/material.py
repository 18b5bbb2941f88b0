"""Triples of query, document and summary, as QR-BERTSUM reads them, and the datasets that they come from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy
import torch
from numpy.typing import NDArray

from wherefrom.config import IngestSettings
from wherefrom.data import debatepedia, qa2d, squad, xsum
from wherefrom.data.examples import Example
from wherefrom.data.opening import json_records, named_files
from wherefrom.ingest.formats import Record, read
from wherefrom.metrics.rouge import rouge_n
from wherefrom.metrics.tokens import rouge_tokens
from wherefrom.systems.bertsum.audit import QueryTriple
from wherefrom.systems.bertsum.network import QueryDocuments
from wherefrom.text import clean, sentences

CLASSIFY, SEPARATE, BEGIN, PADDING, UNKNOWN = 101, 102, 1, 0, 100  # [CLS], [SEP], [unused1], [PAD], [UNK]
FOLDS = 10
_STRETCH, _FEWEST = 200, 4  # words and sentences of a stretch of an article
_SUMMARY = range(8, 41)  # different words of its summary
_HEADING = 6  # spaces that a paragraph has and a heading has not
_ORACLE = 3  # sentences of the extractive labels, as many as BERTSUM takes
Role = Literal["train", "valid", "test"]
Cut = Callable[[str], list[int]]  # a text's wordpieces


@dataclass(frozen=True, slots=True)
class EncodedTriple:
    """A triple in wordpieces."""

    tokens: tuple[int, ...]
    types: tuple[int, ...]
    query: int  # tokens of it, [CLS] and [SEP] included; 0 without a query
    sentences: tuple[int, ...]  # where the [CLS] of each sentence of the document stands
    target: tuple[int, ...]  # the summary and [SEP]
    labels: tuple[float, ...]  # of the sentences: 1 where it is of the extractive reference
    summary: str


def encoded(
    triple: QueryTriple, cut: Cut, document_tokens: int, summary_tokens: int, query: bool, labelled: bool = True
) -> EncodedTriple:
    """The triple as one sequence; the document is cut at so many wordpieces, marks not counted.

    Without `labelled` no sentence is of the extractive reference: that takes most of the time.
    """
    tokens: list[int] = []
    types: list[int] = []
    starts: list[int] = []
    pieces: list[str] = []
    if query and triple.query.strip():
        tokens = [CLASSIFY, *cut(triple.query), SEPARATE]
        types = [0] * len(tokens)
    length, turn = len(tokens), 1 if tokens else 0
    room = document_tokens
    for start, end in sentences(triple.document):
        own = cut(triple.document[start:end])[:room]
        if not own:
            continue
        starts.append(len(tokens))
        pieces.append(triple.document[start:end])
        tokens += [CLASSIFY, *own, SEPARATE]
        types += [turn % 2] * (len(own) + 2)
        turn += 1
        room -= len(own)
        if room <= 0:
            break
    target = (*cut(triple.summary)[:summary_tokens], SEPARATE)
    labels = extractive_labels(pieces, triple.summary) if labelled else (0.0,) * len(pieces)
    return EncodedTriple(tuple(tokens), tuple(types), length, tuple(starts), target, labels, triple.summary)


def extractive_labels(pieces: Sequence[str], summary: str) -> tuple[float, ...]:
    """1 for the sentences that, taken greedily, raise ROUGE-1 and ROUGE-2 with the summary most; at most three."""
    wanted = rouge_tokens(summary)
    tokens = [rouge_tokens(piece) for piece in pieces]
    taken: list[int] = []
    best = 0.0
    while len(taken) < min(_ORACLE, len(pieces)):
        gains = []
        for at in range(len(pieces)):
            if at not in taken:
                together = tuple(token for place in sorted([*taken, at]) for token in tokens[place])
                f = sum(rouge_n(together, wanted, n).score().f for n in (1, 2))
                gains.append((f, -at))
        if not gains or max(gains)[0] <= best:
            break
        best, at = max(gains)
        taken.append(-at)
    return tuple(float(at in taken) for at in range(len(pieces)))


@dataclass(frozen=True, slots=True)
class SummaryBatch:
    """A microbatch."""

    given: QueryDocuments
    target: torch.Tensor  # (batch, steps)
    labels: torch.Tensor  # (batch, sentences)


def batch_of(examples: Sequence[EncodedTriple]) -> SummaryBatch:
    """Padded on the right."""
    tokens = _padded([each.tokens for each in examples], PADDING, numpy.int64)
    sentence_places = _padded([each.sentences for each in examples], 0, numpy.int64)
    places, real = numpy.arange(tokens.shape[1]), [len(each.tokens) for each in examples]
    given = QueryDocuments(
        tokens=torch.from_numpy(tokens),
        mask=torch.from_numpy(places < numpy.array(real)[:, None]),
        types=torch.from_numpy(_padded([each.types for each in examples], 0, numpy.int64)),
        query=torch.from_numpy(places < numpy.array([each.query for each in examples])[:, None]),
        sentences=torch.from_numpy(sentence_places),
        sentence_mask=torch.from_numpy(
            numpy.arange(sentence_places.shape[1]) < numpy.array([len(each.sentences) for each in examples])[:, None]
        ),
    )
    target = _padded([each.target for each in examples], PADDING, numpy.int64)
    labels = _padded([each.labels for each in examples], 0.0, numpy.float32)
    return SummaryBatch(given, torch.from_numpy(target), torch.from_numpy(labels))


def _padded(rows: Sequence[Sequence[float]], value: float, kind: type[numpy.generic]) -> NDArray[Any]:
    filled = numpy.full((len(rows), max(1, *(len(row) for row in rows))), value, kind)
    for place, row in zip(filled, rows, strict=True):
        place[: len(row)] = row
    return filled


# Datasets.


class _News(msgspec.Struct):
    document: str
    right_summary: str


def news(data: Path, count: int) -> list[QueryTriple]:
    """XSum's sample, and `count` of the articles with summaries that HaluEval brings; without a query."""
    triples = [
        QueryTriple("", example.passages[0].text, example.summaries[0])
        for example in xsum.load(named_files(data / "xsum_sample", ["xsum.jsonl"])[0], "train")
        if example.summaries
    ]
    return [*triples, *islice(_halueval(data), count)]


def _halueval(data: Path) -> Iterator[QueryTriple]:
    file = named_files(data / "halueval", ["summarization.jsonl"])[0]
    for _, record in json_records(file, _News, strict=False):
        yield QueryTriple("", clean(record.document), clean(record.right_summary))


def encyclopedia(data: Path, count: int) -> list[QueryTriple]:
    """As many of each file: stretches of articles, told by the sentence that says most of what the others say."""
    files = named_files(data / "wikipedia", ["*.txt"]) if count else []
    triples: list[QueryTriple] = []
    for file in files:
        articles = (each for each in read(file, IngestSettings()) if isinstance(each, Record))
        made = (made for article in articles for part in stretches(article.text) if (made := told_by_one(part)))
        triples += islice(made, math.ceil(count / len(files)))
    return triples


def stretches(text: str) -> Iterator[list[str]]:
    """The article's sentences, so many paragraphs together as have a few hundred words."""
    held: list[str] = []
    words = 0
    for paragraph in text.split("\n"):
        if paragraph.count(" ") < _HEADING:
            continue
        held += [paragraph[start:end] for start, end in sentences(paragraph)]
        words += paragraph.count(" ") + 1
        if words >= _STRETCH:
            yield held
            held, words = [], 0


def told_by_one(pieces: Sequence[str]) -> QueryTriple | None:
    """The sentence with the highest F of words with all the others is their summary; None where none is fit for one."""
    tokens = [frozenset(rouge_tokens(piece)) for piece in pieces]
    among = Counter(token for each in tokens for token in each)

    def shared(at: int) -> float:
        alone = sum(among[token] == 1 for token in tokens[at])
        both = len(tokens[at]) - alone
        return 2 * both / (len(tokens[at]) + len(among) - alone)

    fit = [at for at, piece in enumerate(pieces) if piece[-1:] == "." and len(tokens[at]) in _SUMMARY]
    if len(pieces) < _FEWEST or not fit:
        return None
    best = max(fit, key=shared)
    return QueryTriple("", " ".join([*pieces[:best], *pieces[best + 1 :]]), pieces[best])


def answers(data: Path, role: Role) -> list[QueryTriple]:
    """QA2D's questions on SQuAD: the passage told as the sentence that a person answered with.

    Tested on the articles of SQuAD's validation part; a tenth of the others is watched.
    """
    rows = [row for split in ("train", "valid") for row in qa2d.load(data / "qa2d", split, detokenize=True)]
    split = "valid" if role == "test" else "train"
    triples = [_triple(each) for each in qa2d.on_squad(rows, squad.load(data / "squad", split))]
    if role == "test":
        return triples
    return [triple for at, triple in enumerate(triples) if (at % FOLDS == 0) == (role == "valid")]


def _triple(example: Example) -> QueryTriple:
    return QueryTriple(example.question.text, example.passages[0].text, example.sentences[0])


def debates(data: Path) -> list[QueryTriple]:
    """Debatepedia's triples, in the order of the file."""
    return [
        QueryTriple(example.question.text, example.passages[0].text, example.summaries[0])
        for example in debatepedia.load(data / "debatepedia", "valid")
    ]


def fold(triples: Sequence[QueryTriple], number: int, role: Role) -> list[QueryTriple]:
    """QueryTriple i is tested in fold i mod 10, watched in the fold before, and learnt from in all others."""
    part = {"test": number, "valid": (number + 1) % FOLDS}
    wanted = part.get(role)
    if wanted is not None:
        return [triple for at, triple in enumerate(triples) if at % FOLDS == wanted]
    return [triple for at, triple in enumerate(triples) if at % FOLDS not in part.values()]
