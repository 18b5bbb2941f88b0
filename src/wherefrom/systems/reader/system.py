"""Makes the reader: material, a large teacher, a small student that learns from it, networks for run time, figures.

OUT/ten-passages/         the ten-passage set, unless another folder is named
OUT/pretrained/           encoders that training starts from, unless another folder is named
OUT/reader.safetensors    the material: all questions and passages as tokens
OUT/manuals.safetensors   the same of questions over manuals, where they are given
OUT/teacher/  student/    the two trainings
OUT/weights/              the result: a folder for `runtime.reader`, still without a judge
OUT/fp32/                 the network before quantisation, to measure what that costs
OUT/measured.json         exact match and F1 of both
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path

from wherefrom.origin import file_hash
from wherefrom.systems.reader.about import Inputs
from wherefrom.systems.reader.settings import ReaderExportSettings, ReaderSettings, ReaderTrainingSettings
from wherefrom.systems.reader.task import ReaderTask, ReaderTaskSettings
from wherefrom.systems.table import check_extra
from wherefrom.train import pretrained
from wherefrom.train.checkpoint import saved_layers
from wherefrom.train.encoders import STUDENT as WORDPIECES
from wherefrom.train.encoders import TEACHER, Encoders, Fetch
from wherefrom.train.given import START, history, named
from wherefrom.train.loop import MODEL
from wherefrom.train.material import header
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, needed, training, write_json
from wherefrom.train.ten_passages import NOTE, ten_passages

DEFAULTS = ReaderSettings()


def stages(
    settings: ReaderSettings, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """From the datasets to weights and figures; `fetch` gets the pretrained encoders."""
    encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)
    material, teacher, student = out / "reader.safetensors", out / "teacher", out / "student"
    beside = () if inputs.manuals is None else (out / "manuals.safetensors",)
    start = _as_weights(inputs.start, out / "start.safetensors")
    earlier = _as_weights(inputs.teacher, out / "earlier.safetensors")
    teaches = earlier or teacher / MODEL
    whole = replace(settings.export, precision="fp32", table_bits=8)
    folders: dict[str, Path] = {settings.export.precision: out / "weights", whole.precision: out / "fp32"}
    return [
        *_collected(settings, inputs, inputs.ten_passages or out / "ten-passages", material, encoders, say),
        *(_over_manuals(inputs.manuals, file, encoders, say) for file in beside if inputs.manuals is not None),
        *([] if earlier else [_taught(settings, inputs, (material, *beside), teacher, encoders, say)]),
        *_dequantized("earlier", inputs.teacher, earlier),
        *_dequantized("start", inputs.start, start),
        _learnt(settings, inputs, (material, *beside), teaches, start, student, encoders, say),
        _exported("export", out / "weights", settings.export, settings.student, student / MODEL, encoders),
        _exported("fp32", out / "fp32", whole, settings.student, student / MODEL, encoders),
        _measured(settings, inputs.data, folders, out / "measured.json", say),
    ]


def _collected(
    settings: ReaderSettings, inputs: Inputs, ten: Path, material: Path, encoders: Encoders, say: Say
) -> list[Stage]:
    """The ten-passage set, then all questions and passages as tokens."""
    more = settings.material.more

    @cache
    def data(more: bool = False) -> Facts:
        from wherefrom.systems.reader.material import data_files

        files = data_files(inputs.data, more)
        return {"data": {f"{file.parent.name}/{file.name}": file_hash(file) for file in files}}

    def made_of() -> Facts:
        tokenizer = pretrained.INPUTS[WORDPIECES].sha256["tokenizer.json"]
        made = {**data(more), "ten_passages": file_hash(needed(ten / NOTE, "ten-passages")), "tokenizer": tokenizer}
        return {**made, **({"more": True, "wordnet": inputs.wordnet is not None} if more else {})}

    def make(path: Path) -> Facts:
        from wherefrom.systems.reader.material import prepare

        tokenizer = encoders.of(WORDPIECES) / "tokenizer.json"
        report = partial(_prefixed, say, "material")
        return prepare(inputs.data, ten, tokenizer, path, report, more, inputs.wordnet)

    return [ten_passages(ten, inputs.data, say, data), Stage("material", material, made_of, make)]


def _over_manuals(manuals: Path, material: Path, encoders: Encoders, say: Say) -> Stage:
    """Questions over manuals as tokens."""

    def made_of() -> Facts:
        tokenizer = pretrained.INPUTS[WORDPIECES].sha256["tokenizer.json"]
        return {"manuals": file_hash(named(manuals, "--manuals")), "tokenizer": tokenizer}

    def make(path: Path) -> Facts:
        from wherefrom.systems.reader.material import prepare_manuals

        tokenizer = encoders.of(WORDPIECES) / "tokenizer.json"
        return prepare_manuals(manuals, tokenizer, path, partial(_prefixed, say, "manuals"))

    return Stage("manuals", material, made_of, make)


def _hashes(material: Sequence[Path]) -> dict[str, str]:
    """Of the material, and of what stands beside it."""
    names = ("material", "manuals")
    return {name: file_hash(needed(file, name)) for name, file in zip(names, material, strict=False)}


def _taught(
    settings: ReaderSettings, inputs: Inputs, material: Sequence[Path], folder: Path, encoders: Encoders, say: Say
) -> Stage:
    """The teacher's training: it reads the material's wordpieces through its own vocabulary."""
    task, name = settings.teacher.task, settings.teacher.encoder

    def made_of() -> Facts:
        return {**_hashes(material), **_of(name, task)}

    def make() -> ReaderTask:
        weights = encoders.of(name) / "model.safetensors"
        first, *beside = material
        tokens = encoders.tokens(name)
        return ReaderTask(first, encoders.settings(name), weights, task, tokens=tokens, beside=beside)

    return training("teacher", folder, make, settings.teacher.loop, made_of, inputs.device, say)


def _as_weights(given: Path | None, dequantized: Path) -> Path | None:
    """Where weights that training can take lie, or will: a folder is exported weights, which are made such again."""
    return dequantized if given is not None and given.is_dir() else given


def _dequantized(name: str, given: Path | None, made: Path | None) -> list[Stage]:
    """A folder of exported weights as weights that training can take."""
    if given is None or made is None or made == given:
        return []

    def make(path: Path) -> Facts:
        from wherefrom.train.dequantize import write_dequantized

        return {"parameters": len(write_dequantized(given / "model.onnx", path))}

    return [Stage(name, made, lambda: {"model": file_hash(given / "model.onnx")}, make)]


def _learnt(
    settings: ReaderSettings,
    inputs: Inputs,
    material: Sequence[Path],
    teacher: Path,
    start: Path | None,
    folder: Path,
    encoders: Encoders,
    say: Say,
) -> Stage:
    """The student's training, from its pretrained encoder or from an earlier student."""
    task, encoder = settings.student.task, settings.student.encoder

    def learnt_from() -> Sequence[Path]:
        return material if inputs.asked is None else (named(inputs.asked, "--asked"), *material[1:])

    def made_of() -> Facts:
        files = {"teacher": needed(teacher, "teacher") if inputs.teacher is None else named(teacher, "--teacher")}
        if start is not None:
            files["start"] = named(start, "--start")
        hashes = {name: file_hash(file) for name, file in files.items()}
        return {**_hashes(learnt_from()), **hashes, **_of(encoder, task)}

    def make() -> ReaderTask:
        return student_task(settings.student, learnt_from(), teacher, encoders, start, settings.teacher.encoder)

    beside = {} if start is None else {START: history(start)}
    stage = training("student", folder, make, settings.student.loop, made_of, inputs.device, say, beside)

    def noted(path: Path) -> Facts:
        """The training, what it starts from, and what is known of questions that were asked for it."""
        questions = {} if inputs.asked is None else {"asked": header(inputs.asked)}
        return {**(stage.make(path) or {}), **({"start": beside[START]} if beside else {}), **questions}

    return replace(stage, make=noted)


def student_task(
    settings: ReaderTrainingSettings,
    material: Sequence[Path],
    teacher: Path,
    encoders: Encoders,
    start: Path | None = None,
    taught_by: str = TEACHER,
) -> ReaderTask:
    """What a student is trained on; `start` may be a deeper one than its encoder, and is gone on with as it is."""
    task, encoder = settings.task, encoders.settings(settings.encoder)
    if start is not None:
        encoder = replace(encoder, layers=saved_layers(start))
    taught = encoders.teacher(teacher, taught_by) if task.distillation or task.states else None
    weights = encoders.of(settings.encoder) / "model.safetensors"
    first, *beside = material
    return ReaderTask(first, encoder, weights, task, taught, start=start, beside=beside)


def _exported(
    name: str,
    folder: Path,
    settings: ReaderExportSettings,
    trained: ReaderTrainingSettings,
    student: Path,
    encoders: Encoders,
) -> Stage:
    """The student as a folder of weights."""

    def made_of() -> Facts:
        return {"student": file_hash(needed(student, "student")), **asdict(settings)}

    def make(path: Path) -> Facts:
        from wherefrom.systems.reader.export import export_reader

        check_extra(("onnxscript",))  # a bare GPU machine, where networks are only trained, lacks it
        encoder = replace(encoders.settings(trained.encoder), layers=saved_layers(student))
        export_reader(student, encoder, encoders.of(WORDPIECES) / "tokenizer.json", path, trained.task, settings)
        return {"pretrained": pretrained.described(*sorted({trained.encoder, WORDPIECES, TEACHER}))}

    return Stage(name, folder, made_of, make, weights=True)


def _measured(settings: ReaderSettings, data: Path, folders: dict[str, Path], out: Path, say: Say) -> Stage:
    """Exact match and F1 on SQuAD's validation questions, each over its own paragraph."""
    chosen = settings.measure

    def made_of() -> Facts:
        from wherefrom.data import squad
        from wherefrom.data.opening import split_file

        models = {
            name: {
                file: file_hash(needed(folder / file, "fp32" if folder.name == "fp32" else "export"))
                for file in ("model.onnx", "settings.toml")
            }
            for name, folder in folders.items()
        }
        valid = file_hash(split_file(data / "squad", "valid", squad.FILES))
        return {"data": valid, "models": models, "questions": chosen.questions}

    def make(path: Path) -> Facts:
        from wherefrom.build import build
        from wherefrom.config import resolve
        from wherefrom.data import squad
        from wherefrom.evaluate.first_answers import first_answer_scores
        from wherefrom.evaluate.spread import evenly_spread

        examples = evenly_spread(list(squad.load(data / "squad", "valid")), chosen.questions)
        figures: dict[str, object] = {"questions": len(examples)}
        for name, folder in folders.items():
            run = [f"runtime.reader={folder.resolve()}", "read.kind=span", f"runtime.threads={chosen.threads}"]
            reader = build(resolve(overrides=run), None).reader
            scores = first_answer_scores(reader, examples, paced(f"measure {name}", say))
            figures[name] = scores
            say(
                f"measure: {name}: exact match {scores['em']:.2f}, F1 {scores['f1']:.2f} "
                f"on {len(examples):,} questions of squad, valid"
            )
        write_json(path, figures)
        return figures

    return Stage("measure", out, made_of, make)


def _prefixed(say: Say, stage: str, line: str) -> None:
    say(f"{stage}: {line}")


def _of(encoder: str, task: ReaderTaskSettings) -> Facts:
    return {"encoder": pretrained.INPUTS[encoder].sha256["model.safetensors"], "task": asdict(task)}
