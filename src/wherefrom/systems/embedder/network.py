"""A text's vector: the sum of its wordpieces', or the mean of what a transformer says of each; and its losses."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.networks.encoder import NEVER, Encoder


class WordsNetwork(nn.Module):
    """norm(sum_t v_t) over the different wordpieces t of a text: no layer at all, and a thousand times cheaper."""

    def __init__(self, vectors: Tensor) -> None:
        """vectors: (wordpieces, width), to begin with; a rare one should be longer than a common one."""
        super().__init__()
        self.word = nn.EmbeddingBag.from_pretrained(vectors.clone(), freeze=False, mode="sum")
        self.scale = nn.Parameter(torch.tensor(20.0))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """tokens: (texts, length) without those that only mark ends; gives (texts, width)."""
        first = first_times(tokens, mask)
        lengths = first.sum(dim=1)
        starts = torch.cumsum(lengths, dim=0) - lengths
        return functional.normalize(self.word(tokens[first], starts), dim=-1)


class EncodedNetwork(nn.Module):
    """norm(mean_t h_t) over the tokens t of a text, h being the last layer's states: as in gte-small, MiniLM."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.scale = nn.Parameter(torch.tensor(20.0))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(texts, length) with [CLS] and [SEP]; gives (texts, width)."""
        states = self.encoder(tokens, mask)  # (texts, length, width)
        weights = mask.to(states.dtype)[:, :, None]
        mean = (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
        return functional.normalize(mean, dim=-1)


EmbedderNetwork = WordsNetwork | EncodedNetwork


def first_times(tokens: Tensor, mask: Tensor) -> Tensor:
    """Where a token stands in its row for the first time: (texts, length)."""
    order = torch.sort(tokens.masked_fill(~mask, -1), dim=1, stable=True)
    new = torch.ones_like(mask)
    new[:, 1:] = order.values[:, 1:] != order.values[:, :-1]
    first = torch.zeros_like(mask).scatter(1, order.indices, new)
    return first & mask


def contrast(scores: Tensor, right: Tensor, same: Tensor) -> Tensor:
    """- log softmax of the right passage among all passages of the batch (van den Oord et al. 2018, arXiv:1807.03748).

    scores: (questions, passages); right: (questions,), the place of each one's passage; same: (questions, passages),
    true at other copies of a right passage, which are no negatives.
    """
    return functional.cross_entropy(scores.masked_fill(same, NEVER), right)


def taught(scores: Tensor, teacher: Tensor, known: Tensor, temperature: float) -> Tensor:
    """T^2 KL(softmax(teacher / T) || softmax(scores / T)) over each question's own list (Hinton et al. 2015).

    scores, teacher, known: (questions, list); a passage that is not `known` to the teacher is left out.
    """
    learned = functional.log_softmax((scores / temperature).masked_fill(~known, NEVER), dim=1)
    given = functional.log_softmax((teacher / temperature).masked_fill(~known, NEVER), dim=1)
    apart = (given.exp() * (given - learned)).masked_fill(~known, 0.0).sum(dim=1)
    counted = known.sum(dim=1) > 1
    return temperature**2 * (apart * counted).sum() / counted.sum().clamp(min=1)


def structure(vectors: Tensor, given: Tensor) -> Tensor:
    """How far the cosines between the texts of a batch are from those of another encoder, which may be wider.

    mean_{i != j} (cos(v_i, v_j) - cos(g_i, g_j))^2 (Park et al. 2019, arXiv:1904.05068, in cosines).
    """
    others = ~torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    return (vectors @ vectors.T - given @ given.T).square()[others].mean()
