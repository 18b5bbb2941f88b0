"""Who decays, and who learns at which rate."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch

from train.tiny import TinyNetwork
from wherefrom.errors import SettingsError
from wherefrom.train.optimizer import decaying_names, freeze, optimizer, set_rates
from wherefrom.train.settings import LoopSettings

CPU = torch.device("cpu")
MATRICES = {"encoder.weight", "head.weight", "rare_head.weight"}


def network() -> TinyNetwork:
    return TinyNetwork(dropout=0.0, batch_norm=False)


def test_biases_norms_and_embeddings_do_not_decay() -> None:
    assert decaying_names(network(), embeddings=False) == MATRICES


def test_embeddings_decay_when_wanted() -> None:
    assert decaying_names(network(), embeddings=True) == MATRICES | {"embedding.weight"}


def test_a_norm_over_two_dimensions_does_not_decay() -> None:
    assert decaying_names(torch.nn.LayerNorm((3, 4)), embeddings=True) == set()


def test_the_longest_prefix_gives_the_rate() -> None:
    model = network()
    settings = LoopSettings(learning_rate=1.0, group_rates={"e": 0.5, "encoder.": 0.25}, weight_decay=0.1)
    rates = {
        id(parameter): (group["lr"], group["weight_decay"])
        for group in optimizer(model, settings, CPU).param_groups
        for parameter in group["params"]
    }
    found = {name: rates[id(parameter)] for name, parameter in model.named_parameters()}
    assert found["encoder.weight"] == (0.25, 0.1)
    assert found["encoder.bias"] == (0.25, 0.0)
    assert found["embedding.weight"] == (0.5, 0.0)
    assert found["head.weight"] == (1.0, 0.1)


def test_the_schedule_scales_every_group() -> None:
    made = optimizer(network(), LoopSettings(learning_rate=1.0, group_rates={"head": 0.5}), CPU)
    set_rates(made, 0.5)
    set_rates(made, 0.1)
    assert {group["lr"] for group in made.param_groups} == {0.1, 0.05}


def test_the_rate_zero_freezes() -> None:
    model = network()
    freeze(model, LoopSettings(group_rates={"encoder": 0.0}))
    assert [n for n, p in model.named_parameters() if not p.requires_grad] == ["encoder.weight", "encoder.bias"]


def test_a_prefix_of_nothing_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"loop\.group_rates\.encodr fits no parameter; did you mean encoder\?"):
        optimizer(network(), LoopSettings(group_rates={"encodr": 1.0}), CPU)


def test_nothing_to_train_is_an_error() -> None:
    model, settings = network(), LoopSettings(group_rates={"": 0.0})
    freeze(model, settings)
    with pytest.raises(SettingsError, match="nothing to train"):
        optimizer(model, settings, CPU)


def test_adamax_moves_by_the_rate_along_the_first_gradient() -> None:
    """With one gradient seen, Adamax's step is rate * sign(gradient), whatever its size."""
    model = torch.nn.Linear(1, 1, bias=False)
    before = model.weight.item()
    made = optimizer(model, LoopSettings(optimizer="adamax", learning_rate=0.25, weight_decay=0.0), CPU)
    assert isinstance(made, torch.optim.Adamax)
    model.weight.grad = torch.tensor([[1000.0]])
    made.step()
    assert model.weight.item() == pytest.approx(before - 0.25, abs=1e-5)


def test_an_optimiser_nobody_knows_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"loop\.optimizer must be one of adamw, adamax, not sgd"):
        LoopSettings(optimizer="sgd")  # type: ignore[arg-type]
