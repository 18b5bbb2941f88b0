"""The figure of QR-BERTSUM's two masks, drawn of what the network itself is given."""

from __future__ import annotations

import torch

from wherefrom.plots import field, standalone
from wherefrom.systems.bertsum.network import Mask, attention_mask

QUERY = ("[CLS]", "dogs", "?", "[SEP]")
DOCUMENT = ("[CLS]", "dogs", "sleep", "[SEP]", "[CLS]", "cats", "run", "[SEP]")
_TITLES: dict[Mask, str] = {
    "bidirectional": "bidirectional: all see all",
    "qd": "qd: the query does not see the document",
}


def seen(kind: Mask) -> list[list[bool]]:
    """Which token of query and document (row) sees which (column)."""
    length = len(QUERY) + len(DOCUMENT)
    query = torch.arange(length)[None] < len(QUERY)
    allowed: list[list[bool]] = attention_mask(query, torch.ones(1, length, dtype=torch.bool), kind)[0].tolist()
    return allowed


def mask_figure(kind: Mask) -> str:
    """A small query and a document of two sentences, as a file of its own."""
    return standalone(field(_TITLES[kind], [("query", QUERY), ("document", DOCUMENT)], seen(kind)))
