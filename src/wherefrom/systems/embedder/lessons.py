"""What larger networks say of the pairs: the reader how well a passage answers, gte-small how near passages are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy
import torch
from torch import Tensor

from wherefrom.networks.encoder import Encoder, EncoderSettings
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.systems.embedder.carried import unpacked
from wherefrom.systems.embedder.network import EncodedNetwork
from wherefrom.systems.embedder.pairs import CLASSIFY, SEPARATE, PairColumns

_TOKENS = 65_536  # of a pass on a GPU, padding included
_TOKENS_CPU = 4_096
_MOST_QUESTION = 64
_LONGEST = 288  # tokens of a question and a passage

Report = Callable[[int, int], None]


def near(pairs: PairColumns, encoder: Encoder, passage: int, device: str, report: Report) -> Tensor:
    """The vectors of all passages, in 16 bits: (passages, width)."""
    network = EncodedNetwork(encoder).eval().to(device)
    rows = [
        numpy.concatenate([[CLASSIFY], pairs.tokens("passage", number)[:passage], [SEPARATE]])
        for number in range(pairs.passages)
    ]
    vectors = torch.zeros(len(rows), encoder.settings.width, dtype=torch.float16)
    with torch.inference_mode(), _fast(device):
        for places, tokens, mask, _ in _batches(rows, [0] * len(rows), device, report):
            vectors[places] = network(tokens, mask).to(torch.float16).cpu()
    return vectors


def answering(pairs: PairColumns, weights: Path, settings: EncoderSettings, device: str, report: Report) -> Tensor:
    """The reader's relevance of each question's right passage and of its negatives: (questions, 1 + negatives)."""
    network = ReaderNetwork(settings)
    network.load_state_dict(unpacked(weights), strict=False)
    network = network.eval().to(device)
    gold, negatives = pairs["gold"], pairs["negatives"]
    longest = min(_LONGEST, settings.max_tokens)
    rows: list[numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]]] = []
    firsts: list[int] = []
    where: list[tuple[int, int]] = []
    for number in range(len(pairs)):
        question = numpy.concatenate([[CLASSIFY], pairs.tokens("question", number)[:_MOST_QUESTION], [SEPARATE]])
        for column, passage in enumerate([gold[number], *negatives[number]]):
            if passage >= 0:
                rows.append(numpy.concatenate([question, pairs.tokens("passage", passage), [SEPARATE]])[:longest])
                firsts.append(len(question))
                where.append((number, column))
    logits = torch.zeros(len(pairs), 1 + negatives.shape[1], dtype=torch.float16)
    at = torch.tensor(where)
    with torch.inference_mode(), _fast(device):
        for places, tokens, mask, types in _batches(rows, firsts, device, report):
            relevance = network(tokens, mask, mask & types.bool(), types).relevance
            logits[at[places, 0], at[places, 1]] = relevance.to(torch.float16).cpu()
    return logits


def _batches(
    rows: Sequence[numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]]],
    firsts: Sequence[int],
    device: str,
    report: Report,
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Rows of like length together: their places, tokens, mask, and which part they belong to."""
    most = _TOKENS_CPU if device == "cpu" else _TOKENS
    order = sorted(range(len(rows)), key=lambda at: -len(rows[at]))
    done = 0
    while done < len(order):
        longest = len(rows[order[done]])
        places = order[done : done + max(1, most // longest)]
        tokens = numpy.zeros((len(places), longest), numpy.int64)
        mask = numpy.zeros((len(places), longest), bool)
        types = numpy.zeros((len(places), longest), numpy.int64)
        for row, place in enumerate(places):
            tokens[row, : len(rows[place])] = rows[place]
            mask[row, : len(rows[place])] = True
            types[row, firsts[place] : len(rows[place])] = 1
        report(done, len(order))
        read, real, parts = (torch.from_numpy(each).to(device) for each in (tokens, mask, types))
        yield torch.tensor(places), read, real, parts
        done += len(places)


def _fast(device: str) -> torch.autocast:
    kind = torch.device(device).type
    return torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda")
