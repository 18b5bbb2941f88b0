"""Training RankQA: pairs by hand, what it learns, and the way from a library to weights that a pipeline runs."""

from __future__ import annotations

import json
import random
import shutil
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
from wherefrom.systems.contract import settings_of
from wherefrom.systems.rankqa.about import ABOUT, Inputs
from wherefrom.systems.rankqa.material import CANDIDATES, collect, kept_questions, reading
from wherefrom.systems.rankqa.network import RankQANetwork
from wherefrom.systems.rankqa.report import compared, figures, voted
from wherefrom.systems.rankqa.system import DEFAULTS, Questions, stages
from wherefrom.systems.rankqa.task import (
    CandidateRows,
    RankQARecipe,
    RankQATask,
    RankQATaskSettings,
    first_of,
    pairs_of,
)
from wherefrom.systems.rankqa.variants import families, variants_of
from wherefrom.train.errors import CheckpointUnusable, TrainingError
from wherefrom.train.loop import fitted, trained
from wherefrom.train.stages import run

NO_TAGS = ("retrieval", "reading", "aggregation")


# Pairs.


def pairs(exact: str, pairing: str = "all", **settings: Any) -> list[tuple[int, int]]:
    return pairs_of([letter == "+" for letter in exact], RankQATaskSettings(pairing=pairing, **settings), "q")  # type: ignore[arg-type]


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


def question(number: int, right: int, rows: Sequence[dict[str, float]], article: str = "") -> CandidateRows:
    numbers = numpy.zeros((len(rows), len(names())))
    for place, row in enumerate(rows):
        for name, value in {"rank": place, "first_occurrence": place, **row}.items():
            numbers[place, names().index(name)] = value
    exact = numpy.array([place == right for place in range(len(rows))])
    return CandidateRows(str(number), article or f"a{number % 4}", "Who is it?", numbers, exact, exact.astype(float))


def told_by(feature: str, count: int, seed: int = 5) -> list[CandidateRows]:
    """Questions of four candidates, of which the right one is that with the largest value of one feature."""
    draw = random.Random(seed)
    drawn = [[draw.uniform(-1.0, 1.0) for _ in range(4)] for _ in range(count)]
    return [
        question(number, values.index(max(values)), [{feature: value} for value in values])
        for number, values in enumerate(drawn)
    ]


class TestTask(TaskContract):
    """RankQATask is a task."""

    near_zero = 0.02

    @pytest.fixture
    def task(self) -> RankQATask:
        settings = RankQATaskSettings(width=16, reg_weight=0.0, held_out=0.2)
        return RankQATask(told_by("sum_doc", 8), settings, {})


QUICK = RankQARecipe(RankQATaskSettings(width=32), replace(DEFAULTS.loop, epochs=30, learning_rate=0.01, patience=30))


def train(questions: Sequence[CandidateRows], recipe: RankQARecipe, folder: Path) -> RankQANetwork:
    task = RankQATask(questions, recipe.task, {})
    fitted(task, recipe.loop, folder, say=lambda _: None)
    return trained(task, folder)


def test_it_learns_which_feature_tells_and_beats_the_reader(tmp_path: Path) -> None:
    network = train(told_by("sum_doc", 150), QUICK, tmp_path)
    fresh = told_by("sum_doc", 100, seed=6)
    after = figures(fresh, [first_of(network, each, QUICK.task) for each in fresh])
    before = figures(fresh, [0] * len(fresh))
    assert after.em > 90.0 > 50.0 > before.em
    comparison = compared(after, before, samples=200)
    assert comparison["em"]["p"] < 0.01
    assert comparison["mended"] - comparison["broken"] == round((after.em - before.em) * len(fresh) / 100)


def test_it_cannot_learn_from_a_feature_that_it_is_not_shown(tmp_path: Path) -> None:
    recipe = replace(QUICK, task=replace(QUICK.task, without=("sum_doc",)))
    network = train(told_by("sum_doc", 150), recipe, tmp_path)
    fresh = told_by("sum_doc", 100, seed=6)
    assert figures(fresh, [first_of(network, each, recipe.task) for each in fresh]).em < 50.0


def test_questions_without_a_pair_are_told() -> None:
    same = [question(number, -1, [{}, {}]) for number in range(20)]
    with pytest.raises(TrainingError, match="20 questions give no pair"):
        RankQATask(same, RankQATaskSettings(), {})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"groups": ("retrieval", "taggs")}, "task.groups knows no 'taggs'; it knows retrieval, reading"),
        ({"groups": ()}, "leaves no feature"),
        ({"without": ("doc_simm",)}, "task.without knows no feature 'doc_simm'"),
        ({"reg": "l3"}, "task.reg is one of l2, l1, not l3"),
        ({"top_k": 0}, "task.top_k must be above 0"),
        ({"held_out": 1.0}, "task.held_out"),
    ],
)
def test_mistakes_in_settings_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        RankQATaskSettings(**settings)


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
    questions = [question(1, 0, [{}]), question(2, 1, [{}, {}]), replace(question(3, 0, [{}]), question="When was it?")]
    result = figures(questions, [0, 0, -1])
    assert result.em == pytest.approx(100 / 3)
    assert result.by_start == {"who": (2, 50.0), "when": (1, 0.0)}


def test_ablations_leave_out_groups_features_and_choices_one_at_a_time() -> None:
    variants = {name: variant.task for name, variant in variants_of(DEFAULTS).items()}
    assert variants["without-tags"].groups == NO_TAGS
    assert "doc_sim" not in variants["without-feature-doc_sim"].features
    assert len(variants["without-feature-pos"].features) < len(variants["all-features"].features) - 10
    assert "rankqa" not in variants  # the source's own recipe has all features
    assert (variants["top-k-4"].top_k, variants["reg-l1"].reg) == (4, "l1")
    assert "top-k-40" not in variants  # that is the recipe itself
    assert sum(len(members) for members in families(names()).values()) == len(names())
    assert list(variants_of(SMALL).items())[-1] == ("rankqa", SMALL)
    assert next(iter(variants_of(SMALL).values())).task.groups == GROUPS


def test_the_shipped_recipe_needs_no_tagger() -> None:
    assert settings_of(DEFAULTS, ABOUT.recipe).task == RankQATaskSettings(groups=NO_TAGS, reg="l1")


# From a library to weights.


SMALL = RankQARecipe(
    RankQATaskSettings(groups=NO_TAGS, width=8, held_out=0.3),
    replace(DEFAULTS.loop, epochs=3, patience=3),
    resolve(overrides=SENTENCES),
)


def made(
    folder: Path, *chosen: str, settings: RankQARecipe = SMALL, out: str = "out", **given: object
) -> tuple[Path, list[str]]:
    """Run stages (all, if none is named) over the library in a folder; OUT, and what was said."""
    library(folder).close()
    said: list[str] = []
    inputs = Inputs(folder / "data", folder / "library", **given)  # type: ignore[arg-type]
    run("rankqa", stages(settings, inputs, folder / out, said.append), folder / out, chosen or None, said.append)
    return folder / out, said


def questions(folder: Path, **given: object) -> Questions:
    """Of the candidates that were made there."""
    inputs = Inputs(folder / "data", folder / "library", **given)  # type: ignore[arg-type]
    return Questions(inputs, folder / "out", lambda _: None)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, library and candidates; not to be changed."""
    folder = tmp_path_factory.mktemp("read")
    write_squad(folder / "data")
    made(folder, "candidates")
    return folder


@pytest.fixture
def there(read: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(read, tmp_path / "there")


def test_candidates_are_kept_as_the_pipeline_reads_them(read: Path) -> None:
    kept = list(kept_questions(read / "out" / "candidates" / CANDIDATES))
    assert len(kept) == 12
    opened = library(read)
    for question, example in zip(kept, squad.load(read / "data" / "squad", "valid"), strict=True):
        (trace,) = opened.pipeline().ask_many([example.question], "short")
        assert question.candidates() == list(trace.candidates)
        assert (question.article, question.answers) == (example.article, example.answers)
    assert made(read, "candidates")[1] == ["candidates: already made"]


def test_an_interrupted_reading_goes_on_and_a_cut_line_is_dropped(there: Path) -> None:
    file = there / "out" / "candidates" / CANDIDATES
    kept = list(kept_questions(file))
    text = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(text[:5]) + text[5][:40])
    reports: list[tuple[int, int]] = []
    again = collect(
        there / "data" / "squad", library(there), file.parent, report=lambda done, total: reports.append((done, total))
    )
    assert again == kept
    assert reports == [(5, 12), (12, 12)]
    assert file.read_bytes() == b"".join(text)


def test_more_questions_join_those_that_were_a_sample(tmp_path: Path) -> None:
    write_squad(tmp_path / "data")
    out, _ = made(tmp_path, "candidates", every=5)
    assert len(list(kept_questions(out / "candidates" / CANDIDATES))) == 3
    made(tmp_path, "candidates")
    assert len(list(kept_questions(out / "candidates" / CANDIDATES))) == 12


def test_candidates_of_two_readers_are_not_mixed(there: Path) -> None:
    other = replace(SMALL, pipeline=resolve(overrides=[*SENTENCES, "retrieve.k=3"]))
    with pytest.raises(TrainingError, match=r"was made with settings = .*; name another folder"):
        made(there, "candidates", settings=other)


def test_a_damaged_line_is_named(there: Path) -> None:
    file = there / "out" / "candidates" / CANDIDATES
    file.write_bytes(b"{}\n" + file.read_bytes())
    with pytest.raises(TrainingError, match="line 1, is damaged"):
        made(there, "training")


def test_a_re_ranker_learns_from_some_articles_and_is_measured_on_others(there: Path) -> None:
    out, said = made(there)
    fitting, measuring = questions(there).of(SMALL)
    assert {each.article for each in fitting}.isdisjoint(each.article for each in measuring)
    assert len(fitting) + len(measuring) == 12
    measured = json.loads((out / "measured" / "measured.json").read_text())
    assert measured["measured on"]["questions"] == len(measuring)
    assert set(measured["rankqa"]["against the reader"]) == {"em", "f1", "mended", "broken"}
    lost = measured["errors"]["wrong after re-ranking"]
    assert sum(lost.values()) == round((100 - measured["rankqa"]["em"]) * len(measuring) / 100)
    for drawn in (out / "training" / "curves.svg", *sorted((out / "measured").glob("by-start-*.svg"))):
        text = drawn.read_text()
        assert text.startswith("<svg")
        assert "<style>" in text
    assert {path.stem for path in (out / "measured").glob("*.svg")} == {
        "by-start-reader",
        "by-start-vote",
        "by-start-rankqa",
    }
    assert any(line.startswith("measure: exact match") for line in said)
    assert not (out / "ablations").exists()  # they run when they are named
    provenance = json.loads((out / "weights" / "provenance.json").read_text())
    assert provenance["stages"]["measure"]["facts"]["rankqa"]["em"] == measured["rankqa"]["em"]
    assert provenance["stages"]["candidates"]["made_of"]["library"] == {"documents": 4, "passages": 4}
    assert made(there)[1] == [f"{name}: already made" for name in ABOUT.stages if name != "ablate"]


@pytest.mark.skipif(not (SHIPPED / "tagger").exists(), reason="ablations look at tags, and no tagger is shipped")
def test_ablations_are_measured_beside_each_other(there: Path) -> None:
    named = ("without-aggregation", "without-tags", "top-k-4", "rankqa")
    out, _ = made(there, "training", "measure", "ablate", "export", variant=named)
    measured = json.loads((out / "measured" / "measured.json").read_text())
    ablations = json.loads((out / "ablations" / "ablations.json").read_text())
    assert ablations["variants"]["rankqa"]["em"] == measured["rankqa"]["em"]
    assert ablations["variants"]["all-features"]["against all features"]["em"] == {"difference": 0.0, "p": 1.0}
    assert list(ablations["variants"]) == ["all-features", "without-tags", "without-aggregation", "top-k-4", "rankqa"]
    assert made(there, "ablate", variant=named)[1] == ["ablate: already made"]
    with pytest.raises(NotFound, match=r"no ablation 'top-k-5'; there are all-features, without-retrieval"):
        made(there, "ablate", variant=("top-k-5",))


def test_swapped_halves_learn_from_what_is_else_measured_on(there: Path) -> None:
    out, _ = made(there, "training", "measure")
    candidates = out / "candidates"
    swapped, _ = made(there, "training", "measure", out="swapped", swap=True, candidates=candidates)
    assert [[each.id for each in half] for half in questions(there, swap=True).of(SMALL)] == [
        [each.id for each in half] for half in reversed(questions(there).of(SMALL))
    ]
    first, second = (json.loads((each / "measured" / "measured.json").read_text()) for each in (out, swapped))
    assert second["measured on"] == first["trained on"]
    with pytest.raises(CheckpointUnusable, match="begun with another task or other data"):
        made(there, "training", swap=True)  # a training is not taken for that of the other half


def test_the_weights_tell_of_candidates_without_a_preference_for_short_ones(tmp_path: Path) -> None:
    write_squad(tmp_path / "data")
    chosen = replace(SMALL, pipeline=resolve(overrides=[*SENTENCES, "read.brevity=false"]))
    out, _ = made(tmp_path, "candidates", "training", "export", settings=chosen)
    assert tomllib.loads((out / "weights" / "settings.toml").read_text())["brevity"] is False


def test_the_weights_rank_as_the_trained_network_does(there: Path) -> None:
    out, _ = made(there, "training", "export")
    weights = out / "weights"
    assert sorted(file.name for file in weights.iterdir()) == ["model.npz", "provenance.json", "settings.toml"]
    assert "brevity" not in tomllib.loads((weights / "settings.toml").read_text())
    halves = questions(there)
    network = trained(halves.task(SMALL), out / "training")
    using = Library(
        there / "library", resolve(overrides=[*SENTENCES, "rerank.kind=rankqa", f"rerank.weights={weights}"])
    )
    by_id = {each.id: each for half in halves.of(SMALL) for each in half}
    kept = list(kept_questions(out / "candidates" / CANDIDATES))
    traces = using.pipeline().ask_many([question.as_question() for question in kept], "short", 0.0)
    for question, trace in zip(kept, traces, strict=True):
        wanted = question.candidates()[first_of(network, by_id[question.id], SMALL.task)]
        assert trace.candidates[0].text == wanted.text
        assert trace.answer is not None
        assert trace.answer.text == wanted.text
        assert len(trace.candidates) == len(question.places)
        assert "rerank" in trace.timings
    assert weights in using.pipeline().weights


def test_without_candidates_training_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="run the stage candidates first"):
        made(tmp_path, "training")


def test_a_settings_file_is_checked(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[task]\ngroups = ["reading"]\n[loop]\nepochs = 2\n[pipeline.read]\nkind = "drqa"\n'
    )
    recipe = settings_of(DEFAULTS, tmp_path / "mine.toml")
    assert (recipe.task.groups, recipe.loop.epochs, recipe.loop.patience) == (("reading",), 2, 20)
    assert (recipe.pipeline.read.kind, recipe.pipeline.retrieve.k) == ("drqa", 12)
    (tmp_path / "mine.toml").write_text("[task]\ntopk = 4\n")
    with pytest.raises(SettingsError, match=r"task.topk is not a setting; did you mean task.top_k\?"):
        settings_of(DEFAULTS, tmp_path / "mine.toml")


def test_the_re_ranker_sees_more_candidates_than_are_told_otherwise() -> None:
    settings = reading(Settings())
    assert (settings.read.candidates, settings.rerank.kind) == (40, "none")
