"""Makes the reader from the datasets: material, teacher, student, network for run time, judge, figures.

    OUT/ten-passages/         the ten-passage set, unless another folder is named
    OUT/pretrained/           encoders that training starts from, unless another folder is named
    OUT/reader.safetensors    the material: all questions and passages as tokens
    OUT/teacher/  student/    the two trainings
    OUT/judge/                what the judge was fitted on
    OUT/fp32/                 the network before quantisation, to measure what that costs
    OUT/weights/              the result: a folder for `runtime.reader`

Every stage leaves its result whole or not at all and is skipped when that is there, made of the same; the long ones
(trainings, judge) go on where they were interrupted.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from wherefrom.data import nqopen, qa2d, quoref, squad, wikiqa
from wherefrom.data.examples import Example
from wherefrom.data.opening import split_file
from wherefrom.durable import write_text, write_whole
from wherefrom.errors import WherefromError
from wherefrom.metrics.answers import exact_match, token_f1
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.origin import commit_of, file_hash
from wherefrom.pipeline import build
from wherefrom.stages import Reader
from wherefrom.train import calibrate, pretrained, reader_run
from wherefrom.train.checkpoint import saved_layers
from wherefrom.train.errors import TrainingError
from wherefrom.train.export import Precision, export_reader
from wherefrom.train.judged import neural
from wherefrom.train.loop import MODEL, PROVENANCE
from wherefrom.train.making import (
    BuildTenPassages,
    already_made,
    needed,
    put_in_place,
    read_json,
    run_stages,
    ten_passages,
    write_json,
)
from wherefrom.train.progress import paced
from wherefrom.train.provenance import versions
from wherefrom.train.reader import ReaderTask, ReaderTaskSettings
from wherefrom.train.reader_data import prepare
from wherefrom.train.reader_run import Recipe
from wherefrom.train.reader_settings import ReaderSettings, plain
from wherefrom.train.settings import LoopSettings
from wherefrom.types import Hit

Stage = Literal["material", "teacher", "student", "export", "judge", "measure"]
STAGES: tuple[Stage, ...] = get_args(Stage)
START = "start.json"  # in a student's folder: where the weights that it goes on from come from

"""Builds the ten-passage set: (folder of datasets, where it goes, report of split, done and total)."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything lies."""

    data: Path  # the folder of datasets
    out: Path
    ten_passages: Path
    pretrained: Path
    start: Path | None = None  # an earlier student's weights, to go on from

    @property
    def material(self) -> Path:
        return self.out / "reader.safetensors"

    @property
    def teacher(self) -> Path:
        return self.out / "teacher"

    @property
    def student(self) -> Path:
        return self.out / "student"

    @property
    def fp32(self) -> Path:
        return self.out / "fp32"

    @property
    def weights(self) -> Path:
        return self.out / "weights"

    @property
    def valid(self) -> Path:
        return self.ten_passages / "valid.jsonl.gz"


class ReaderMaker:
    """One reader under way: a method a stage."""

    def __init__(
        self,
        settings: ReaderSettings,
        places: Places,
        build_ten_passages: BuildTenPassages,
        device: str = "cpu",
        say: Callable[[str], None] = print,
        fetch: Callable[[str, Path], Path] = pretrained.fetch,
    ) -> None:
        self._settings = settings
        self._places = places
        self._build_ten_passages = build_ten_passages
        self._device = device
        self._say = say
        self._fetch = fetch

    def make(self, stages: Sequence[Stage] = STAGES) -> None:
        """Run stages, in their order."""
        made: dict[Stage, Callable[[], None]] = {
            "material": self.material,
            "teacher": self.teacher,
            "student": self.student,
            "export": self.export,
            "judge": self.judge,
            "measure": self.measure,
        }
        run_stages(made, stages, self._places.out)

    # Stages.

    def material(self) -> None:
        """Questions and passages as tokens; the ten-passage set too, if it is not there."""
        places = self._places
        hashes = {f"{file.parent.name}/{file.name}": file_hash(file) for file in _data_files(places.data)}
        ten_passages(self._build_ten_passages, places.data, places.ten_passages, self._say)
        tokenizer = self._pretrained(reader_run.STUDENT.encoder) / "tokenizer.json"
        made_of = {
            "data": hashes,
            "ten_passages": file_hash(places.ten_passages / "ten-passages.json"),
            "tokenizer": file_hash(tokenizer),
        }
        if already_made(places.material, self._note(), made_of, self._say):
            return
        places.out.mkdir(parents=True, exist_ok=True)
        counts: dict[str, int] = {}

        def write(path: Path) -> None:
            counts.update(
                prepare(places.data, places.ten_passages, tokenizer, path, lambda line: self._say(f"material: {line}"))
            )

        write_whole(places.material, write)
        write_json(self._note(), {"made_of": made_of, "sha256": file_hash(places.material), "counts": counts})
        self._say("material: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))

    def teacher(self) -> None:
        recipe = self._settings.teacher_recipe()
        self._train("teacher", recipe, lambda: reader_run.teacher_task(self._places.material, self._both(), recipe))

    def student(self) -> None:
        places, recipe = self._places, self._settings.student_recipe()
        taught_by = file_hash(needed(places.teacher / MODEL, "teacher"))
        note = places.student / "teacher.json"  # the loop knows its material and settings, not its teacher
        before = read_json(note).get("sha256", taught_by)
        if before != taught_by:
            raise TrainingError(
                f"{places.student} was begun with another teacher than {places.teacher}; remove it to begin anew"
            )
        places.student.mkdir(parents=True, exist_ok=True)
        write_text(note, json.dumps({"sha256": taught_by}) + "\n")
        if places.start is not None:  # what is known of the student that this one goes on from, and of its own start
            earlier = places.start.parent
            told = {"training": read_json(earlier / PROVENANCE), "start": read_json(earlier / START)}
            write_json(places.student / START, told)
        self._train(
            "student",
            recipe,
            lambda: reader_run.student_task(places.material, self._both(), places.teacher, recipe, places.start),
        )

    def export(self) -> None:
        """The student as networks for run time: the one that is shipped, and fp32 to compare it with."""
        places, chosen = self._places, self._settings.export.precision
        student = file_hash(needed(places.student / MODEL, "student"))
        exported: tuple[tuple[Path, Precision], ...] = ((places.weights, chosen), (places.fp32, "fp32"))
        for folder, precision in exported:
            made_of = {"student": student, "precision": precision}
            if precision == "int8" and self._settings.export.table_bits != 8:
                made_of["table_bits"] = str(self._settings.export.table_bits)
            if read_json(folder / PROVENANCE).get("made_of") == made_of:
                self._say(f"export: {precision} already made")
                continue
            self._say(f"export: {precision}")
            self._export(folder, precision, {"made_of": made_of})
        self._write_provenance()

    def judge(self) -> None:
        places, settings = self._places, self._settings.judge
        needed(places.weights / "model.onnx", "export")
        needed(places.valid, "material")
        made_of = calibrate.made_of(places.weights, places.valid, places.data, settings)
        result = read_json(places.weights / calibrate.JUDGE)
        if result.get("made_of") == made_of:
            self._say("judge: already fitted")
        else:
            report = paced("judge", self._say)
            result = calibrate.calibrate(
                places.weights, places.valid, places.data, places.out / "judge", settings, report
            )
        self._say("judge: " + calibrate.told(result).replace("\n", "\njudge: "))
        self._write_provenance()

    def measure(self) -> None:
        """Exact match and F1 on SQuAD's validation questions, each over its own paragraph."""
        places, settings = self._places, self._settings.measure
        file = places.out / "squad.json"
        folders = {self._settings.export.precision: places.weights, "fp32": places.fp32}
        models = {name: file_hash(needed(path / "model.onnx", "export")) for name, path in folders.items()}
        made_of = {
            "data": file_hash(split_file(places.data / "squad", "valid", squad.FILES)),
            "models": models,
            "questions": settings.questions,
        }
        found = read_json(file)
        if found.get("made_of") != made_of:
            examples = list(squad.load(places.data / "squad", "valid"))
            count = min(settings.questions or len(examples), len(examples))
            spread = [examples[place * len(examples) // count] for place in range(count)]
            figures = {
                name: squad_scores(path, spread, settings.threads, paced(f"measure {name}", self._say))
                for name, path in folders.items()
            }
            found = {"made_of": made_of, "questions": count, "figures": figures}
            write_text(file, json.dumps(found, indent=2) + "\n")
        for name, scores in found["figures"].items():
            self._say(
                f"measure: {name}: exact match {scores['em']:.2f}, F1 {scores['f1']:.2f} "
                f"on {found['questions']:,} questions of squad, valid"
            )
        self._write_provenance()

    # Inside.

    def _train(self, stage: Literal["teacher", "student"], recipe: Recipe, task: Callable[[], ReaderTask]) -> None:
        """Fit or go on; a finished training of the same recipe is not even loaded."""
        folder = self._places.teacher if stage == "teacher" else self._places.student
        data = [file_hash(needed(self._places.material, "material"))]
        if stage == "student" and self._places.start is not None:
            data.append(file_hash(self._places.start))
        before = read_json(folder / PROVENANCE)
        if before.get("finished") and (folder / MODEL).exists() and _same_training(before, recipe, data):
            self._say(f"{stage}: already trained")
            return
        self._say(f"{stage}: training in {folder} on {self._device}")
        reader_run.run(task(), recipe.loop, folder, self._device)

    def _export(self, folder: Path, precision: Precision, provenance: Mapping[str, Any]) -> None:
        student = self._places.student / MODEL
        encoder = self._pretrained(reader_run.STUDENT.encoder)
        with put_in_place(folder) as fresh, _without_logs():
            export_reader(
                student,
                replace(EncoderSettings.from_config(encoder / "config.json"), layers=saved_layers(student)),
                encoder / "tokenizer.json",
                fresh,
                provenance,
                self._settings.student.task,
                precision,
                self._settings.export.table_bits,
            )

    def _write_provenance(self) -> None:
        """All that is known so far of where the weights come from."""
        places = self._places
        before = read_json(places.weights / PROVENANCE)
        commit, changed = commit_of()
        judge = read_json(places.weights / calibrate.JUDGE)
        figures = ("questions", "answerable_f1", "answerable_f1 at 0.5", "ece", "aurc")
        measured = read_json(places.out / "squad.json")
        precision, models = self._settings.export.precision, measured.get("made_of", {}).get("models", {})
        if models.get(precision) != file_hash(places.weights / "model.onnx"):
            measured = {}  # of an earlier network
        files = {file.name: file_hash(file) for file in sorted(places.weights.iterdir()) if file.name != PROVENANCE}
        ten_passages = read_json(places.ten_passages / "ten-passages.json")
        provenance = {
            "model": "reader",
            "made_of": before["made_of"],
            "commit": commit,
            "uncommitted_changes": changed,
            "versions": versions(),
            "files": files,
            "material": read_json(self._note()),
            "ten_passages": ten_passages,
            "pretrained": {
                name: {"packages": list(known.packages), "sha256": dict(known.sha256), "licence": known.licence}
                for name, known in pretrained.INPUTS.items()
            },
            "teacher": read_json(places.teacher / PROVENANCE),
            "student": read_json(places.student / PROVENANCE),
            "start": read_json(places.student / START),
            "judge": {name: judge["measured"][name] for name in figures} if judge else {},
            "squad, valid": {"questions": measured["questions"], **measured["figures"]} if measured else {},
        }
        write_text(places.weights / PROVENANCE, json.dumps(provenance, indent=2, ensure_ascii=False) + "\n")

    def _pretrained(self, encoder: str) -> Path:
        return self._fetch(encoder, self._places.pretrained)

    def _both(self) -> Path:
        """The folder of both encoders: the teacher's vocabulary is mapped to the student's."""
        for encoder in (reader_run.STUDENT.encoder, reader_run.TEACHER.encoder):
            self._pretrained(encoder)
        return self._places.pretrained

    def _note(self) -> Path:
        return self._places.out / "material.json"


def squad_scores(
    weights: Path,
    examples: Sequence[Example],
    threads: int,
    report: Callable[[int, int], None] = lambda *_: None,
    batch: int = 16,
) -> dict[str, float]:
    """Exact match and F1, in per cent, of the best span in each question's own paragraph."""
    return reader_scores(build(neural(weights, threads), None).reader, examples, report, batch)


def reader_scores(
    reader: Reader,
    examples: Sequence[Example],
    report: Callable[[int, int], None] = lambda *_: None,
    batch: int = 16,
) -> dict[str, float]:
    """The same of any reader."""
    exact = overlap = 0.0
    report(0, len(examples))
    for begin in range(0, len(examples), batch):
        some = examples[begin : begin + batch]
        hits = [[Hit(passage, 1.0) for passage in example.passages] for example in some]
        for example, candidates in zip(some, reader.read([each.question for each in some], hits), strict=True):
            said = candidates[0].text if candidates else ""
            exact += exact_match(said, example.answers, "1.1")
            overlap += token_f1(said, example.answers, "1.1")
        report(begin + len(some), len(examples))
    return {"em": round(100 * exact / len(examples), 3), "f1": round(100 * overlap / len(examples), 3)}


def _data_files(data: Path) -> list[Path]:
    """Every file that the reader is made of; one that is missing shows before the work begins."""
    files = [split_file(data / "squad", split, squad.FILES) for split in ("train", "valid")]
    files += [split_file(data / "qa2d", split, qa2d.FILES) for split in ("train", "valid")]
    files.append(split_file(data / "more_reading", "train", quoref.FILES))
    files.append(split_file(data / "nq_oracle", "train", nqopen.FILES))
    files.append(split_file(data / "wikiqa", "train", wikiqa.FILES))
    articles = sorted((data / "wikipedia").glob("*.txt*"))
    if not articles:
        raise WherefromError(f"{data / 'wikipedia'} holds no *.txt, *.txt.gz or *.txt.xz of WikiExtractor's form")
    return files + articles


@contextmanager
def _without_logs() -> Iterator[None]:
    """The exporter and the quantiser log every node they look at, unasked."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def _same_training(provenance: Mapping[str, Any], recipe: Recipe, data: Sequence[str]) -> bool:
    """Whether a folder's training is of this recipe; where it is not, the loop says what differs."""
    ours = plain(recipe.loop)
    theirs = {**plain(LoopSettings()), **provenance["settings"]}  # it may be older than a setting
    for settings in (ours, theirs):
        settings.pop("checkpoint_every", None)  # touches nothing that is learnt
    task = provenance["task"]
    asked = {**plain(ReaderTaskSettings()), **task["settings"]}
    return ours == theirs and asked == plain(recipe.task) and list(task["data"].values()) == list(data)
