"""A RankQA re-ranker for a reader: candidates from a library, training, network for run time, figures.

    OUT/candidates/    the candidates of every question, as the pipeline reads them from the library
    OUT/training/      the training
    OUT/weights/       the result: a folder for `rerank.weights`
    OUT/measured/      what it is worth on the articles it was not trained on, with plots beside it
    OUT/ablations/     the same without a group of features, without a single one, and with other choices

The questions are of SQuAD's validation articles, which no reader of ours was fitted to. Articles are dealt into two
halves as the judge's are: the re-ranker learns from one and is measured on the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherefrom.errors import NotFound, SettingsError
from wherefrom.evaluate.halves import halved
from wherefrom.features.tags import FILE as TAGGER
from wherefrom.features.tags import Tagger
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import Weights
from wherefrom.systems.contract import NotTrained, Say, Scores, Stage, Wanted
from wherefrom.systems.rankqa.about import Inputs
from wherefrom.systems.rankqa.export import export_rankqa
from wherefrom.systems.rankqa.material import CANDIDATES, collect, kept_questions, made_of, reading, relevant
from wherefrom.systems.rankqa.network import RankQANetwork
from wherefrom.systems.rankqa.report import Figures, compared, figures, lost_answers, plots, voted
from wherefrom.systems.rankqa.task import CandidateRows, RankQARecipe, RankQATask, candidate_rows, first_of
from wherefrom.systems.rankqa.variants import variants_of
from wherefrom.train.errors import TrainingError
from wherefrom.train.loop import MODEL, fitted, trained
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, needed, plain, run, training, write_json

if TYPE_CHECKING:
    from wherefrom.library import Library

DEFAULTS = RankQARecipe()
Halves = tuple[list[CandidateRows], list[CandidateRows]]


def stages(settings: RankQARecipe, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    questions = Questions(inputs, out, say)
    folder = out / "training"

    def network() -> RankQANetwork:
        return trained(questions.task(settings), folder)

    def training_facts() -> Facts:
        return {"data": questions.hashes(settings), "task": asdict(settings.task)}

    def weights_facts() -> Facts:
        pipeline = {"reader": settings.pipeline.read.kind, "brevity": settings.pipeline.read.brevity}
        return {"training": file_hash(needed(folder / MODEL, "training")), **pipeline}

    def ablation_facts() -> Facts:
        return {
            "data": questions.hashes(settings, tagged=True),
            **_trained_with(settings),
            "variants": list(inputs.variant),
        }

    return [
        _candidates(settings, inputs, questions.folder, say),
        training("training", folder, lambda: questions.task(settings), settings.loop, training_facts, "cpu", say),
        Stage(
            "export",
            out / "weights",
            weights_facts,
            lambda path: export_rankqa(network(), settings.task, settings.pipeline, path),
            weights=True,
        ),
        Stage(
            "measure",
            out / "measured",
            lambda: {**training_facts(), **weights_facts()},
            lambda path: _measure(questions, network(), settings, path, say),
        ),
        Stage(
            "ablate",
            out / "ablations",
            ablation_facts,
            lambda path: _ablate(questions, settings, inputs.variant, path, say),
            in_place=True,
            extra=True,
        ),
    ]


def measure(settings: RankQARecipe, inputs: Inputs, wanted: Wanted, out: Path, say: Say) -> Scores:
    """The share of right first answers; measure = "reader": the reader's own, else those of a re-ranker.

    All rows are measured on the same questions: those of the articles that re-rankers do not learn from. Rows that read
    alike share their candidates.
    """
    if wanted.measure not in ("", "reader"):
        raise SettingsError(f"measure is 'reader', or not said for a re-ranker, not {wanted.measure!r}")
    folder = out / f"candidates-{_digest(relevant(reading(settings.pipeline)))}"
    questions = Questions(replace(inputs, candidates=folder), out, say)
    run("rankqa", [_candidates(settings, inputs, folder, say)], folder, say=say)
    if wanted.measure == "reader":
        result = readers(questions.halves(tagged=False)[1])
    else:
        result = questions.measured(settings, wanted.name, out / "training", wanted.may_train)
    shares = {"accuracy": result.em / 100, "em": result.em / 100, "f1": result.f1 / 100}
    return Scores(shares, settings.loop.seed, (folder / CANDIDATES,))


class Questions:
    """Kept candidates as numbers, in two halves: to learn from, and to be measured on."""

    def __init__(self, inputs: Inputs, out: Path, say: Say) -> None:
        self.folder = inputs.candidates or out / "candidates"
        self._file = self.folder / CANDIDATES
        self._swap, self._tagger, self._say = inputs.swap, inputs.tagger, say
        self._known: dict[bool, Halves] = {}  # features are slow where they are made of tags

    def halves(self, tagged: bool) -> Halves:
        if tagged not in self._known:
            self._known[tagged] = self._halves(tagged)
        return self._known[tagged]

    def _halves(self, tagged: bool) -> Halves:
        lines = list(kept_questions(needed(self._file, "candidates")))
        rows = candidate_rows(
            lines, Tagger(Weights.named(self._tagger)) if tagged else None, paced("features", self._say)
        )
        chosen = halved(lines)
        fitting = [question for question in rows if question.article in chosen]
        measuring = [question for question in rows if question.article not in chosen]
        if not measuring:
            raise TrainingError(
                f"the {len(lines)} questions of {self._file} are of one article: a re-ranker needs others to be "
                "measured on; take more questions"
            )
        return (measuring, fitting) if self._swap else (fitting, measuring)

    def of(self, settings: RankQARecipe) -> Halves:
        """With the features that a re-ranker looks at."""
        return self.halves(_tagged(settings))

    def hashes(self, settings: RankQARecipe, tagged: bool = False) -> dict[str, str]:
        """Of what a training depends on: the tagger only where it looks at tags."""
        data = {CANDIDATES: file_hash(needed(self._file, "candidates")), "half": "second" if self._swap else "first"}
        if tagged or _tagged(settings):
            data[TAGGER] = file_hash(Weights.named(self._tagger).folder / TAGGER)
        return data

    def task(self, settings: RankQARecipe) -> RankQATask:
        return RankQATask(self.of(settings)[0], settings.task, self.hashes(settings))

    def measured(self, settings: RankQARecipe, name: str, folder: Path, may_train: bool = True) -> Figures:
        """The figures of a re-ranker, trained in a folder named for its settings if it is not yet."""
        facts = {**_trained_with(settings), "data": self.hashes(settings)}
        place = folder / f"{name}-{_digest(facts)}"
        if not may_train and not (place / MODEL).exists():
            raise NotTrained(f"{place} is not trained; --train does it, in a minute")
        fitted(self.task(settings), settings.loop, place, say=lambda _: None)  # a line an epoch is too many
        return ranked(trained(self.task(settings), place), settings, self.of(settings)[1])


def readers(questions: Sequence[CandidateRows]) -> Figures:
    """If of each question the reader's own first answer is given."""
    return figures(questions, [0 if len(question.exact) else -1 for question in questions])


def ranked(network: RankQANetwork, settings: RankQARecipe, questions: Sequence[CandidateRows]) -> Figures:
    """If of each question the answer is given that the network puts first."""
    return figures(questions, [first_of(network, question, settings.task) for question in questions])


# Inside.


def _candidates(settings: RankQARecipe, inputs: Inputs, folder: Path, say: Say) -> Stage:
    """Ask the library every question, and keep what the reader says; goes on where it was interrupted."""

    def library() -> Library:
        from wherefrom.library import Library

        return Library(inputs.library, reading(settings.pipeline))

    def facts() -> Facts:
        return {**made_of(inputs.data / "squad", library()), "every": inputs.every}

    def make(path: Path) -> Facts:
        lines = collect(inputs.data / "squad", library(), path, inputs.every, paced("candidates", say))
        return {"questions": len(lines)}

    return Stage("candidates", folder, facts, make, in_place=True)


def _measure(questions: Questions, network: RankQANetwork, settings: RankQARecipe, path: Path, say: Say) -> Facts:
    """Before and after, on the half that was not learnt from."""
    fitting, measuring = questions.of(settings)
    read, votes = readers(measuring), figures(measuring, [voted(question) for question in measuring])
    after = ranked(network, settings, measuring)
    lines = {line.id: line for line in kept_questions(questions.folder / CANDIDATES)}
    result = {
        **_counts(fitting, measuring),
        "recipe": _trained_with(settings),
        "reader": read.summary(),
        "vote": {**votes.summary(), "against the reader": compared(votes, read)},
        "rankqa": {**after.summary(), "against the reader": compared(after, read)},
        "errors": lost_answers(measuring, lines, network, settings.task),
    }
    path.mkdir()
    write_json(path / "measured.json", result)
    for name, plot in plots(measuring, {"reader": read, "vote": votes, "rankqa": after}).items():
        (path / name).write_text(plot, encoding="utf-8")
    say(
        f"measure: exact match {read.em:.2f} by the reader, {votes.em:.2f} by votes, {after.em:.2f} by rankqa on "
        f"{len(measuring):,} questions of articles that it was not trained on"
    )
    return {name: {"em": result[name]["em"], "f1": result[name]["f1"]} for name in ("reader", "vote", "rankqa")}


def _ablate(questions: Questions, settings: RankQARecipe, only: Sequence[str], path: Path, say: Say) -> Facts:
    """The same with all features, without groups of them, without single ones, with other choices."""
    known = variants_of(settings)
    for name in only:
        if name not in known:
            raise NotFound(f"there is no ablation '{name}'; there are {', '.join(known)}")
    first = next(iter(known))
    chosen = {name: each for name, each in known.items() if not only or name in only or name == first}
    fitting, measuring = questions.halves(tagged=True)
    read = readers(measuring)
    whole: Figures | None = None
    rows: dict[str, Any] = {}
    for number, (name, variant) in enumerate(chosen.items(), start=1):
        after = questions.measured(variant, name, path)
        whole = whole or after
        rows[name] = {
            **after.summary(),
            "against the reader": compared(after, read, samples=2000),
            "against all features": compared(after, whole, samples=2000),
        }
        say(f"ablate: {number} of {len(chosen)}, {name}: exact match {after.em:.2f}")
    counts = _counts(fitting, measuring)
    write_json(
        path / "ablations.json",
        {**counts, "recipe": _trained_with(settings), "reader": read.summary(), "variants": rows},
    )
    return counts


def _counts(fitting: Sequence[CandidateRows], measuring: Sequence[CandidateRows]) -> dict[str, Any]:
    return {
        name: {"questions": len(half), "articles": len({question.article for question in half})}
        for name, half in (("trained on", fitting), ("measured on", measuring))
    }


def _tagged(settings: RankQARecipe) -> bool:
    return "tags" in settings.task.groups


def _trained_with(settings: RankQARecipe) -> dict[str, Any]:
    """What a re-ranker is trained with, as JSON has it."""
    return plain({"task": asdict(settings.task), "loop": settings.loop.described()})


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
