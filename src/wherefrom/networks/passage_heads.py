"""What the first state of every passage says: which passages are relevant, and whether the question has an answer.

Everywhere `first` is (batch, K, width), the state of each passage's leading [CLS], and `real` is (batch, K), false for
passages that are only padding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.errors import WherefromError
from wherefrom.networks.encoder import NEVER
from wherefrom.networks.layers import EncoderBlock, masked_max

MORE, EQUAL, LESS = 0, 1, 2  # the classes of a pair of passages (PREAST-QA Eq. 4.29)


class PassageRanking(NamedTuple):
    """How relevant each passage is."""

    score: Tensor  # (batch, K), for sorting; NEVER for padded passages
    log_beta: Tensor  # (batch, K), what the combined attention weighs passages with
    pairs: Tensor | None = None  # (batch, K, K, 3), logits of MORE, EQUAL, LESS, of a pair ranker


class PointRanker(nn.Module):
    """beta_k = sigmoid(M_1 . w) (Masque section 3.2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Linear(width, 1, bias=False)

    def forward(self, first: Tensor, real: Tensor) -> PassageRanking:
        return from_logits(self.weight(first).float().squeeze(-1), real)


class PairRanker(nn.Module):
    """Every passage against every other (PREAST-QA 4.2).

    C~ = Enc(C) across passages (`p2p`), m_ki = [C~_k, C~_i, |C~_k - C~_i|, C~_k * C~_i], r_ki = m_ki W in R^3;
    b_k = 1/K sum_i (r_ki,more - r_ki,equal - r_ki,less), beta = softmax(b).

    The loss trains i <= k alone, while b_k reads all of r. `mirror` fills the rest by r_ki(more, equal, less) =
    r_ik(less, equal, more).
    """

    def __init__(self, width: int, across: EncoderBlock | None, mirror: bool) -> None:
        super().__init__()
        self.across = across
        self.mirror = mirror
        self.weight = nn.Linear(4 * width, 3, bias=False)

    def forward(self, first: Tensor, real: Tensor) -> PassageRanking:
        if self.across is not None:
            first = self.across(first, real)
        count = first.shape[1]
        one = first[:, :, None].expand(-1, -1, count, -1)  # (batch, K, K, width): k
        other = first[:, None].expand(-1, count, -1, -1)  # i
        pairs = self.weight(torch.cat([one, other, (one - other).abs(), one * other], dim=-1)).float()
        if self.mirror:
            place = torch.arange(pairs.shape[1], device=pairs.device)
            above = (place[None, :] > place[:, None])[None, :, :, None]  # i > k
            pairs = torch.where(above, pairs.transpose(1, 2).flip(-1), pairs)
        advantage = pairs[..., MORE] - pairs[..., EQUAL] - pairs[..., LESS]  # (batch, K, K)
        advantage = torch.where(real[:, None], advantage, 0.0).sum(dim=2)
        score = (advantage / real.sum(dim=1, keepdim=True).clamp(min=1)).masked_fill(~real, NEVER)
        return PassageRanking(score, torch.log_softmax(score, dim=1), pairs)


def from_logits(logits: Tensor, real: Tensor) -> PassageRanking:
    """beta = sigmoid(logits)."""
    return PassageRanking(logits.masked_fill(~real, NEVER), functional.logsigmoid(logits))


def from_labels(relevant: Tensor, real: Tensor) -> PassageRanking:
    """beta = the labels themselves; where none is relevant, all count alike, since nothing may be divided by 0."""
    relevant = relevant.bool() & real
    chosen = relevant | ~relevant.any(dim=1, keepdim=True)
    log_beta = torch.zeros(chosen.shape, device=chosen.device).masked_fill(~chosen, NEVER)
    return PassageRanking(relevant.float().masked_fill(~real, NEVER), log_beta)


def all_alike(real: Tensor) -> PassageRanking:
    """beta = 1 (no ranker)."""
    alike = torch.zeros(real.shape, device=real.device)
    return PassageRanking(alike.masked_fill(~real, NEVER), alike)


class LinearClassifier(nn.Module):
    """P(a) = sigmoid([M_1 of passage 1, ..., of passage K] . w), w in R^(K width) (Masque section 3.3).

    Each place has its own weights, so the order of the passages matters, and there is a most of them. Passages that
    are padding count nothing; the source lets the state of an empty one count. With `any_place` fewer passages than
    the most take any of the places while training, lest the last ones learn nothing.
    """

    def __init__(self, width: int, passages: int, any_place: bool = False) -> None:
        super().__init__()
        self.passages = passages
        self.any_place = any_place
        self.weight = nn.Linear(passages * width, 1, bias=False)

    def forward(self, first: Tensor, real: Tensor) -> Tensor:
        """The logit of P(a): (batch,)."""
        if (given := first.shape[1]) > self.passages:
            raise WherefromError(f"{given} passages are too many; the linear classifier takes {self.passages}")
        of_place = self.weight.weight.view(self.passages, -1)  # (places, width)
        if self.any_place and self.training and given < self.passages:
            drawn = torch.rand(len(first), self.passages, device=first.device).argsort(dim=1)[:, :given]  # (batch, K)
            of_place = of_place[drawn]  # (batch, K, width)
        else:
            of_place = of_place[:given]  # (K, width)
        of_each = (first * of_place).sum(dim=-1).float()  # (batch, K)
        return torch.where(real, of_each, 0.0).sum(dim=1)


class MaxClassifier(nn.Module):
    """P(a) = sigmoid(max over passages of M_1 . w), the greatest of each feature (PREAST-QA Eq. 4.57).

    Takes any number of passages in any order.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Linear(width, 1, bias=False)

    def forward(self, first: Tensor, real: Tensor) -> Tensor:
        """The logit of P(a): (batch,)."""
        logit: Tensor = self.weight(masked_max(first, real[..., None], dim=1)).float().squeeze(-1)
        return logit


# Losses --------------------------------------------------------------------------------------------------------------


def point_loss(logits: Tensor, relevant: Tensor, real: Tensor, positive: float = 1.0) -> Tensor:
    """-1/N sum 1/K sum_k [r_k log beta_k + (1 - r_k) log(1 - beta_k)] (PREAST-QA Eq. 4.27); labels 1 become `positive`.

    logits, relevant, real: (batch, K). Examples without passages are left out.
    """
    missed = functional.binary_cross_entropy_with_logits(logits, relevant.float() * positive, reduction="none")
    count = real.sum(dim=1)
    by_example = torch.where(real, missed, 0.0).sum(dim=1) / count.clamp(min=1)
    return by_example.sum() / (count > 0).sum().clamp(min=1)


def pair_loss(pairs: Tensor, relevant: Tensor, real: Tensor) -> Tensor:
    """-1/N sum 2/(K(K+1)) sum_k sum_{i<=k} log softmax(r_ki)[label] (PREAST-QA Eq. 4.35).

    The label of (k, i) is MORE if k alone is relevant, LESS if i alone is, else EQUAL. pairs: (batch, K, K, 3).
    """
    relevant = relevant.long()
    label = EQUAL - (relevant[:, :, None] - relevant[:, None])  # (batch, K, K)
    missed = functional.cross_entropy(pairs.permute(0, 3, 1, 2), label, reduction="none")  # (batch, K, K)
    counts = (real[:, :, None] & real[:, None]).tril()
    of_each = counts.flatten(1).sum(dim=1)  # K(K+1)/2
    by_example = torch.where(counts, missed, 0.0).flatten(1).sum(dim=1) / of_each.clamp(min=1)
    return by_example.sum() / (of_each > 0).sum().clamp(min=1)


def classification_loss(
    logits: Tensor, answerable: Tensor, positive: float = 1.0, counts: Tensor | None = None
) -> Tensor:
    """-1/N sum [a log P(a) + (1 - a) log(1 - P(a))] (PREAST-QA Eq. 4.26); labels 1 become `positive`. (batch,) both.

    counts: (batch,), which examples are labelled; all of them where it is not given.
    """
    missed = functional.binary_cross_entropy_with_logits(logits, answerable.float() * positive, reduction="none")
    if counts is None:
        return missed.mean()
    return torch.where(counts, missed, 0.0).sum() / counts.sum().clamp(min=1)


def pair_weight(point_weight: float, relevant_share: float) -> float:
    """The weight that gives the pair loss the part the point loss had (PREAST-QA appendix C).

    weight = point_weight E[L_point] / E[L_pair]: the entropies of always predicting how common each label is, with p
    the share of relevant passages: (p, 1 - p), and (p(1-p), p^2 + (1-p)^2, p(1-p)) for pairs.
    """
    p = relevant_share
    point = _entropy(p, 1 - p)
    pair = _entropy(p * (1 - p), p * p + (1 - p) ** 2, p * (1 - p))
    return point_weight * point / pair


def _entropy(*probabilities: float) -> float:
    return -sum(share * math.log(share) for share in probabilities if share > 0)
