"""Training RankQA: pairs by hand, what it learns, and the way from a library to weights that a pipeline runs."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import numpy

from train.contract import TaskContract
from train.tiny_articles import SENTENCES, library, write_squad
from wherefrom.config import Settings, resolve
from wherefrom.data import squad
from wherefrom.errors import NotFound, SettingsError
from wherefrom.features.candidates import GROUPS, names
from wherefrom.library import Library
from wherefrom.runtime.weights import SHIPPED
from wherefrom.systems.rankqa.material import CANDIDATES, collect, kept
from wherefrom.systems.rankqa.report import compared, figures, voted
from wherefrom.systems.rankqa.system import RankQAMaker, Variant, families, reading, recipe_of, variants_of
from wherefrom.systems.rankqa.task import Asked, RankQARecipe, RankQASettings, RankQATask, first_of, pairs_of, train
from wherefrom.train.errors import TrainingError

NO_TAGS = ("retrieval", "reading", "aggregation")


# Pairs.


def pairs(exact: str, pairing: str = "all", **settings: Any) -> list[tuple[int, int]]:
    return pairs_of([letter == "+" for letter in exact], RankQASettings(pairing=pairing, **settings), "q")  # type: ignore[arg-type]


def test_pairs_are_a_right_and_a_wrong_candidate_best_first() -> None:
    assert pairs("-+-") == [(1, 0), (1, 2)]
    assert pairs("+-+") == [(0, 1), (2, 1)]
    assert pairs("--") == pairs("++") == pairs("") == pairs("+") == []


def test_pairs_end_at_the_most_of_a_question_and_at_the_top_k() -> None:
    assert pairs("+" + "-" * 30) == [(0, place) for place in range(1, 11)]  # the others are never seen
    assert pairs("+---", pairs=2) == [(0, 1), (0, 2)]
    assert pairs("--+-", top_k=2) == []


def test_drawn_pairs_reach_all_candidates_and_repeat() -> None:
    drawn = pairs("+" + "-" * 30, "drawn")
    assert len(set(drawn)) == 10
    assert all(right == 0 < wrong for right, wrong in drawn)
    assert max(wrong for _, wrong in drawn) > 10
    assert drawn == pairs("+" + "-" * 30, "drawn")
    assert pairs("-+-", "drawn") == [(1, 0), (1, 2)]


def test_adjacent_pairs_are_neighbours_among_the_first() -> None:
    assert pairs("-+-+", "adjacent") == [(1, 0), (1, 2)]  # i = 0 and i = 1
    assert pairs("--+", "adjacent") == [(2, 1)]
    assert pairs("---+", "adjacent") == []


# Learning.


def question(number: int, right: int, rows: Sequence[dict[str, float]], article: str = "") -> Asked:
    numbers = numpy.zeros((len(rows), len(names())))
    for place, row in enumerate(rows):
        for name, value in {"rank": place, "first_occurrence": place, **row}.items():
            numbers[place, names().index(name)] = value
    exact = numpy.array([place == right for place in range(len(rows))])
    return Asked(str(number), article or f"a{number % 4}", "Who is it?", numbers, exact, exact.astype(float))


def told_by(feature: str, count: int, seed: int = 5) -> list[Asked]:
    """Questions of four candidates, of which the right one is that with the largest value of one feature."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        values = [draw.uniform(-1.0, 1.0) for _ in range(4)]
        found.append(question(number, values.index(max(values)), [{feature: value} for value in values]))
    return found


class TestTask(TaskContract):
    """RankQATask is a task."""

    near_zero = 0.02

    @pytest.fixture
    def task(self) -> RankQATask:
        settings = RankQASettings(width=16, reg_weight=0.0, held_out=0.2)
        return RankQATask(told_by("sum_doc", 8), settings, {})


QUICK = RankQARecipe(RankQASettings(width=32), replace(RankQARecipe().loop, epochs=30, learning_rate=0.01, patience=30))


def test_it_learns_which_feature_tells_and_beats_the_reader(tmp_path: Path) -> None:
    network = train(told_by("sum_doc", 150), QUICK, {}, tmp_path)
    fresh = told_by("sum_doc", 100, seed=6)
    after = figures(fresh, [first_of(network, asked, QUICK.task) for asked in fresh])
    before = figures(fresh, [0] * len(fresh))
    assert after.em > 90.0 > 50.0 > before.em
    found = compared(after, before, samples=200)
    assert found["em"]["p"] < 0.01
    assert found["mended"] - found["broken"] == round((after.em - before.em) * len(fresh) / 100)


def test_it_cannot_learn_from_a_feature_that_it_is_not_shown(tmp_path: Path) -> None:
    recipe = replace(QUICK, task=replace(QUICK.task, without=("sum_doc",)))
    network = train(told_by("sum_doc", 150), recipe, {}, tmp_path)
    fresh = told_by("sum_doc", 100, seed=6)
    assert figures(fresh, [first_of(network, asked, recipe.task) for asked in fresh]).em < 50.0


def test_questions_without_a_pair_are_told() -> None:
    same = [question(number, -1, [{}, {}]) for number in range(20)]
    with pytest.raises(TrainingError, match="20 questions give no pair"):
        RankQATask(same, RankQASettings(), {})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"groups": ("retrieval", "taggs")}, "rankqa.groups knows no 'taggs'; it knows retrieval, reading"),
        ({"groups": ()}, "leaves no feature"),
        ({"without": ("doc_simm",)}, "rankqa.without knows no feature 'doc_simm'"),
        ({"reg": "l3"}, "rankqa.reg is one of l2, l1, not l3"),
        ({"top_k": 0}, "rankqa.top_k must be above 0"),
        ({"held_out": 1.0}, "rankqa.held_out"),
    ],
)
def test_mistakes_in_settings_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        RankQASettings(**settings)


# Figures.


def test_a_vote_takes_the_answer_with_the_larger_sum() -> None:
    rows = [
        {"read_score": 0.0, "first_occurrence": 0.0},
        {"read_score": -0.3, "first_occurrence": 1.0},
        {"read_score": -0.5, "first_occurrence": 1.0},
    ]
    assert voted(question(1, 0, rows)) == 1
    assert voted(question(1, 0, rows[:1])) == 0
    assert voted(question(1, 0, [])) == -1


def test_figures_by_question_word_by_hand() -> None:
    asked = [question(1, 0, [{}]), question(2, 1, [{}, {}]), replace(question(3, 0, [{}]), question="When was it?")]
    found = figures(asked, [0, 0, -1])
    assert found.em == pytest.approx(100 / 3)
    assert found.by_start == {"who": (2, 50.0), "when": (1, 0.0)}


def test_ablations_leave_out_groups_features_and_choices_one_at_a_time() -> None:
    variants = {variant.name: variant.recipe.task for variant in variants_of(RankQARecipe())}
    assert variants["without-tags"].groups == NO_TAGS
    assert "doc_sim" not in variants["without-feature-doc_sim"].features
    assert len(variants["without-feature-pos"].features) < len(variants["all-features"].features) - 10
    assert "rankqa" not in variants  # the source's own recipe has all features
    assert (variants["top-k-4"].top_k, variants["reg-l1"].reg) == (4, "l1")
    assert "top-k-40" not in variants  # that is the recipe itself
    assert sum(len(members) for members in families(names()).values()) == len(names())
    assert list(variants_of(SMALL))[-1] == Variant("rankqa", SMALL)
    assert next(variants_of(SMALL)).recipe.task.groups == GROUPS


def test_the_shipped_recipe_needs_no_tagger() -> None:
    assert recipe_of().task == RankQASettings(groups=NO_TAGS, reg="l1")


# From a library to weights.


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_squad(tmp_path / "data")


SMALL = RankQARecipe(
    RankQASettings(groups=NO_TAGS, width=8, held_out=0.3), replace(RankQARecipe().loop, epochs=3, patience=3)
)


def maker(tmp_path: Path, data: Path, recipe: RankQARecipe = SMALL) -> RankQAMaker:
    return RankQAMaker(recipe, data, library(tmp_path), tmp_path / "out", say=lambda _: None)


def test_candidates_are_kept_as_the_pipeline_reads_them(tmp_path: Path, data: Path) -> None:
    lines = maker(tmp_path, data).candidates()
    assert len(lines) == 12
    opened = library(tmp_path)
    examples = list(squad.load(data / "squad", "valid"))
    for line, example in zip(lines, examples, strict=True):
        (trace,) = opened.pipeline().ask_many([example.question], "short")
        assert line.candidates() == list(trace.candidates)
        assert (line.article, line.answers) == (example.article, example.answers)
    assert list(kept(tmp_path / "out" / CANDIDATES)) == lines


def test_an_interrupted_reading_goes_on_and_a_cut_line_is_dropped(tmp_path: Path, data: Path) -> None:
    lines = maker(tmp_path, data).candidates()
    file = tmp_path / "out" / CANDIDATES
    text = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(text[:5]) + text[5][:40])
    reports: list[tuple[int, int]] = []
    examples = list(squad.load(data / "squad", "valid"))
    again = collect(
        examples,
        data / "squad" / "valid-v1.1.json",
        library(tmp_path),
        tmp_path / "out",
        lambda done, total: reports.append((done, total)),
    )
    assert again == lines
    assert reports[0] == (5, 12)
    assert file.read_bytes() == b"".join(text)


def test_candidates_of_two_readers_are_not_mixed(tmp_path: Path, data: Path) -> None:
    maker(tmp_path, data).candidates()
    other = RankQAMaker(SMALL, data, library(tmp_path, "retrieve.k=3"), tmp_path / "out", say=lambda _: None)
    with pytest.raises(TrainingError, match=r"was made with settings = .*; name another folder"):
        other.candidates()


def test_a_damaged_line_is_named(tmp_path: Path, data: Path) -> None:
    maker(tmp_path, data).candidates()
    file = tmp_path / "out" / CANDIDATES
    file.write_bytes(b"{}\n" + file.read_bytes())
    with pytest.raises(TrainingError, match="line 1, is damaged"):
        maker(tmp_path, data).train()


def test_a_re_ranker_learns_from_some_articles_and_is_measured_on_others(tmp_path: Path, data: Path) -> None:
    made = maker(tmp_path, data)
    made.make(["candidates", "train", "measure"])
    fitting, measuring = made.halves
    assert {asked.article for asked in fitting}.isdisjoint(asked.article for asked in measuring)
    assert len(fitting) + len(measuring) == 12
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    assert measured["measured on"]["questions"] == len(measuring)
    assert set(measured["rankqa"]["against the reader"]) == {"em", "f1", "mended", "broken"}
    lost = measured["errors"]["wrong after re-ranking"]
    assert sum(lost.values()) == round((100 - measured["rankqa"]["em"]) * len(measuring) / 100)
    for name in ("curves.svg", "by-start-reader.svg", "by-start-rankqa.svg"):
        drawn = (tmp_path / "out" / name).read_text()
        assert drawn.startswith("<svg")
        assert "<style>" in drawn


@pytest.mark.skipif(not (SHIPPED / "tagger").exists(), reason="ablations look at tags, and no tagger is shipped")
def test_ablations_are_measured_beside_each_other(tmp_path: Path, data: Path) -> None:
    made = maker(tmp_path, data)
    made.make(["candidates", "measure", "ablate"], ["without-aggregation", "without-tags", "top-k-4", "rankqa"])
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    ablations = json.loads((tmp_path / "out" / "ablations.json").read_text())
    assert ablations["variants"]["rankqa"]["em"] == measured["rankqa"]["em"]
    assert ablations["variants"]["all-features"]["against all features"]["em"] == {"difference": 0.0, "p": 1.0}
    assert list(ablations["variants"]) == ["all-features", "without-tags", "without-aggregation", "top-k-4", "rankqa"]
    with pytest.raises(NotFound, match=r"no ablation 'top-k-5'; there are all-features, without-retrieval"):
        made.make(["ablate"], ["top-k-5"])


def test_swapped_halves_learn_from_what_is_else_measured_on(tmp_path: Path, data: Path) -> None:
    made = maker(tmp_path, data)
    made.make(["candidates", "train", "measure"])
    whole = (tmp_path / "out" / "measured.json").read_bytes()
    swapped = RankQAMaker(SMALL, data, library(tmp_path), tmp_path / "out", swap=True, say=lambda _: None)
    swapped.make(["train", "measure"])
    assert [[asked.id for asked in half] for half in swapped.halves] == [
        [asked.id for asked in half] for half in reversed(made.halves)
    ]
    assert (tmp_path / "out" / "measured.json").read_bytes() == whole
    again = json.loads((tmp_path / "out" / "measured-swapped.json").read_text())
    assert again["measured on"] == json.loads(whole)["trained on"]
    assert (tmp_path / "out" / "weights-swapped" / "model.npz").exists()


def test_the_weights_tell_of_candidates_without_a_preference_for_short_ones(tmp_path: Path, data: Path) -> None:
    maker(tmp_path, data)
    chosen = Library(tmp_path / "library", resolve(overrides=[*SENTENCES, "read.brevity=false"]))
    RankQAMaker(SMALL, data, chosen, tmp_path / "out", say=lambda _: None).make(["candidates", "train"])
    assert tomllib.loads((tmp_path / "out" / "weights" / "settings.toml").read_text())["brevity"] is False


def test_the_weights_rank_as_the_trained_network_does(tmp_path: Path, data: Path) -> None:
    made = maker(tmp_path, data)
    made.make(["candidates", "train"])
    weights = tmp_path / "out" / "weights"
    assert sorted(file.name for file in weights.iterdir()) == ["model.npz", "provenance.json", "settings.toml"]
    assert "brevity" not in tomllib.loads((weights / "settings.toml").read_text())
    network, _ = made._trained(Variant("rankqa", SMALL), made.halves[0])
    using = Library(
        tmp_path / "library", resolve(overrides=[*SENTENCES, "rerank.kind=rankqa", f"rerank.weights={weights}"])
    )
    by_id = {asked.id: asked for half in made.halves for asked in half}
    lines = list(kept(tmp_path / "out" / CANDIDATES))
    traces = using.pipeline().ask_many([line.asked for line in lines], "short", 0.0)
    for line, trace in zip(lines, traces, strict=True):
        wanted = line.candidates()[first_of(network, by_id[line.id], SMALL.task)]
        assert trace.candidates[0].text == wanted.text
        assert trace.answer is not None
        assert trace.answer.text == wanted.text
        assert len(trace.candidates) == len(line.places)
        assert "rerank" in trace.timings
    assert weights in using.pipeline().weights


def test_training_again_goes_on_with_what_is_there(tmp_path: Path, data: Path) -> None:
    made = maker(tmp_path, data)
    made.make(["candidates", "train"])
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "training").glob("*/model.safetensors")}
    maker(tmp_path, data).make(["train", "measure"])
    assert before == {file: file.stat().st_mtime_ns for file in before}
    assert len(before) == 1


def test_without_candidates_training_says_what_is_missing(tmp_path: Path, data: Path) -> None:
    with pytest.raises(TrainingError, match="run the stage candidates first"):
        maker(tmp_path, data).train()


def test_a_recipe_file_is_checked(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[task]\ngroups = ["reading"]\n[loop]\nepochs = 2\n')
    recipe = recipe_of(tmp_path / "mine.toml")
    assert (recipe.task.groups, recipe.loop.epochs, recipe.loop.patience) == (("reading",), 2, 20)
    (tmp_path / "mine.toml").write_text("[task]\ntopk = 4\n")
    with pytest.raises(SettingsError, match=r"task.topk is not a setting; did you mean task.top_k\?"):
        recipe_of(tmp_path / "mine.toml")


def test_the_re_ranker_sees_more_candidates_than_are_told_otherwise() -> None:
    settings = reading(Settings())
    assert (settings.read.candidates, settings.rerank.kind) == (40, "none")
