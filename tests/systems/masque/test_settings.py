"""Recipes of the papers' writers: what their settings files say, and what is the same for all."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

from wherefrom.networks.masque_settings import MasqueSettings
from wherefrom.systems.masque.recipe import Inputs, Training, WriterRecipe, differences, writer_recipe
from wherefrom.systems.masque.run import network_settings, task_settings
from wherefrom.systems.masque.transfer_task import StyleTransferTaskSettings

from wherefrom.errors import SettingsError
from wherefrom.train.writing.task import WriterTaskSettings

INPUTS = Inputs(Path("m"), Path("c"), Path("s"), Path("y"), "cuda")


def training(**table: Any) -> Training:
    found = writer_recipe({"preset": "preast", **table}).training
    assert found is not None
    return found


def provenance(of: Training, seed: int = 1, **data: str) -> dict[str, Any]:
    """What `provenance.json` holds once this was trained."""
    task = {"data": {"material": "hash", **data}, "settings": {**asdict(of.task), "network": asdict(of.network)}}
    found: dict[str, Any] = json.loads(json.dumps({"task": task, "settings": {**asdict(of.loop), "seed": seed}}))
    return found


def options(arguments: list[str]) -> dict[str, str]:
    names = [part for part in arguments if part.startswith("--")]
    return {
        name: arguments[arguments.index(name) + 1] for name in names if name not in ("--encoder-only", "--descriptive")
    }


def test_what_a_table_does_not_say_is_the_same_for_all() -> None:
    found = training(loop={"steps": 700})
    task = found.task
    assert isinstance(task, WriterTaskSettings)
    assert (task.batch.passages, task.batch.size, task.batch.tokens, task.batch.quota) == (10, 44, 0, (27, 44))
    assert (task.batch.max_tokens, task.batch.max_passage, task.batch.max_question) == (192, 144, 40)
    assert (task.valid_short, task.valid_sentences, task.valid_narrative) == (88, 88, 0)
    loop = found.loop
    assert (loop.steps, loop.evaluate_every, loop.learning_rate, loop.warmup) == (700, 700, 2.5e-4, 0.12)
    assert (loop.report_every, loop.checkpoint_every, loop.evaluate_first) == (100, 100_000, False)


def test_style_transfer_and_models_without_decoder_have_their_own() -> None:
    apart = training(decoder=False, network={"ranker": "point"}).task
    assert isinstance(apart, WriterTaskSettings)
    assert (apart.valid_short, apart.valid_sentences) == (88, 0)
    alone = training(decoder=False, network={"ranker": "point"}).network
    assert isinstance(alone, MasqueSettings)
    assert (alone.decoder_layers, alone.generation_weight, alone.ranking_weight) == (0, 0.0, 1.0)
    transfer = training(preset="transfer", task={"reverse": 0.3}).task
    assert isinstance(transfer, StyleTransferTaskSettings)
    assert (transfer.batch.tokens, transfer.batch.size, transfer.valid_sentences, transfer.reverse) == (
        16_384,
        0,
        88,
        0.3,
    )


def test_false_is_no_quota() -> None:
    assert training(batch={"quota": False}).task.batch.quota is None
    assert (
        json.loads(options(training(batch={"quota": False}).fit(Path("o"), INPUTS, 1))["--task"])["batch"]["quota"]
        is None
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"synthetik": "all"}, "synthetik is not a setting; did you mean synthetic?"),
        ({"synthetic": "al"}, "synthetic must be one of none, selective, all, not 'al'; did you mean all?"),
        ({"network": {"rankr": "pair"}}, "rankr is not a setting; did you mean ranker? (in a.toml, network)"),
        ({"batch": {"sise": 3}}, "sise is not a setting; did you mean size? (in a.toml, batch)"),
        ({"task": {"valid_shrt": 3}}, "valid_shrt is not a setting; did you mean valid_short"),
        ({"loop": {"steps": "many"}}, "steps must be a whole number, not 'many'"),
        ({"loop": 3}, "loop is a table of settings, not 3 (in a.toml)"),
        ({"masque": "masque.toml"}, "masque is for preset = 'transfer', not 'preast'"),
        ({"preset": "transfer", "synthetic": "all"}, "is what makes synthetic sentences"),
        ({"run": "b.toml"}, "has that run's training; leave preset out"),
    ],
)
def test_a_slip_is_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        writer_recipe({"preset": "preast", **table}, "a.toml")
    assert message in str(raised.value)


def test_a_recipe_has_a_preset_or_the_run_of_another() -> None:
    with pytest.raises(SettingsError, match="preset is missing"):
        writer_recipe({"loop": {"steps": 3}}, "a.toml")
    assert writer_recipe({"run": "b.toml", "seeds": [1, 2], "answers": "short"}) == WriterRecipe(
        None, "b.toml", (1, 2), "short"
    )


@pytest.mark.parametrize(
    "table",
    [
        {"preset": "masque", "batch": {"quota": False, "shares": {"1": 0.0}, "styles": "sentence"}},
        {"decoder": False, "network": {"classifier": "linear"}, "batch": {"size": 80}},
        {"synthetic": "all", "network": {"tie_embeddings": True}, "task": {"valid_narrative": 88}},
    ],
)
def test_the_command_line_trains_what_the_recipe_says(table: dict[str, Any]) -> None:
    found = training(**table)
    arguments = found.fit(Path("out"), INPUTS, 2)
    given = options(arguments)
    only = "--encoder-only" in arguments
    assert network_settings(given["--preset"], json.loads(given["--network"]), only) == found.network
    assert task_settings(json.loads(given["--task"])) == found.task
    assert json.loads(given["--loop"])["seed"] == 2
    assert ("--synthetic" in given, "--descriptive" in arguments) == (found.synthetic == "all",) * 2
    assert arguments[0] == "fit"


def test_it_says_in_larger_batches() -> None:
    given = options(training(preset="masque", batch={"size": 80}).say(Path("out"), INPUTS))
    batch = task_settings(json.loads(given["--task"])).batch
    assert (batch.size, batch.quota, batch.max_passage) == (220, None, 144)
    assert (given["--said"], given["--most"]) == ("out/said.jsonl", "1445")
    transfer = options(training(preset="transfer").say(Path("out"), INPUTS, Path("masque")))
    assert json.loads(transfer["--task"])["batch"]["tokens"] == 131_072
    assert transfer["--masque"] == "masque"


def test_a_run_of_the_same_settings_does_not_differ() -> None:
    found = training(preset="masque", batch={"shares": {"1": 0.0}}, loop={"steps": 5})
    assert differences(found, 3, provenance(found, 3)) == []
    other = replace(found, synthetic="all")
    assert differences(other, 3, provenance(other, 3, synthetic="hash")) == []


def test_differences_of_a_run_are_named() -> None:
    found = training(loop={"steps": 5})
    made = provenance(
        training(network={"ranker": "point"}, batch={"size": 40, "shares": {"1": 0.5}}, loop={"steps": 4})
    )
    assert differences(found, 2, {**made, "task": {**made["task"], "data": {"synthetic": "hash"}}}) == [
        "network.ranker is 'point', not 'pair'",
        "batch.shares is {'1': 0.5}, not {}",
        "batch.size is 40, not 44",
        "loop.steps is 4, not 5",
        "loop.seed is 1, not 2",
        "it learned from synthetic sentences",
    ]
    del made["task"]["settings"]["network"]["p2p"]
    assert "network.p2p is not told, not True" in differences(found, 1, made)
    assert differences(found, 1, {})
