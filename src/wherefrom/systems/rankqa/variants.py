"""Ablations: what is measured beside a re-ranker to see what each part of it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wherefrom.features.candidates import GROUPS
from wherefrom.systems.rankqa.task import RankQARecipe

_CHOICES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("reg-l1", {"reg": "l1"}),
    ("pairing-drawn", {"pairing": "drawn"}),
    ("pairing-all", {"pairing": "all"}),
    ("pairing-adjacent", {"pairing": "adjacent"}),
    ("top-k-4", {"top_k": 4}),
    ("top-k-10", {"top_k": 10}),
    ("top-k-40", {"top_k": 40}),
)


def variants_of(recipe: RankQARecipe) -> dict[str, RankQARecipe]:
    """By name: first all features, last the recipe where it has not all of them."""
    whole = replace(recipe, task=replace(recipe.task, groups=GROUPS, without=()))
    task = whole.task
    variants = {"all-features": whole}
    for group in task.chosen:
        others = tuple(name for name in task.chosen if name != group)
        variants[f"without-{group}"] = replace(whole, task=replace(task, groups=others))
    for name, members in families(task.features).items():
        variants[f"without-feature-{name}"] = replace(whole, task=replace(task, without=members))
    for name, change in _CHOICES:
        changed = replace(task, **change)
        if changed != task:
            variants[name] = replace(whole, task=changed)
    for seed in (1, 2):  # how much is chance
        variants[f"seed-{seed}"] = replace(whole, loop=replace(whole.loop, seed=whole.loop.seed + seed))
    return variants if recipe == whole else {**variants, "rankqa": recipe}


def families(features: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Single features by name; the indicators of question starts, parts of speech and entities go together."""
    together = {"starts_": "question_start", "pos_": "pos", "ner_": "ner"}
    members: dict[str, tuple[str, ...]] = {}
    for feature in features:
        name = next((family for prefix, family in together.items() if feature.startswith(prefix)), feature)
        members[name] = (*members.get(name, ()), feature)
    return members
