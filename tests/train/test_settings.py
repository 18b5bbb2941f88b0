"""The loop's settings: wrong ones are named."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from wherefrom.errors import SettingsError
from wherefrom.train.settings import LoopSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accumulate", 0),
        ("report_every", -1),
        ("checkpoint_every", 0),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("weight_decay", -0.1),
        ("clip", -1.0),
        ("beta2", 1.0),
        ("ema", 1.0),
        ("warmup", 1.5),
        ("final_rate", -0.5),
        ("precision", "fp8"),
        ("decay", "sine"),
        ("goal", "most"),
        ("epochs", 0),
        ("patience", 3),
        ("least_steps", -1),
        ("seed", -1),
    ],
)
def test_a_wrong_value_is_named(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"loop\.{name} "):
        LoopSettings(**{name: value})


def test_a_wrong_group_rate_is_named() -> None:
    with pytest.raises(SettingsError, match=r"loop\.group_rates\.encoder must be 0 or above"):
        LoopSettings(group_rates={"encoder": -1.0})


def test_what_came_later_names_no_training_anew() -> None:
    settings = LoopSettings(metric="score", patience=2)
    assert "least_steps" not in settings.described()
    assert {**settings.described("seed"), "seed": 0, "least_steps": 0} == asdict(settings)
    assert replace(settings, least_steps=5).described()["least_steps"] == 5


def test_steps_stand_in_for_epochs() -> None:
    assert LoopSettings(epochs=0, steps=5).steps == 5


def test_better_follows_the_goal() -> None:
    assert LoopSettings(goal="max").better(0.2, 0.1)
    assert LoopSettings(goal="min").better(0.1, 0.2)
    assert not LoopSettings(goal="max").better(0.2, 0.2)
