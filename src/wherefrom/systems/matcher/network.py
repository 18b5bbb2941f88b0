"""A vector a wordpiece, and what each is worth: the network that `features/matching.py` runs with numpy."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.networks.encoder import NEVER


class MatcherNetwork(nn.Module):
    """score(q, p) = s * sum_i w_i max_j g_j cos(e_i, e_j) / sum_i w_i over the wordpieces i of q and j of p.

    w is kept above 0 by a softplus, g between 0 and 1 by a sigmoid; s makes the scores logits and is left behind at run
    time.
    """

    def __init__(self, vectors: Tensor, rarity: Tensor) -> None:
        """vectors: (wordpieces, width), to begin with; rarity: (wordpieces,), above 0, that w begins with."""
        super().__init__()
        self.vectors = nn.Parameter(vectors.clone())
        self.importance = nn.Parameter(torch.log(torch.expm1(rarity)))
        self.worth = nn.Parameter(torch.full((len(vectors),), 2.0))
        self.scale = nn.Parameter(torch.tensor(20.0))

    def weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """e, of length 1, w and g."""
        return (
            functional.normalize(self.vectors, dim=-1),
            functional.softplus(self.importance),
            torch.sigmoid(self.worth),
        )

    def forward(
        self, questions: Tensor, question_mask: Tensor, passages: Tensor, passage_mask: Tensor, group: Tensor
    ) -> Tensor:
        """questions: (questions, length), the masks are true at wordpieces; passages: (pairs, length);
        group: (pairs,), the question of each. Gives (pairs,).
        """
        wanted = functional.normalize(self.vectors[questions], dim=-1)[group]  # (pairs, wanted, width)
        there = functional.normalize(self.vectors[passages], dim=-1)  # (pairs, length, width)
        near = torch.bmm(wanted, there.transpose(1, 2)) * torch.sigmoid(self.worth[passages])[:, None, :]
        best = near.masked_fill(~passage_mask[:, None, :], -1.0).amax(dim=-1)  # (pairs, wanted)
        weights = (functional.softplus(self.importance[questions]) * question_mask)[group]  # (pairs, wanted)
        scores: Tensor = self.scale * (best * weights).sum(dim=-1) / weights.sum(dim=-1).clamp(min=1e-3)
        return scores


def list_loss(scores: Tensor, group: Tensor, place: Tensor, groups: int) -> Tensor:
    """- log softmax of the right passage, each question's first. place: (pairs,), of each among its question's."""
    widest = int(place.max()) + 1
    rows = scores.new_full((groups, widest), NEVER).index_put((group, place), scores)
    return functional.cross_entropy(rows, torch.zeros(groups, dtype=torch.long, device=scores.device))


def rarity(counts: Tensor, texts: int) -> Tensor:
    """log(texts / (count + 1)) / 4, between 0.05 and 3: what a wordpiece that many texts hold weighs at first."""
    return (math.log(texts) - torch.log(counts.float() + 1)).div(4).clamp(0.05, 3.0)
