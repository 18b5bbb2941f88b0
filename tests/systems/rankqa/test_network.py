"""RankQA's network: its formula, its loss and its regularisers, by hand."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch", reason="networks need torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch

from wherefrom.systems.rankqa.network import BOUND, RankQANetwork, pair_loss, regularizer


def small() -> RankQANetwork:
    """f(x) = relu(z0 - z1 + 1) * 2 - relu(3 z1) + 0.5, z = (x - centre) / scale."""
    network = RankQANetwork(torch.tensor([1.0, 0.0]), torch.tensor([2.0, 1.0]), width=2)
    with torch.no_grad():
        network.first.weight.copy_(torch.tensor([[1.0, -1.0], [0.0, 3.0]]))
        network.first.bias.copy_(torch.tensor([1.0, 0.0]))
        network.second.weight.copy_(torch.tensor([[2.0, -1.0]]))
        network.second.bias.copy_(torch.tensor([0.5]))
    return network


def test_the_formula_by_hand() -> None:
    scores = small()(torch.tensor([[3.0, 0.5], [-5.0, 1.0]]))  # z: (1, 0.5) and (-3, 1)
    assert scores.tolist() == pytest.approx([2 * 1.5 - 1.5 + 0.5, 0.0 - 3.0 + 0.5])


def test_a_feature_beyond_all_that_was_seen_is_bounded() -> None:
    assert small()(torch.tensor([[1e9, 0.0]])).item() == pytest.approx(2 * (BOUND + 1) + 0.5)


def test_the_loss_of_a_pair_by_hand() -> None:
    losses = pair_loss(torch.tensor([0.0, 2.0]), torch.tensor([0.0, -1.0]))
    assert losses.tolist() == pytest.approx([0.25, (1 - 1 / (1 + math.exp(-3))) ** 2])


def test_swapping_a_pair_and_its_label_changes_nothing() -> None:
    """[0 - sigma(worse - better)]^2 is the same number: the right answer may always stand first."""
    better, worse = torch.tensor([1.7]), torch.tensor([0.4])
    assert pair_loss(better, worse).item() == pytest.approx(torch.sigmoid(worse - better).item() ** 2)


def test_regularisers_are_sums_of_norms() -> None:
    l1 = (1 + 1 + 3) + 1 + (2 + 1) + 0.5
    l2 = math.sqrt(1 + 1 + 9) + 1 + math.sqrt(4 + 1) + 0.5
    assert regularizer(small(), "l1").item() == pytest.approx(l1)
    assert regularizer(small(), "l2").item() == pytest.approx(l2)
