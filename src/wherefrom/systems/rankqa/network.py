"""RankQA's re-ranker: two linear layers on a candidate's features, trained on pairs (Kratzwald et al. 2019)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Reg = Literal["l2", "l1"]

BOUND = 6.0  # of a scaled feature: a tag that training has seen twice must not outweigh everything else


class RankQANetwork(nn.Module):
    """f(x) = ReLU(xAᵀ + b₁)Bᵀ + b₂, A (width, features), B (1, width); x is centred, scaled and bounded first."""

    centre: Tensor
    scale: Tensor

    def __init__(self, centre: Tensor, scale: Tensor, width: int = 512) -> None:
        super().__init__()
        self.register_buffer("centre", centre.clone())  # (features,)
        self.register_buffer("scale", scale.clone())  # (features,)
        self.first = nn.Linear(len(centre), width)
        self.second = nn.Linear(width, 1)

    def forward(self, features: Tensor) -> Tensor:
        """(..., features) -> (...)"""
        seen = ((features - self.centre) / self.scale).clamp(-BOUND, BOUND)
        scores: Tensor = self.second(torch.relu(self.first(seen))).squeeze(-1)
        return scores


def pair_loss(better: Tensor, worse: Tensor) -> Tensor:
    """[y − σ(f(x_i) − f(x_j))]², the right answer first, so that y = 1; a value a pair."""
    return (1.0 - torch.sigmoid(better - worse)) ** 2


def regularizer(network: RankQANetwork, reg: Reg) -> Tensor:
    """Σ of the norms of A, b₁, B, b₂: L1 as the report's formula has it, or L2, unsquared, as its listing does."""
    order = 1 if reg == "l1" else 2
    norms = [torch.linalg.vector_norm(parameter, ord=order) for parameter in network.parameters()]
    return torch.stack(norms).sum()
