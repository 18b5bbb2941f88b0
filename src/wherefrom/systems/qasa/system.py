"""Makes QASA.

OUT/lists.safetensors   questions with what an index finds for them, and what of it holds the answer
OUT/training/           the training
OUT/scores.json         top-1, 3 and 5 on dev, beside the index's own order

OUT/weights/            the result: a folder for `runtime.qasa`
OUT/readings/           what it ranks highest, for a reader to learn from: only if it is asked for

OUT/training/curves.svg has top-1 and the loss by step, as Figures 4.3 and 4.4 have them.

For the rows of papers there are many of these, each in a folder of its own: OUT/<settings file>-<fingerprint>/; lists
are shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from wherefrom.errors import SettingsError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.metrics.significance import paired_t_test
from wherefrom.origin import file_hash
from wherefrom.systems.contract import NotTrained, Say, Scores, Stage, Wanted
from wherefrom.systems.qasa.about import Inputs
from wherefrom.systems.qasa.settings import ListSettings, QasaSettings
from wherefrom.systems.qasa.task import QasaTask, shares
from wherefrom.train.errors import TrainingError
from wherefrom.train.given import named
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, needed, read_json, run, training, write_json

if TYPE_CHECKING:
    from wherefrom.data.examples import Example
    from wherefrom.library import Library
    from wherefrom.types import Passage

DEFAULTS = QasaSettings()
SCORES = "scores.json"
_QUESTIONS = 200  # at a time
_READ = 50  # passages of a question that a reader gets


def stages(settings: QasaSettings, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    lists, folder = inputs.lists or out / "lists.safetensors", out / "training"

    def task() -> QasaTask:
        return QasaTask(needed(lists, "lists"), settings.network, settings.task)

    def learnt_from() -> Facts:
        hashed = file_hash(needed(lists, "lists"))
        return {"lists": hashed, "network": asdict(settings.network), "task": asdict(settings.task)}

    def scored_of() -> Facts:
        return {**learnt_from(), "training": file_hash(needed(folder / MODEL, "training"))}

    def score(path: Path) -> Facts:
        result = scores_of(task(), folder, inputs.device)
        write_json(path, result)
        for name in ("qasa", "index"):
            say(f"scores: {name}: " + ", ".join(f"{key} {value:.2f}" for key, value in result[name].items()))
        return {name: result[name] for name in ("qasa", "index", "against the index")}

    def export(path: Path) -> None:
        from wherefrom.systems.qasa.export import export_qasa
        from wherefrom.systems.qasa.lists import PassageLists

        export_qasa(trained(task(), folder), PassageLists(lists), settings.lists.longest, path)

    return [
        _lists(settings.lists, inputs, lists, say),
        training("training", folder, task, settings.loop, learnt_from, inputs.device, say),
        Stage("scores", out / SCORES, scored_of, score),
        Stage("export", out / "weights", scored_of, export, weights=True),
        Stage(
            "readings",
            out / "readings",
            scored_of,
            lambda path: _readings(path, settings, inputs, task(), folder),
            extra=True,
        ),
    ]


def measure(settings: QasaSettings, inputs: Inputs, wanted: Wanted, out: Path, say: Say) -> Scores:
    """Top-1, 3 and 5 of a row's training, values by its settings or, if that is allowed, made."""
    inputs = replace(inputs, lists=inputs.lists or out / "lists.safetensors")
    assert inputs.lists is not None
    if not inputs.lists.exists():
        if not wanted.may_train:
            raise NotTrained(f"{inputs.lists} is not there; `wherefrom train qasa --until lists --out {out}` makes it")
        run("qasa", stages(settings, inputs, out, say), out, {"lists"}, say)
    mark = settings.fingerprint(lists=file_hash(inputs.lists))
    there = sorted(out.glob(f"*-{mark}"))
    folder = there[0] if there else out / f"{wanted.name}-{mark}"
    if not (folder / SCORES).exists():
        if not wanted.may_train:
            raise NotTrained(f"{folder} holds no training of these settings; --train trains it, or copy it there")
        run("qasa", stages(settings, inputs, folder, say), folder, {"training", "scores"}, say)
    if wanted.measure == "reader":
        return _read_by_drqa(settings, wanted, folder)
    values = read_json(folder / SCORES)["qasa"]
    if unknown := [name for name in wanted.reported if name not in values]:
        raise SettingsError(f"{wanted.name}: {unknown[0]} is not measured of a ranker; there are {', '.join(values)}")
    shares_of = {name: values[name] / 100 for name in wanted.reported}
    return Scores(shares_of, settings.loop.seed, (inputs.lists, folder / SCORES))


def _read_by_drqa(settings: QasaSettings, wanted: Wanted, folder: Path) -> Scores:
    """EM and F1 of DrQA's reader, trained on the readings, over the passages that are ranked highest."""
    from wherefrom.build import build
    from wherefrom.config import resolve
    from wherefrom.systems.qasa.readings import DEV, read_dev

    weights, dev = folder / "reader" / "weights", folder / "readings" / DEV
    if not (weights.exists() and dev.exists()):
        raise NotTrained(
            f"{weights} is not there; `wherefrom train qasa --stage readings --out {folder}` writes what it learns "
            f"from; `wherefrom train drqa --asked-squad {folder}/readings/train.json --out {folder}/reader` makes it"
        )
    chosen = ["read.kind=drqa", "rank.kind=none", "judge.kind=lexical", "write.kind=verbatim", "write.yes_no=false"]
    reader = build(resolve(overrides=[*chosen, "read.brevity=false", f"runtime.drqa={weights.resolve()}"]), None).reader
    values = read_dev(dev, reader)
    return Scores({name: values[name] for name in wanted.reported}, settings.loop.seed, (dev, weights / "model.onnx"))


def _readings(path: Path, settings: QasaSettings, inputs: Inputs, task: QasaTask, folder: Path) -> Facts:
    """The 50 best passages of all questions."""
    from wherefrom.data import squad
    from wherefrom.systems.qasa.readings import DEV, TRAIN, best_passages, write_dev, write_training

    library, wanted = _library(inputs, settings.lists.length), settings.lists
    network = trained(task, folder, torch.device(inputs.device))
    path.mkdir()
    counts: dict[str, int] = {}
    for name, file, split, most, questions in (
        ("passages to learn from", TRAIN, "train", wanted.train_questions, task.questions(False)),
        ("dev questions", DEV, "valid", wanted.valid_questions, task.questions(True)),
    ):
        with torch.inference_mode():
            own = task.scores(network, questions)
        examples = evenly_spread(list(squad.load(inputs.data / "squad", split)), most)
        readings = best_passages(retrieved(library, examples), own, wanted.prefilter == "overlap", wanted.length, _READ)
        counts[name] = (write_dev if file == DEV else write_training)(path / file, readings)
    return counts


def scores_of(task: QasaTask, folder: Path, device: str) -> dict[str, dict[str, float]]:
    """What the network's order is worth beside the index's, with a paired t-test of each share.

    `questions`: at which place of the network's order the first passage with an answer stands, from 1; 0 if at none.
    """
    questions = task.questions(True)
    network = trained(task, folder, torch.device(device))
    with torch.inference_mode():
        ours = task.ranked(network, questions)
    theirs = task.in_order(questions)
    tests = {}
    for k in (1, 3, 5):
        test = paired_t_test([float(any(each[:k])) for each in ours], [float(any(each[:k])) for each in theirs])
        tests[f"top_{k}"] = 100 * test.difference
        tests[f"top_{k} p"] = test.p
    places: dict[str, float] = {
        task.id(each): order.index(True) + 1 if any(order) else 0 for each, order in zip(questions, ours, strict=True)
    }
    return {"qasa": shares(ours), "index": shares(theirs), "against the index": tests, "questions": places}


def _lists(settings: ListSettings, inputs: Inputs, path: Path, say: Say) -> Stage:
    """Ask the library every question."""

    def made_of() -> Facts:
        from wherefrom.data import squad
        from wherefrom.data.opening import split_file

        files = [split_file(inputs.data / "squad", split, squad.FILES) for split in ("train", "valid")]
        glove = named(_given(inputs.glove, "--glove"), "--glove")
        documents, passages = _library(inputs, settings.length).counts()
        return {
            "data": {file.name: file_hash(file) for file in files},
            "glove": file_hash(glove),
            "library": {"documents": documents, "passages": passages},
            "settings": asdict(settings),
        }

    def make(file: Path) -> Facts:
        from wherefrom.data import squad
        from wherefrom.systems.qasa.lists import ListsBuilder
        from wherefrom.train.word_vectors import read_glove

        glove = read_glove(named(_given(inputs.glove, "--glove"), "--glove"))
        library = _library(inputs, settings.length)
        builder = ListsBuilder(settings)
        parts = ((False, "train", settings.train_questions), (True, "valid", settings.valid_questions))
        total, report = sum(count for _, _, count in parts), paced("lists", say)
        for valid, split, most in parts:
            examples = evenly_spread(list(squad.load(inputs.data / "squad", split)), most)
            for example, passages in retrieved(library, examples):
                report(len(builder.list_until), total)
                builder.add(example, passages, valid)
        counts = builder.write(file, glove.words, glove.vectors)
        for name, count in counts.items():
            say(f"lists: {name}: {count}")
        return counts

    return Stage("lists", path, made_of, make)


def retrieved(library: Library, examples: Sequence[Example]) -> Iterator[tuple[Example, list[Passage]]]:
    """Each question with the passages that the library's index finds, best first."""
    pipeline = library.pipeline()
    rest = iter(examples)
    while part := list(islice(rest, _QUESTIONS)):
        for example, hits in zip(part, pipeline.retriever.retrieve([each.question for each in part]), strict=True):
            yield example, [hit.passage for hit in hits]


def _library(inputs: Inputs, length: int) -> Library:
    from wherefrom.config import resolve
    from wherefrom.library import Library

    folder = named(_given(inputs.library, "--library"), "--library")
    return Library(folder, resolve(overrides=[f"retrieve.k={length}", "retrieve.match=none"]))


def _given(path: Path | None, option: str) -> Path:
    if path is None:
        raise TrainingError(f"the stage lists needs {option}")
    return path
