"""Makes the reader from the datasets: material, teacher, more questions, student, network for run time, judge, figures.

    OUT/ten-passages/         the ten-passage set, unless another folder is named
    OUT/pretrained/           encoders that training starts from, unless another folder is named
    OUT/reader.safetensors    the material: all questions and passages as tokens
    OUT/teacher/  student/    the two trainings
    OUT/asker/                that of a network that asks, if the settings want more questions
    OUT/asked.safetensors     the material with these; asked.json says what it is made of
    OUT/asked-squad.json      those about SQuAD's own paragraphs, in SQuAD's format, for `train drqa --asked`
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

from wherefrom.build import build
from wherefrom.data import nqopen, qa2d, quoref, squad, wikiqa
from wherefrom.data.examples import Example
from wherefrom.data.opening import split_file
from wherefrom.durable import write_text, write_whole
from wherefrom.errors import WherefromError
from wherefrom.metrics.answers import exact_match, token_f1
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.origin import commit_of, file_hash
from wherefrom.stages import Reader
from wherefrom.systems.asker import squad as asked_squad
from wherefrom.systems.asker import task as asking
from wherefrom.systems.asker.network import AskerSettings
from wherefrom.systems.asker.task import AskerTask, AskerTaskSettings
from wherefrom.systems.judge import system as calibrate
from wherefrom.systems.judge.material import neural
from wherefrom.systems.reader import run as reader_run
from wherefrom.systems.reader.export import Precision, export_reader
from wherefrom.systems.reader.material import prepare
from wherefrom.systems.reader.run import Recipe
from wherefrom.systems.reader.settings import AskerTrainingSettings, ReaderSettings, plain
from wherefrom.systems.reader.task import ReaderTaskSettings
from wherefrom.train import pretrained
from wherefrom.train.checkpoint import saved_layers
from wherefrom.train.errors import TrainingError
from wherefrom.train.loop import MODEL, PROVENANCE
from wherefrom.train.making import (
    START,
    BuildTenPassages,
    already_made,
    needed,
    note_start,
    preference,
    put_in_place,
    read_json,
    run_stages,
    ten_passages,
    write_json,
)
from wherefrom.train.progress import paced
from wherefrom.train.provenance import versions
from wherefrom.train.settings import LoopSettings
from wherefrom.train.task import Batch, Network, Task
from wherefrom.types import Hit

Stage = Literal["material", "teacher", "asker", "asked", "student", "export", "judge", "measure"]
STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything lies."""

    data: Path  # the folder of datasets
    out: Path
    ten_passages: Path
    pretrained: Path
    start: Path | None = None  # an earlier student's weights, to go on from; an asker begins with their encoder

    @property
    def material(self) -> Path:
        return self.out / "reader.safetensors"

    @property
    def teacher(self) -> Path:
        return self.out / "teacher"

    @property
    def asker(self) -> Path:
        return self.out / "asker"

    @property
    def asked(self) -> Path:
        return self.out / "asked.safetensors"

    @property
    def asked_squad(self) -> Path:
        return self.out / "asked-squad.json"

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
            "asker": self.asker,
            "asked": self.asked,
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
        places, recipe = self._places, self._settings.teacher_recipe()
        data = [file_hash(needed(places.material, "material"))]
        self._train(
            places.teacher,
            recipe.loop,
            lambda before: _same_training(before, recipe, data),
            lambda: reader_run.teacher_task(places.material, self._both(), recipe),
        )

    def asker(self) -> None:
        """A network learns to ask, from SQuAD's training questions."""
        if not self._asks("asker"):
            return
        places, settings = self._places, self._settings.asker
        start = places.start
        if start is None:
            raise TrainingError(
                "the asker begins with the encoder of an earlier student: name its weights with --start (student/"
                f"{MODEL} of another OUT), or set asker.use to false"
            )
        data = [file_hash(needed(places.material, "material")), file_hash(start)]

        def task() -> AskerTask:
            encoder = EncoderSettings.from_config(self._pretrained(reader_run.STUDENT.encoder) / "config.json")
            return AskerTask(places.material, encoder, start, settings.task)

        self._train(places.asker, settings.loop, lambda before: _same_asker(before, settings, data), task)

    def asked(self) -> None:
        """More questions, about passages that nobody asked about and about SQuAD's own; the teacher answers them."""
        if not self._asks("asked"):
            return
        places, settings = self._places, self._settings
        material = needed(places.material, "material")
        teacher, asker = needed(places.teacher / MODEL, "teacher"), needed(places.asker / MODEL, "asker")
        made_of = asking.made_of(material, asker, teacher, settings.asking)
        if places.asked.exists() and not read_json(self._asked_note()):  # made elsewhere, or interrupted here
            self._note_asked()
        if not already_made(places.asked, self._asked_note(), made_of, self._say, "asked"):
            places.asked_squad.unlink(missing_ok=True)  # of other questions
            encoders = self._both()
            write_whole(
                places.asked,
                lambda path: asking.write_asked(
                    material,
                    asker,
                    teacher,
                    encoders,
                    path,
                    settings.asker.task,
                    settings.asking,
                    self._device,
                    lambda line: self._say(f"asked: {line}"),
                ),
            )
            self._note_asked()
        if settings.asking.again:
            self._write_asked_squad()

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
        if places.start is not None:
            note_start(places.student, places.start)
        material = self._learnt_from()
        data = [file_hash(path) for path in (material, places.start) if path is not None]
        self._train(
            places.student,
            recipe.loop,
            lambda before: _same_training(before, recipe, data),
            lambda: reader_run.student_task(material, self._both(), places.teacher, recipe, places.start),
        )

    def export(self) -> None:
        """The student as networks for run time: the one that is shipped, and fp32 to compare it with."""
        places, chosen = self._places, self._settings.export.precision
        student = file_hash(needed(places.student / MODEL, "student"))
        exported: tuple[tuple[Path, Precision], ...] = ((places.weights, chosen), (places.fp32, "fp32"))
        for folder, precision in exported:
            made_of: dict[str, Any] = {"student": student, "precision": precision}
            if precision == "int8" and self._settings.export.table_bits != 8:
                made_of["table_bits"] = str(self._settings.export.table_bits)
            if self._settings.export.brevity:
                made_of["brevity"] = self._settings.export.brevity
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
        made_of: dict[str, Any] = {
            "data": file_hash(split_file(places.data / "squad", "valid", squad.FILES)),
            "models": models,
            "questions": settings.questions,
            **preference(read_json(places.weights / PROVENANCE)["made_of"]),
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

    def _train(
        self,
        folder: Path,
        loop: LoopSettings,
        same: Callable[[Mapping[str, Any]], bool],
        task: Callable[[], Task[Network, Batch]],
    ) -> None:
        """Fit or go on; a finished training that is the same, as its provenance tells, is not even loaded."""
        before = read_json(folder / PROVENANCE)
        if before.get("finished") and (folder / MODEL).exists() and same(before):
            self._say(f"{folder.name}: already trained")
            return
        self._say(f"{folder.name}: training in {folder} on {self._device}")
        reader_run.run(task(), loop, folder, self._device)

    def _asks(self, stage: Stage) -> bool:
        """Whether the settings want more questions."""
        if not self._settings.asker.use:
            self._say(f"{stage}: not asked for")
        return self._settings.asker.use

    def _learnt_from(self) -> Path:
        """The material of the student."""
        if self._settings.asker.use:
            return needed(self._places.asked, "asked")
        return needed(self._places.material, "material")

    def _note_asked(self) -> None:
        """What the larger material itself says that it is made of."""
        facts = asking.asked_facts(self._places.asked)
        counts = {name: facts.pop(name) for name in ("drawn", "questions") if name in facts}
        note = {"made_of": facts, "sha256": file_hash(self._places.asked), "counts": counts}
        write_json(self._asked_note(), note)

    def _write_asked_squad(self) -> None:
        """What was asked about SQuAD's own paragraphs, in SQuAD's format; the note on all that was asked says so."""
        places, note = self._places, read_json(self._asked_note())
        tokenizer = self._pretrained(reader_run.STUDENT.encoder) / "tokenizer.json"
        made_of = {
            "asked": note["sha256"],
            "data": file_hash(split_file(places.data / "squad", "train", squad.FILES)),
            "tokenizer": file_hash(tokenizer),
        }
        if places.asked_squad.exists() and note.get("squad", {}).get("made_of") == made_of:
            self._say(f"asked: {places.asked_squad.name} already made")
            return
        counts = asked_squad.write(places.asked, places.data, tokenizer, places.asked_squad)
        written = {"made_of": made_of, "sha256": file_hash(places.asked_squad), "counts": counts}
        write_json(self._asked_note(), {**note, "squad": written})
        told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        self._say(f"asked: {places.asked_squad.name}: {told}")

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
                self._settings.export.brevity,
            )

    def _write_provenance(self) -> None:
        """All that is known so far of where the weights come from."""
        places = self._places
        before = read_json(places.weights / PROVENANCE)
        commit, changed = commit_of()
        judge = read_json(places.weights / calibrate.JUDGE)
        figures = ("questions", "answerable_f1", "answerable_f1 at 0.5", "ece", "aurc")
        measured = read_json(places.out / "squad.json")
        of = measured.get("made_of", {})
        same = of.get("models", {}).get(self._settings.export.precision) == file_hash(places.weights / "model.onnx")
        if not same or preference(of) != preference(before["made_of"]):
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
            **self._asked_provenance(),
            "student": read_json(places.student / PROVENANCE),
            "start": read_json(places.student / START),
            "judge": {name: judge["measured"][name] for name in figures} if judge else {},
            "squad, valid": {"questions": measured["questions"], **measured["figures"]} if measured else {},
        }
        write_text(places.weights / PROVENANCE, json.dumps(provenance, indent=2, ensure_ascii=False) + "\n")

    def _asked_provenance(self) -> dict[str, Any]:
        """Where the asked questions come from, if there are any."""
        if not self._settings.asker.use:
            return {}
        return {"asker": read_json(self._places.asker / PROVENANCE), "asked": read_json(self._asked_note())}

    def _pretrained(self, encoder: str) -> Path:
        return self._fetch(encoder, self._places.pretrained)

    def _both(self) -> Path:
        """The folder of both encoders: the teacher's vocabulary is mapped to the student's."""
        for encoder in (reader_run.STUDENT.encoder, reader_run.TEACHER.encoder):
            self._pretrained(encoder)
        return self._places.pretrained

    def _note(self) -> Path:
        return self._places.out / "material.json"

    def _asked_note(self) -> Path:
        return self._places.out / "asked.json"


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
    reader: Reader, examples: Sequence[Example], report: Callable[[int, int], None] = lambda *_: None, batch: int = 16
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
    return _same(provenance, recipe.loop, plain(recipe.task), plain(ReaderTaskSettings()), data)


def _same_asker(provenance: Mapping[str, Any], settings: AskerTrainingSettings, data: Sequence[str]) -> bool:
    """The same of an asker's training."""
    network = {"network": plain(AskerSettings())}
    ours, default = plain(settings.task), plain(AskerTaskSettings())
    return _same(provenance, settings.loop, {**ours, **network}, {**default, **network}, data)


def _same(
    provenance: Mapping[str, Any],
    loop: LoopSettings,
    task: Mapping[str, Any],
    default: Mapping[str, Any],
    data: Sequence[str],
) -> bool:
    """Whether a training had these settings and data; `default` are those of a task that is older than a setting."""
    ours = plain(loop)
    theirs = {**plain(LoopSettings()), **provenance["settings"]}  # it may be older than a setting
    for settings in (ours, theirs):
        settings.pop("checkpoint_every", None)  # touches nothing that is learnt
    trained = provenance["task"]
    asked = {**default, **trained["settings"]}
    return ours == theirs and asked == task and list(trained["data"].values()) == list(data)
