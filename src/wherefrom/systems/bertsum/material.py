"""Triples of query, document and summary, as QR-BERTSUM reads them, and the datasets that they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import torch

from wherefrom.data import debatepedia, xsum
from wherefrom.data.opening import json_records, named_files
from wherefrom.metrics.rouge import rouge_n
from wherefrom.metrics.tokens import rouge_tokens
from wherefrom.systems.bertsum.audit import Triple
from wherefrom.systems.bertsum.network import QueryDocuments
from wherefrom.text import clean, sentences

CLASSIFY, SEPARATE, BEGIN, PADDING, UNKNOWN = 101, 102, 1, 0, 100  # [CLS], [SEP], [unused1], [PAD], [UNK]
FOLDS = 10
_ORACLE = 3  # sentences of the extractive labels, as many as BERTSUM takes
Role = Literal["train", "valid", "test"]
Cut = Callable[[str], list[int]]  # a text's wordpieces


@dataclass(frozen=True, slots=True)
class Encoded:
    """A triple in wordpieces."""

    tokens: tuple[int, ...]
    types: tuple[int, ...]
    query: int  # tokens of it, [CLS] and [SEP] included; 0 without a query
    sentences: tuple[int, ...]  # where the [CLS] of each sentence of the document stands
    target: tuple[int, ...]  # the summary and [SEP]
    labels: tuple[float, ...]  # of the sentences: 1 where it is of the extractive reference
    summary: str


def encoded(triple: Triple, cut: Cut, document_tokens: int, summary_tokens: int, query: bool) -> Encoded:
    """The triple as one sequence; the document is cut at so many wordpieces, marks not counted."""
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
    labels = extractive_labels(pieces, triple.summary)
    return Encoded(tuple(tokens), tuple(types), length, tuple(starts), target, labels, triple.summary)


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


def batch_of(examples: Sequence[Encoded]) -> SummaryBatch:
    """Padded on the right."""

    def padded(rows: Sequence[Sequence[float]], value: float, dtype: torch.dtype) -> torch.Tensor:
        longest = max(1, *(len(row) for row in rows))
        return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], dtype=dtype)

    given = QueryDocuments(
        tokens=padded([each.tokens for each in examples], PADDING, torch.long),
        mask=padded([[1] * len(each.tokens) for each in examples], 0, torch.bool),
        types=padded([each.types for each in examples], 0, torch.long),
        query=padded([[at < each.query for at in range(len(each.tokens))] for each in examples], 0, torch.bool),
        sentences=padded([each.sentences for each in examples], 0, torch.long),
        sentence_mask=padded([[1] * len(each.sentences) for each in examples], 0, torch.bool),
    )
    target = padded([each.target for each in examples], PADDING, torch.long)
    return SummaryBatch(given, target, padded([each.labels for each in examples], 0.0, torch.float32))


# Datasets.


class _News(msgspec.Struct):
    document: str
    right_summary: str


def generic(data: Path, news: int) -> list[Triple]:
    """News with summaries, without a query: XSum's sample, and `news` of the articles that HaluEval brings."""
    triples = [
        Triple("", example.passages[0].text, example.summaries[0])
        for example in xsum.load(named_files(data / "xsum_sample", ["xsum.jsonl"])[0], "train")
        if example.summaries
    ]
    return [*triples, *_first(_halueval(data), news)]


def _halueval(data: Path) -> Iterator[Triple]:
    file = named_files(data / "halueval", ["summarization.jsonl"])[0]
    for _, record in json_records(file, _News, strict=False):
        yield Triple("", clean(record.document), clean(record.right_summary))


def _first(triples: Iterator[Triple], count: int) -> Iterator[Triple]:
    for _, triple in zip(range(count), triples, strict=False):
        yield triple


def debates(data: Path) -> list[Triple]:
    """Debatepedia's triples, in the order of the file."""
    return [
        Triple(example.question.text, example.passages[0].text, example.summaries[0])
        for example in debatepedia.load(data / "debatepedia", "valid")
    ]


def fold(triples: Sequence[Triple], number: int, role: Role) -> list[Triple]:
    """Triple i is tested in fold i mod 10, watched in the fold before, and learnt from in all others."""
    part = {"test": number, "valid": (number + 1) % FOLDS}
    wanted = part.get(role)
    if wanted is not None:
        return [triple for at, triple in enumerate(triples) if at % FOLDS == wanted]
    return [triple for at, triple in enumerate(triples) if at % FOLDS not in part.values()]
