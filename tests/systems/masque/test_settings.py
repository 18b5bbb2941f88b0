"""The settings of Masque's trainings: what papers change, what is the same for all, and what tells trainings apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

from wherefrom.config import updated
from wherefrom.errors import SettingsError
from wherefrom.papers.runner import resolved
from wherefrom.papers.table import paper
from wherefrom.systems.masque.settings import MasqueTraining
from wherefrom.train.stages import plain

DEFAULTS = MasqueTraining()


def changed(**values: Any) -> MasqueTraining:
    return updated(DEFAULTS, values, "a.toml")


def test_what_is_the_same_for_all() -> None:
    batch, task, loop = DEFAULTS.task.batch, DEFAULTS.task, DEFAULTS.loop
    assert (batch.passages, batch.size, batch.tokens, batch.quota) == (10, 44, 0, (27, 44))
    assert (batch.max_tokens, batch.max_passage, batch.max_question, batch.put_back) == (192, 144, 40, False)
    assert (task.valid_short, task.valid_sentences, task.valid_narrative) == (88, 88, 0)
    assert (loop.steps, loop.evaluate_every, loop.learning_rate, loop.warmup) == (700, 700, 2.5e-4, 0.12)
    transfer = DEFAULTS.transfer_task
    assert (transfer.batch.tokens, transfer.batch.size, transfer.valid_sentences) == (16_384, 0, 88)


def test_one_of_three_networks_is_trained() -> None:
    assert DEFAULTS.passage_network == DEFAULTS.masque
    assert changed(network="preast").passage_network == DEFAULTS.preast
    alone = changed(network="preast", decoder=False, preast={"ranker": "point"}).passage_network
    assert (alone.decoder_layers, alone.generation_weight, alone.ranking_weight) == (0, 0.0, 1.0)
    assert changed(network="transfer", transfer={"fusions": 1}).described()["network"]["fusions"] == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"synthetik": "all"}, "synthetik is not a setting; did you mean synthetic?"),
        ({"synthetic": "al"}, "synthetic must be one of none, selective, all, not 'al'; did you mean all?"),
        ({"masque": {"rankr": "pair"}}, "masque.rankr is not a setting; did you mean masque.ranker? (in a.toml)"),
        ({"task": {"batch": {"sise": 3}}}, "task.batch.sise is not a setting; did you mean task.batch.size?"),
        ({"loop": {"steps": "many"}}, "loop.steps must be a whole number, not 'many'"),
        ({"loop": 3}, "loop is a section of settings, not a value (in a.toml)"),
        ({"task": {"batch": {"shares": {"stories": 0.5}}}}, "shares.stories: there is no such source"),
        ({"network": "transfer", "synthetic": "all"}, "is what makes synthetic sentences"),
        ({"network": "transfer", "decoder": False}, "network=transfer has a decoder"),
    ],
)
def test_a_slip_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        changed(**values)
    assert message in str(raised.value)


def test_a_fingerprint_is_of_what_decides_what_is_learnt() -> None:
    same = [
        DEFAULTS,
        changed(seeds=[1, 2, 3]).with_seed(1),
        changed(preast={"ranker": "point"}),  # it is not the one that is trained
        changed(loop={"checkpoint_every": 7, "report_every": 7}),
    ]
    assert len({training.fingerprint() for training in same}) == 1
    other = [
        changed(loop={"seed": 2}),
        changed(loop={"steps": 3}),
        changed(masque={"classifier": "max"}),
        changed(task={"batch": {"quota": []}}),
        changed(synthetic="all"),
        changed(decoder=False),
        changed(network="preast"),
    ]
    assert len({training.fingerprint() for training in [DEFAULTS, *other]}) == 1 + len(other)
    transfer = changed(network="transfer")
    assert transfer.fingerprint(DEFAULTS) != transfer.fingerprint(other[0]) != transfer.fingerprint()
    assert plain(DEFAULTS.described())


MADE = {
    "masque": {
        "nlg": {"nlg", "qa", "nlg-ensemble", "qa-ensemble"},
        "nqa": {"nqa", "nqa-in-nlg"},
        **{
            name: {name}
            for name in (
                "single-style",
                "single-style-rnn",
                "no-ranker",
                "no-classifier",
                "gold-ranker",
                "no-decoder",
                "nqa-single-style",
            )
        },
    },
    "preast": {},
}


# Rows of the thesis that carry its claims, and its two changes one by one: trained long, all alike.
LONG = {
    "masque.toml",
    "masque-pair-lin.toml",
    "masque-point-max.toml",
    "masque-pair-max.toml",
    "masque-selective.toml",
    "preast.toml",
}


def test_the_rows_that_carry_the_claims_share_data_and_schedule() -> None:
    first, *others = (resolved(paper("preast"), file) for file in sorted(LONG))
    assert first.loop.steps > 700
    assert first.loop.checkpoint_every < first.loop.steps
    for other in others:
        assert (other.loop, other.task) == (first.loop, first.task)


@pytest.mark.parametrize("slug", MADE)
def test_the_papers_settings_are_trainings_that_differ(slug: str) -> None:
    """Each file is a training of its own, but for those that ask the same one otherwise."""
    found = paper(slug)
    trainings: dict[str, set[str]] = {}
    for file, recipe in found.recipes.items():
        assert recipe.system == "masque"
        settings = resolved(found, file)
        if file not in LONG:
            steps = 1200 if settings.network == "transfer" else 700
            assert settings.loop.steps == settings.loop.evaluate_every == steps
        start = resolved(found, recipe.uses["start"]) if "start" in recipe.uses else None
        first = replace(settings, seeds=())
        trainings.setdefault(first.fingerprint(start), set()).add(file.removesuffix(".toml"))
    shared = {frozenset(names) for names in trainings.values() if len(names) > 1}
    assert shared == {frozenset(names) for names in MADE[slug].values() if len(names) > 1}
    if MADE[slug]:
        assert {frozenset(names) for names in trainings.values()} == {frozenset(names) for names in MADE[slug].values()}
