"""Fits the judge of a reader: from what the network says of passages to the chance that its answer is right.

Where there are questions over manuals the order of the answers is fitted before that: which of them is the first.

    OUT/ten-passages/     the ten-passage set, unless another folder is named; no article of its validation part was
                          trained on
    OUT/readings/         what the network says of its questions, kept line by line
    OUT/libraries/        the same of small libraries, of several kinds of documents
    OUT/compared/         the merits of the different answers to questions over manuals
    WEIGHTS/order.json    the first result: in which order answers stand, what `rerank/merits.py` reads
    WEIGHTS/judge.json    the other, beside the network: what `judge/calibrated.py` reads, and what was measured

Every kind of documents is judged by a judge that was fitted on the others: what that is worth stands for documents that
nobody has seen yet, and the least chance to answer from is chosen by it. Articles of the ten-passage set are dealt into
two halves beside: the judge is fitted on the questions of one and measured on those of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherefrom.errors import SettingsError
from wherefrom.evaluate.halves import halved
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.features.merits import NAMES
from wherefrom.origin import commit_of, file_hash
from wherefrom.rerank.merits import ORDER
from wherefrom.systems.judge.about import Inputs
from wherefrom.systems.judge.libraries import (
    KINDS,
    MANUALS,
    OPTIONAL,
    YES_NO,
    SmallLibrary,
    dataset_files,
    libraries,
    manual_libraries,
)
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, needed, write_json
from wherefrom.train.ten_passages import ten_passages

JUDGE = "judge.json"
COMPARED = ("encyclopedia", "reviews", "stories", "web")  # kinds that an order is tried on and not fitted on
FIGURES = ("questions", "answerable_f1", "answerable_f1 at 0.5", "ece", "aurc")  # that the note on it repeats


@dataclass(frozen=True, slots=True)
class JudgeFitSettings:
    """How the judge is fitted."""

    questions: int = 600  # of the ten-passage set at most so many, evenly spread; 0 takes all of them
    each: int = 150  # questions of each other kind of documents, about
    kinds: str = ",".join(
        kind for kind in KINDS if kind not in OPTIONAL
    )  # of documents, with commas; each needs its dataset
    seed: int = 1  # by which questions and paragraphs are drawn
    ridge: float = 30.0  # pull of the weights towards 0, after scaling; 3 to 100 gave nearly the same
    compared: int = 2500  # questions over manuals that the order of answers is fitted on; 0 leaves the order as it is
    right: float = 0.5  # F1 with a gold answer from which an answer counts as right, as in `wherefrom score`
    titles: bool = True  # passages are read with the titles of their articles, as those of a library have them
    threads: int = 2

    def __post_init__(self) -> None:
        if self.each < 1:
            raise SettingsError(f"each is {self.each}; at least 1 question of each kind is needed")
        if (
            self.questions < 0
            or self.compared < 0
            or self.ridge <= 0
            or not 0.0 < self.right <= 1.0
            or self.threads < 1
        ):
            raise SettingsError(
                "questions and compared must be 0 or above, ridge, right and threads above 0, and right at most 1"
            )


DEFAULTS = JudgeFitSettings()


def stages(settings: JudgeFitSettings, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    """From a reader's weights to its judge."""
    return _Fitting(settings, inputs, out, say).stages()


@dataclass(frozen=True, slots=True)
class _Fitting:
    """What is read for a judge, where it is kept, and what the judge follows from."""

    settings: JudgeFitSettings
    inputs: Inputs
    out: Path
    say: Say

    def stages(self) -> list[Stage]:
        return [
            ten_passages(self._ten, self.inputs.data, self.say, splits=["valid"]),
            *self._order_stages(),
            Stage(
                "readings",
                self._folder,
                lambda: {"file": self._file().name, "questions": self.settings.questions},
                self._read,
                in_place=True,
            ),
            Stage(
                "libraries",
                self._wider,
                lambda: {"files": [kept_in.name for _, kept_in in self._made_libraries()]},
                self._ask_libraries,
                in_place=True,
            ),
            Stage("judge", self.inputs.weights / JUDGE, self._fitted_of, self._fit, replaces=True),
        ]

    def _order_stages(self) -> list[Stage]:
        """Over manuals alone: the golds of other sets are of another worth, and show whether it holds elsewhere."""
        if self.inputs.manuals is None or not self.settings.compared:
            return []
        manuals = self.inputs.manuals
        return [
            Stage("compared", self._comparisons, lambda: self._compared_of(manuals), self._compare, in_place=True),
            Stage(
                "order",
                self.inputs.weights / ORDER,
                lambda: {**self._compared_of(manuals), "ridge": self.settings.ridge, "merits": list(NAMES)},
                self._fit_order,
                replaces=True,
            ),
        ]

    @property
    def _comparisons(self) -> Path:
        return self.out / "compared"

    def _compared_of(self, manuals: Path) -> dict[str, Any]:
        return {
            "compared": self.settings.compared,
            "seed": self.settings.seed,
            "manuals": file_hash(manuals),
            "others": self._libraries_of(self._tried),
        }

    @property
    def _tried(self) -> str:
        chosen = [kind.strip() for kind in self.settings.kinds.split(",")]
        return ",".join(kind for kind in chosen if kind in COMPARED)

    def _compared_libraries(self, manuals: Path) -> list[SmallLibrary]:
        made = [
            library
            for library in manual_libraries(manuals, self.settings.compared, self.settings.seed)
            if library.kind != YES_NO
        ]
        kinds = self._tried.split(",") if self._tried else []
        return made + libraries(kinds, self.inputs.data, self.settings.each, self.settings.seed)

    def _compared_file(self, manuals: Path) -> Path:
        from wherefrom.systems.judge.material import readings_file

        return readings_file(self._comparisons, self.inputs.weights, self._compared_of(manuals))

    def _compare(self, _: Path) -> Facts:
        from wherefrom.systems.judge.material import collect_compared

        assert self.inputs.manuals is not None
        made, file = self._compared_libraries(self.inputs.manuals), self._compared_file(self.inputs.manuals)
        collect_compared(made, file, self.inputs.weights, self.settings.threads, paced("compared", self.say))
        return {"file": file.name, "questions": sum(len(library.questions) for library in made)}

    def _fit_order(self, path: Path) -> Facts:
        from wherefrom.systems.judge.material import compared_before, model_hashes
        from wherefrom.systems.judge.order import fitted_order

        assert self.inputs.manuals is not None
        file = self._compared_file(self.inputs.manuals)
        order = fitted_order(compared_before(needed(file, "compared")), MANUALS, self.settings.ridge)
        commit, changed = commit_of()
        of = {"model": model_hashes(self.inputs.weights), **self._compared_of(self.inputs.manuals)}
        write_json(path, {**order, "made_of": of, "commit": commit, "uncommitted_changes": changed})
        for kind, figures in order["left out"].items():
            shares = [
                f"{figures[f'{name} {when}']:.1%}" for name in ("right", "f1") for when in ("as read", "in order")
            ]
            right, f1 = " -> ".join(shares[:2]), " -> ".join(shares[2:])
            self.say(f"order: {kind}, left out, {figures['questions']:.0f} questions: right first {right}, F1 {f1}")
        return {"left out": order["left out"]}

    @property
    def _ten(self) -> Path:
        return self.inputs.ten_passages or self.out / "ten-passages"

    @property
    def _folder(self) -> Path:
        return self.out / "readings"

    @property
    def _wider(self) -> Path:
        return self.out / "libraries"

    @property
    def _valid(self) -> Path:
        return self._ten / "valid.jsonl.gz"

    def _read_of(self) -> dict[str, Any]:
        from wherefrom.systems.judge.material import order_hash

        ten = file_hash(needed(self._valid, "ten-passages"))
        return {"ten_passages": ten, "titles": self.settings.titles, "order": order_hash(self.inputs.weights)}

    def _file(self) -> Path:
        from wherefrom.systems.judge.material import readings_file

        return readings_file(self._folder, self.inputs.weights, self._read_of())

    def _read(self, _: Path) -> Facts:
        from wherefrom.evaluate.ten_passages import wikipedia_titles
        from wherefrom.systems.judge.material import collect, questions_of

        questions = questions_of(
            self._valid, dict(wikipedia_titles(self.inputs.data)) if self.settings.titles else None
        )
        chosen = evenly_spread(questions, self.settings.questions)
        collect(chosen, self._file(), self.inputs.weights, self.settings.threads, paced("readings", self.say))
        return {"questions": len(chosen)}

    def _made_libraries(self) -> list[tuple[list[SmallLibrary], Path]]:
        """The libraries, and where what is read of them is kept: manuals apart, so that they can be added later."""
        from wherefrom.systems.judge.material import readings_file

        kinds = [kind.strip() for kind in self.settings.kinds.split(",") if kind.strip()]
        made = []
        if kinds:
            chosen = libraries(kinds, self.inputs.data, self.settings.each, self.settings.seed)
            made.append((chosen, readings_file(self._wider, self.inputs.weights, self._ordered_of())))
        if self.inputs.manuals is not None:
            chosen = manual_libraries(
                self.inputs.manuals, 2 * self.settings.each, self.settings.seed
            )  # nearest to what people have
            made.append(
                (chosen, readings_file(self._wider, self.inputs.weights, self._manuals_of(self.inputs.manuals)))
            )
        return made

    def _manuals_of(self, file: Path) -> dict[str, Any]:
        from wherefrom.systems.judge.material import order_hash

        order = order_hash(self.inputs.weights)
        return {"each": self.settings.each, "seed": self.settings.seed, "manuals": file_hash(file), "order": order}

    def _libraries_of(self, kinds: str) -> dict[str, Any]:
        """What the libraries are made of; their texts follow from it."""
        files = {
            str(file.relative_to(self.inputs.data)): file_hash(file) for file in dataset_files(kinds, self.inputs.data)
        }
        return {"each": self.settings.each, "kinds": kinds, "seed": self.settings.seed, "files": files}

    def _ordered_of(self) -> dict[str, Any]:
        from wherefrom.systems.judge.material import order_hash

        return {**self._libraries_of(self.settings.kinds), "order": order_hash(self.inputs.weights)}

    def _asked_of(self) -> dict[str, Any]:
        return {
            "kinds": self._ordered_of(),
            "manuals": self._manuals_of(self.inputs.manuals) if self.inputs.manuals else None,
        }

    def _ask_libraries(self, _: Path) -> Facts:
        from wherefrom.systems.judge.material import collect_libraries

        counts: dict[str, int] = {}
        for made, kept_in in self._made_libraries():
            collect_libraries(made, kept_in, self.inputs.weights, self.settings.threads, paced("libraries", self.say))
            for library in made:
                counts[library.kind] = counts.get(library.kind, 0) + len(library.questions)
        return {"questions": counts}

    def _fitted_of(self) -> dict[str, Any]:
        """What a judge follows from; equal facts, equal judge."""
        from wherefrom.systems.judge.fit import FITTED
        from wherefrom.systems.judge.material import model_hashes

        chosen = {name: getattr(self.settings, name) for name in ("questions", "ridge", "right")}
        facts = {"model": model_hashes(self.inputs.weights), **self._read_of(), "libraries": self._asked_of()}
        return {**facts, "features": list(FITTED), "settings": chosen}

    def _fit(self, path: Path) -> Facts:
        from wherefrom.systems.judge.fit import describe, fitted_judge
        from wherefrom.systems.judge.material import kept, kept_libraries, questions_of

        questions = questions_of(self._valid, None)
        rows = kept(needed(self._file(), "readings"), evenly_spread(questions, self.settings.questions))
        for made, kept_in in self._made_libraries():
            rows += kept_libraries(needed(kept_in, "libraries"), made)
        commit, changed = commit_of()
        judge = fitted_judge(rows, halved(questions), self.settings.ridge, self.settings.right)
        write_json(path, {**judge, "made_of": self._fitted_of(), "commit": commit, "uncommitted_changes": changed})
        self.say("judge: " + describe(judge).replace("\n", "\njudge: "))
        return {name: judge["measured"][name] for name in FIGURES}
