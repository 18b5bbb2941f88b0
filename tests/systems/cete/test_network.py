"""CETE's networks, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch

from systems.colours import TINY
from wherefrom.networks.layers import sinusoids
from wherefrom.systems.cete.network import FeatureNetwork, PairNetwork, ScoredPair, pooled, restricted


def test_the_mean_is_over_real_tokens_alone() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [99.0, 99.0]]])
    assert pooled(states, torch.tensor([[True, True, False]])).tolist() == [[2.0, 4.0]]


def test_a_cosine_is_held_to_the_unit_interval() -> None:
    cosine = torch.tensor([-1.0, -0.5, 0.0, 0.6, 1.0])
    assert restricted(cosine, "half").tolist() == pytest.approx([0.0, 0.25, 0.5, 0.8, 1.0])
    assert restricted(cosine, "clamp").tolist() == pytest.approx([0.0, 0.0, 0.0, 0.6, 1.0])


def test_without_layers_the_means_of_the_vectors_are_compared() -> None:
    network = FeatureNetwork(2, 1, 0.0, "none", "half").eval()
    question = torch.tensor([[[2.0, 0.0], [4.0, 0.0]]])  # mean (3, 0)
    candidate = torch.tensor([[[3.0, 8.0], [3.0, 0.0], [7.0, -9.0]]])  # mean of the first two (3, 4)
    near = network(question, torch.ones(1, 2, dtype=torch.bool), candidate, torch.tensor([[True, True, False]]))
    assert near.item() == pytest.approx((1 + 3 / 5) / 2)
    assert not list(network.parameters())


def test_questions_and_candidates_have_layers_of_their_own_over_vectors_with_places() -> None:
    network = FeatureNetwork(4, 2, 0.0, "transformer", "half").eval()
    vectors, mask = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    assert network.question is not None
    assert network.candidate is not None
    placed = vectors + sinusoids(torch.arange(3), 4)
    one, other = network.question(placed, mask).mean(1), network.candidate(placed, mask).mean(1)
    expected = (1 + torch.cosine_similarity(one, other).item()) / 2
    assert network(vectors, mask, vectors, mask).item() == pytest.approx(expected, abs=1e-6)
    assert expected != pytest.approx(1.0)  # the same text, and not the same layer
    assert network.question.feed.widen.out_features == 4  # d_ff is d_model


def test_padding_changes_no_nearness() -> None:
    network = FeatureNetwork(4, 2, 0.0, "transformer", "half").eval()
    vectors, mask = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    padded, shorter = torch.cat([vectors, torch.full((1, 2, 4), 9.0)], 1), torch.tensor([[True] * 3 + [False] * 2])
    alone = network(vectors, mask, vectors, mask).item()
    assert network(padded, shorter, padded, shorter).item() == pytest.approx(alone, abs=1e-6)


def test_a_pair_is_judged_by_the_state_of_its_first_token() -> None:
    network = PairNetwork(TINY).eval()
    tokens, mask, types = (
        torch.tensor([[1, 5, 2, 7, 2]]),
        torch.ones(1, 5, dtype=torch.bool),
        torch.tensor([[0, 0, 0, 1, 1]]),
    )
    first = network.encoder(tokens, mask, types)[0, 0]
    expected = first @ network.head.weight.T
    assert network(tokens, mask, types)[0].tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    logit = ScoredPair(network)(tokens, mask, types).item()
    chance = torch.softmax(expected, dim=0)[1].item()
    assert 1 / (1 + math.exp(-logit)) == pytest.approx(chance, abs=1e-6)
