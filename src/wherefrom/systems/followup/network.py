"""The network that tells what a follow-up means, as torch trains it; `features/meant.py` runs it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class MeaningNetwork(nn.Module):
    """One number a reading; those of one follow-up are compared."""

    mean: Tensor
    scale: Tensor

    def __init__(self, features: int, width: int, dropout: float) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.first = nn.Linear(features, width)
        self.second = nn.Linear(width, width // 2)
        self.out = nn.Linear(width // 2, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, seen: Tensor) -> Tensor:
        """(readings, features) to (readings,)"""
        states = self.dropout((seen - self.mean) / self.scale)
        states = self.dropout(torch.relu(self.first(states)))
        logits: Tensor = self.out(torch.relu(self.second(states))).squeeze(1)
        return logits


def listwise_loss(logits: Tensor, groups: Tensor, gold: Tensor, count: int) -> Tensor:
    """Mean of -log p(gold), p a softmax over the readings of one follow-up; several gold ones add up."""
    highest = torch.full((count,), -1e9).scatter_reduce(0, groups, logits.detach(), "amax")
    grown = torch.exp(logits - highest[groups])
    total = torch.zeros(count).scatter_add(0, groups, grown)
    right = torch.zeros(count).scatter_add(0, groups, grown * gold)
    return -(torch.log(right + 1e-12) - torch.log(total)).mean()
