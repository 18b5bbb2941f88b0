"""Makes a RankQA re-ranker for a reader: candidates from a library, training, network for run time, figures.

    OUT/candidates.jsonl    the candidates of every question, as the pipeline reads them from the library
    OUT/training/           the trainings, a folder each
    OUT/weights/            the result: a folder for `rerank.weights`
    OUT/measured.json       what it is worth on the articles it was not trained on, with loss curves and plots beside it
    OUT/ablations.json      the same without a group of features, without a single one, and with other choices

The questions are of SQuAD's validation articles, which no reader of ours was fitted to. Articles are dealt into two
halves as the judge's are: the re-ranker learns from one and is measured on the other. A stage that is finished is not
done again; the long one, reading the candidates, goes on where it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy
import tomli_w

from wherefrom.config import Settings, read_toml, updated
from wherefrom.data import squad
from wherefrom.data.opening import split_file
from wherefrom.durable import write_text
from wherefrom.errors import NotFound
from wherefrom.evaluate.halves import halved
from wherefrom.features.candidates import GROUPS
from wherefrom.features.tags import Tagger
from wherefrom.library import Library
from wherefrom.origin import commit_of, file_hash
from wherefrom.rerank.rankqa import MODEL
from wherefrom.runtime.weights import Weights
from wherefrom.systems.rankqa import material as kept_candidates
from wherefrom.systems.rankqa.material import CANDIDATES, Line
from wherefrom.systems.rankqa.network import BOUND, RankQANetwork
from wherefrom.systems.rankqa.report import Figures, compared, figures, plots, told, voted
from wherefrom.systems.rankqa.task import Asked, RankQARecipe, asked_of, first_of, train
from wherefrom.train.errors import TrainingError
from wherefrom.train.loop import CURVES, LOG, PROVENANCE, Progress
from wherefrom.train.progress import paced
from wherefrom.train.provenance import versions

Halves = tuple[list[Asked], list[Asked]]
Stage = Literal["candidates", "train", "measure", "ablate"]
STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True, slots=True)
class Variant:
    """One training: a name, and what it is trained with."""

    name: str
    recipe: RankQARecipe


DEFAULT = Path(__file__).parent / "recipes" / "rankqa.toml"  # of the re-ranker that comes with wherefrom


def recipe_of(toml: Path = DEFAULT) -> RankQARecipe:
    """The recipe in a TOML file: what it does not say is as in the source. A name that is no setting is an error."""
    return updated(RankQARecipe(), read_toml(toml), str(toml))


def reading(settings: Settings) -> Settings:
    """The pipeline that candidates are read with: no re-ranker yet, and as many candidates as it will see."""
    return replace(
        settings,
        rerank=replace(settings.rerank, kind="none"),
        read=replace(settings.read, candidates=settings.rerank.candidates),
    )


class RankQAMaker:
    """One re-ranker under way: a method a stage."""

    def __init__(
        self,
        recipe: RankQARecipe,
        data: Path,
        library: Library,
        out: Path,
        every: int = 1,
        swap: bool = False,
        tagger: Weights | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        """`data` is the folder of datasets; `library` has the settings that candidates are read with.

        `swap` learns from the half of the articles that is else measured on: every figure a second time, on questions
        of its own. What it makes has `-swapped` in its name.
        """
        self._recipe = recipe
        self._data = data / "squad"
        self._library = library
        self._out = out
        self._every = every
        self._swap = swap
        self._tagger = tagger or Weights.named("tagger")
        self._say = say

    def make(self, stages: Sequence[Stage] = STAGES, only: Sequence[str] = ()) -> None:
        """Run stages, in their order; `only` names ablations, else it is all of them."""
        made: dict[Stage, Callable[[], object]] = {
            "candidates": self.candidates,
            "train": self.train,
            "measure": self.measure,
            "ablate": lambda: self.ablate(only),
        }
        for stage in STAGES:
            if stage in stages:
                made[stage]()

    # Stages.

    def candidates(self) -> list[Line]:
        """Ask the library every question, and keep what the reader says."""
        file = split_file(self._data, "valid", squad.FILES)
        examples = list(squad.load(self._data, "valid"))[:: self._every]
        return kept_candidates.collect(examples, file, self._library, self._out, paced("candidates", self._say))

    def train(self) -> Path:
        """The re-ranker, trained on one half of the articles and written as weights."""
        fitting, _ = self.halves
        variant = Variant("rankqa", self._recipe)
        network, folder = self._trained(variant, fitting)
        self._export(network, folder, self._data_of(variant))
        for name in (CURVES, LOG):
            shutil.copyfile(folder / name, self._named(name))
        self._say(f"train: the re-ranker is in {self._named('weights')}")
        return self._named("weights")

    def measure(self) -> dict[str, Any]:
        """Before and after, on the other half of the articles."""
        fitting, measuring = self.halves
        network, _ = self._trained(Variant("rankqa", self._recipe), fitting)
        read = figures(measuring, [0 if len(asked.exact) else -1 for asked in measuring])
        votes = figures(measuring, [voted(asked) for asked in measuring])
        ranked = self._figures(Variant("rankqa", self._recipe), network, measuring)
        result = {
            **self._about(fitting, measuring),
            "reader": read.told(),
            "vote": {**votes.told(), "against the reader": compared(votes, read)},
            "rankqa": {**ranked.told(), "against the reader": compared(ranked, read)},
        }
        lines = {line.id: line for line in kept_candidates.kept(self._out / CANDIDATES)}
        result["errors"] = told(measuring, lines, network, self._recipe.task)
        self._write("measured.json", result)
        for name, plot in plots(measuring, {"reader": read, "vote": votes, "rankqa": ranked}).items():
            write_text(self._named(name), plot)
        self._say(
            f"measure: exact match {read.em:.2f} by the reader, {votes.em:.2f} by votes, {ranked.em:.2f} by rankqa on "
            f"{len(measuring):,} questions of articles that it was not trained on"
        )
        return result

    def ablate(self, only: Sequence[str] = ()) -> dict[str, Any]:
        """The same measurement with all features, without groups of them, without single ones, with other choices."""
        known = list(variants_of(self._recipe))
        for name in only:
            if name not in {variant.name for variant in known}:
                raise NotFound(f"there is no ablation '{name}'; there are {', '.join(one.name for one in known)}")
        variants = [known[0], *(variant for variant in known[1:] if not only or variant.name in only)]
        fitting, measuring = self._halves(tagged=True)
        read = figures(measuring, [0 if len(asked.exact) else -1 for asked in measuring])
        whole: Figures | None = None
        rows: dict[str, Any] = {}
        for number, variant in enumerate(variants, start=1):
            network, _ = self._trained(variant, fitting)
            found = self._figures(variant, network, measuring)
            whole = whole or found
            rows[variant.name] = {
                **found.told(),
                "against the reader": compared(found, read, samples=2000),
                "against all features": compared(found, whole, samples=2000),
            }
            self._say(f"ablate: {number} of {len(variants)}, {variant.name}: exact match {found.em:.2f}")
        result = {**self._about(fitting, measuring), "reader": read.told(), "variants": rows}
        self._write("ablations.json", result)
        return result

    def accuracy(self, variant: Variant) -> Figures:
        """The figures of one variant, trained if need be."""
        fitting, measuring = self.halves
        network, _ = self._trained(variant, fitting)
        return self._figures(variant, network, measuring)

    def readers(self) -> Figures:
        """The reader's own figures on the same questions."""
        _, measuring = self.halves
        return figures(measuring, [0 if len(asked.exact) else -1 for asked in measuring])

    # Inside.

    @cached_property
    def halves(self) -> Halves:
        """The questions to learn from, and those to be measured on, with the features that the recipe looks at."""
        return self._halves(tagged="tags" in self._recipe.task.groups)

    def _halves(self, tagged: bool) -> Halves:
        file = self._out / CANDIDATES
        lines = list(kept_candidates.kept(file))
        if not lines:
            raise TrainingError(f"{file} is not there yet; run the stage candidates first (--stage candidates)")
        asked = asked_of(lines, Tagger(self._tagger) if tagged else None, paced("features", self._say))
        chosen = halved(lines)
        fitting = [question for question in asked if question.article in chosen]
        measuring = [question for question in asked if question.article not in chosen]
        if not measuring:
            raise TrainingError(
                f"the {len(lines)} questions of {file} are of one article: a re-ranker needs others to be measured on; "
                "take more questions"
            )
        return (measuring, fitting) if self._swap else (fitting, measuring)

    def _named(self, name: str) -> Path:
        """A file or folder of results."""
        stem, dot, ending = name.partition(".")
        return self._out / f"{stem}{'-swapped' if self._swap else ''}{dot}{ending}"

    @cached_property
    def _hashes(self) -> dict[str, str]:
        """Of what features are made of."""
        tagger = self._tagger.folder / "tagger.npz"
        found = {CANDIDATES: file_hash(self._out / CANDIDATES)}
        return {**found, tagger.name: file_hash(tagger)} if tagger.exists() else found

    def _data_of(self, variant: Variant) -> dict[str, str]:
        """The hashes that a training depends on: the tagger's only where it looks at tags."""
        tagged = "tags" in variant.recipe.task.groups
        return {name: value for name, value in self._hashes.items() if tagged or name == CANDIDATES}

    def _trained(self, variant: Variant, fitting: Sequence[Asked]) -> tuple[RankQANetwork, Path]:
        data = self._data_of(variant)
        articles = sorted({asked.article for asked in fitting})
        facts = json.dumps([asdict(variant.recipe), data, articles], sort_keys=True)
        folder = self._out / "training" / f"{variant.name}-{hashlib.sha256(facts.encode()).hexdigest()[:12]}"

        def say(progress: Progress) -> None:
            if progress.finished:
                self._say(f"train: {variant.name}: {progress}")

        return train(fitting, variant.recipe, data, folder, say), folder

    def _figures(self, variant: Variant, network: RankQANetwork, measuring: Sequence[Asked]) -> Figures:
        return figures(measuring, [first_of(network, asked, variant.recipe.task) for asked in measuring])

    def _export(self, network: RankQANetwork, folder: Path, data: Mapping[str, str]) -> None:
        task = self._recipe.task
        settings = self._library.settings()
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=self._out) as workplace:
            fresh = Path(workplace) / "weights"
            fresh.mkdir()
            numpy.savez(fresh / MODEL, **arrays_of(network))  # type: ignore[arg-type]
            told = {
                "reader": settings.read.kind,
                **({} if settings.read.brevity else {"brevity": False}),
                "groups": list(task.chosen),
                "features": list(task.features),
                "top_k": task.top_k,
                "bound": BOUND,
            }
            (fresh / "settings.toml").write_text(tomli_w.dumps(told), encoding="utf-8")
            commit, changed = commit_of()
            provenance = {
                "model": "rankqa",
                "commit": commit,
                "uncommitted_changes": changed,
                "versions": versions(),
                "candidates": {**kept_candidates.note_of(self._out), "sha256": data},
                "training": json.loads((folder / PROVENANCE).read_text(encoding="utf-8")),
                "files": {file.name: file_hash(file) for file in sorted(fresh.iterdir())},
            }
            (fresh / PROVENANCE).write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
            if self._named("weights").exists():
                shutil.rmtree(self._named("weights"))
            fresh.rename(self._named("weights"))

    def _about(self, fitting: Sequence[Asked], measuring: Sequence[Asked]) -> dict[str, Any]:
        commit, changed = commit_of()
        return {
            "trained on": {"questions": len(fitting), "articles": len({asked.article for asked in fitting})},
            "measured on": {"questions": len(measuring), "articles": len({asked.article for asked in measuring})},
            "recipe": json.loads(json.dumps(asdict(self._recipe))),
            "candidates": {**kept_candidates.note_of(self._out), "sha256": self._hashes},
            "commit": commit,
            "uncommitted_changes": changed,
        }

    def _write(self, name: str, result: Mapping[str, Any]) -> None:
        write_text(self._named(name), json.dumps(result, indent=2, ensure_ascii=False) + "\n")


def arrays_of(network: RankQANetwork) -> dict[str, numpy.ndarray[Any, Any]]:
    """As `rerank/rankqa.py` reads them."""
    tensors = {
        "centre": network.centre,
        "scale": network.scale,
        "first": network.first.weight,
        "first_bias": network.first.bias,
        "second": network.second.weight,
        "second_bias": network.second.bias,
    }
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def variants_of(recipe: RankQARecipe) -> Iterator[Variant]:
    """What is measured beside each other: first all features, last the recipe where it has not all of them."""
    given, recipe = recipe, replace(recipe, task=replace(recipe.task, groups=GROUPS, without=()))
    task = recipe.task
    yield Variant("all-features", recipe)
    for group in task.chosen:
        others = tuple(name for name in task.chosen if name != group)
        yield Variant(f"without-{group}", replace(recipe, task=replace(task, groups=others)))
    for name, members in families(task.features).items():
        without = (*task.without, *members)
        yield Variant(f"without-feature-{name}", replace(recipe, task=replace(task, without=without)))
    for name, change in _CHOICES:
        changed = replace(task, **change)
        if changed != task:
            yield Variant(name, replace(recipe, task=changed))
    for seed in (1, 2):  # how much is chance
        yield Variant(f"seed-{seed}", replace(recipe, loop=replace(recipe.loop, seed=recipe.loop.seed + seed)))
    if given != recipe:
        yield Variant("rankqa", given)


def families(features: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Single features by name; the indicators of question starts, parts of speech and entities go together."""
    together = {"starts_": "question_start", "pos_": "pos", "ner_": "ner"}
    found: dict[str, tuple[str, ...]] = {}
    for feature in features:
        name = next((family for prefix, family in together.items() if feature.startswith(prefix)), feature)
        found[name] = (*found.get(name, ()), feature)
    return found


_CHOICES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("reg-l1", {"reg": "l1"}),
    ("pairing-drawn", {"pairing": "drawn"}),
    ("pairing-all", {"pairing": "all"}),
    ("pairing-adjacent", {"pairing": "adjacent"}),
    ("top-k-4", {"top_k": 4}),
    ("top-k-10", {"top_k": 10}),
    ("top-k-40", {"top_k": 40}),
)
