"""CETE's two networks: a pair read in one sequence, and two texts that are encoded apart and compared.

Laskar 2021, sections 3.2.1 and 3.2.2. Masks are true at real tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.networks.encoder import Encoder, EncoderSettings
from wherefrom.networks.layers import EncoderBlock, Positions
from wherefrom.systems.cete.settings import Layer, Restriction


class PairNetwork(nn.Module):
    """P = softmax(C W^T), C being the state of the first token of `[CLS] question [SEP] candidate [SEP]` (Eq. 3.3)."""

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__()
        self.encoder = Encoder(settings)
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(settings.width, 2, bias=False)
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, tokens: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """(pairs, length) three times, to the logits of wrong and right: (pairs, 2)."""
        first = self.encoder(tokens, mask, types)[:, 0]  # (pairs, width)
        logits: Tensor = self.head(self.dropout(first))
        return logits


class FeatureNetwork(nn.Module):
    """S(X, Y) = cosine(H_X, H_Y), held to [0, 1] (Eq. 3.2); H is the mean of what one fresh layer makes of the vectors.

    Questions and candidates have a layer each. Without layers the vectors' own means are compared: then there is
    nothing to learn.
    """

    def __init__(self, width: int, heads: int, dropout: float, layer: Layer, restriction: Restriction) -> None:
        super().__init__()
        self.restriction = restriction
        self.positions = Positions("sinusoidal", width)
        self.dropout = nn.Dropout(dropout)
        fresh = layer == "transformer"
        self.question = EncoderBlock(width, heads, width, dropout, dropout) if fresh else None
        self.candidate = EncoderBlock(width, heads, width, dropout, dropout) if fresh else None

    def forward(self, question: Tensor, question_mask: Tensor, candidate: Tensor, candidate_mask: Tensor) -> Tensor:
        """question, candidate: (pairs, length, width) of frozen vectors. Gives (pairs,)."""
        one = pooled(self.encoded(question, question_mask, self.question), question_mask)
        other = pooled(self.encoded(candidate, candidate_mask, self.candidate), candidate_mask)
        return restricted(functional.cosine_similarity(one, other, dim=-1), self.restriction)

    def encoded(self, vectors: Tensor, mask: Tensor, block: EncoderBlock | None) -> Tensor:
        """What the layer makes of a text; the vectors themselves where there is none."""
        if block is None:
            return vectors
        states: Tensor = block(self.dropout(self.positions(vectors)), mask)
        return states


def pooled(states: Tensor, mask: Tensor) -> Tensor:
    """The mean over real tokens: (pairs, length, width) to (pairs, width)."""
    real = mask[..., None].to(states.dtype)
    mean: Tensor = (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
    return mean


def restricted(cosine: Tensor, how: Restriction) -> Tensor:
    """half: (1 + cos) / 2; clamp: cos, and 0 below it. The thesis says that it lies in [0, 1] and not how."""
    return (1 + cosine) / 2 if how == "half" else cosine.clamp(min=0)


class ScoredPair(nn.Module):
    """The fine-tuned network for run time: one logit, whose sigmoid is P(right) (Eq. 3.4)."""

    def __init__(self, network: PairNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        wrong, right = torch.unbind(self.network(tokens, mask, types), dim=-1)
        return right - wrong
