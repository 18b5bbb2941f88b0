"""The selector as torch sees it: one hidden layer, a head a purpose."""

from __future__ import annotations

import torch
from torch import nn

from wherefrom.features.worth import PURPOSES


class SelectorNetwork(nn.Module):
    """(statements, features) to (statements, purposes): logits."""

    centre: torch.Tensor
    scale: torch.Tensor

    def __init__(self, features: int, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("centre", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.hidden = nn.Linear(features, width)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width, len(PURPOSES))

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        scaled = (seen - self.centre) / self.scale
        logits: torch.Tensor = self.out(self.dropout(torch.relu(self.hidden(scaled))))
        return logits

    def tables(self) -> dict[str, torch.Tensor]:
        """As run time reads them: the layers transposed."""
        return {
            "centre": self.centre,
            "scale": self.scale,
            "hidden": self.hidden.weight.detach().T,
            "hidden_bias": self.hidden.bias.detach(),
            "out": self.out.weight.detach().T,
            "out_bias": self.out.bias.detach(),
        }
