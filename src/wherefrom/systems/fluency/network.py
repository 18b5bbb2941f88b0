"""The network that tells well-formed sentences from garbled ones, as torch trains it; `features/fluency.py` runs it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from wherefrom.features.fluency import FLAGS, ROWS


class Texts(NamedTuple):
    """Texts of a batch, padded on the right."""

    rows: Tensor  # (texts, tokens, PARTS)
    flags: Tensor  # (texts, tokens, FLAGS)
    mask: Tensor  # (texts, tokens): which tokens there are


class FluencyNetwork(nn.Module):
    """Words with their neighbours, layer by layer; then the largest and the mean state of sentence and question."""

    def __init__(self, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.table = nn.Embedding(ROWS, width)
        self.flags = nn.Linear(FLAGS, width, bias=False)
        self.kind = nn.Embedding(2, width)
        self.mix = nn.ModuleList(nn.Conv1d(width, width, 3, padding=1) for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.hidden = nn.Linear(4 * width, width)
        self.out = nn.Linear(width, 1)
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.table.weight, std=0.3)
        nn.init.normal_(self.kind.weight, std=0.1)

    def forward(self, sentence: Texts, question: Texts) -> Tensor:
        pooled = torch.cat([self._pooled(sentence, 0), self._pooled(question, 1)], dim=1)
        hidden = torch.relu(self.hidden(self.dropout(pooled)))
        logits: Tensor = self.out(self.dropout(hidden)).squeeze(1)
        return logits

    def _pooled(self, texts: Texts, kind: int) -> Tensor:
        there = texts.mask.unsqueeze(2)  # (texts, tokens, 1)
        states = (self.table(texts.rows).sum(dim=2) + self.flags(texts.flags) + self.kind.weight[kind]) * there
        for mix, norm in zip(self.mix, self.norm, strict=True):
            mixed = torch.relu(mix(states.transpose(1, 2)).transpose(1, 2))
            states = norm(states + self.dropout(mixed)) * there
        largest = states.masked_fill(there == 0, -1e4).amax(dim=1)
        return torch.cat([largest, states.sum(dim=1) / there.sum(dim=1).clamp(min=1)], dim=1)
