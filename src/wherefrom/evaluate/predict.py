"""A pipeline is run over the examples of a dataset, and its traces are kept, one a line.

An interrupted run goes on where it was. Beside the file of traces stands `<out>.run.json`: dataset, data hash,
settings, style, commit. A run that would mix two of these in one file is refused.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from wherefrom import __version__
from wherefrom.config import Settings, to_mapping
from wherefrom.data.examples import Example
from wherefrom.errors import WherefromError
from wherefrom.origin import commit_of, file_hash
from wherefrom.pipeline import Pipeline
from wherefrom.types import Hit, Style, Trace

Source = Literal["gold", "given", "library"]
SOURCES: tuple[Source, ...] = get_args(Source)
Format = Literal["traces", "squad", "trec", "msmarco"]
FORMATS: tuple[Format, ...] = get_args(Format)

Over = Callable[[Iterator[list[Example]]], Iterable[list[Trace]]]  # the traces of each batch, in their order

_BATCH = 32
# Beside a network; what it says depends on them.
_SAYING = ("settings.toml", "judge.json", "order.json", "polarity.json", "truth.json")


class PredictError(WherefromError):
    """A run cannot begin or go on; the message says why."""


@dataclass(frozen=True, slots=True)
class PredictionRun:
    """What a file of predictions was made of; two runs with equal facts give equal predictions."""

    dataset: str
    file: str
    data_sha256: str
    passages_from: Source
    style: Style
    min_chance: float  # below this the pipeline declines
    limit: int | None
    settings: dict[str, Any]
    every: int = 1  # only every n-th question
    weights: dict[str, str] = field(default_factory=dict)  # hashes of the networks' files
    wherefrom: str = __version__


def predict(
    examples: Iterable[Example],
    pipeline: Pipeline,
    run: PredictionRun,
    out: Path,
    report: Callable[[int], None] = lambda _: None,
    over: Over | None = None,
) -> int:
    """Append a trace for every example that has none yet; how many there are in the end.

    `over` is what batches are handed to in place of the pipeline: several workers, say, that have one each.
    """
    done = begin(out, run)
    examples = islice(islice(examples, 0, None, run.every), run.limit)
    batches = _batches((example for example in examples if example.question.id not in done), _BATCH)
    answered = (
        over(batches)
        if over
        else (traced(batch, pipeline, run.passages_from, run.style, run.min_chance) for batch in batches)
    )
    with out.open("ab") as lines:
        for traces in answered:
            for trace in traces:
                lines.write(msgspec.json.encode(trace) + b"\n")
                done.add(trace.question.id)
            lines.flush()
            report(len(done))
    return len(done)


def weights_of(pipeline: Pipeline) -> dict[str, str]:
    """Hashes of the files behind the pipeline's networks: new weights, new predictions."""
    return {
        f"{folder.name}/{file.name}": file_hash(file)
        for folder in pipeline.weights
        for file in sorted(folder.glob("*"))
        if file.suffix in (".onnx", ".npy", ".npz") or file.name in _SAYING
    }


def traced(
    batch: Sequence[Example], pipeline: Pipeline, source: Source, style: Style, min_chance: float
) -> list[Trace]:
    """The pipeline's traces for some examples."""
    questions = [example.question for example in batch]
    if source == "library":
        return pipeline.ask_many(questions, style, min_chance)
    return pipeline.answer_many(questions, [given_hits(example, source) for example in batch], style, min_chance)


def given_hits(example: Example, source: Source) -> list[Hit]:
    """The dataset's own passages as hits: all of them in their order, or those that are gold."""
    passages = example.passages
    if source == "gold":
        spans = {span.passage_id for span in example.spans}
        labelled = [passage for passage, right in zip(passages, example.relevant, strict=False) if right]
        passages = tuple(labelled) or tuple(passage for passage in passages if passage.id in spans) or passages
    # The dataset's order stands for a retriever's: scores only have to fall. (TREC-QA lists right answers first: there
    # only a ranker's own scores mean anything.)
    return [Hit(passage, 1.0 / rank, {"retrieve": 1.0 / rank}) for rank, passage in enumerate(passages, start=1)]


def begin(out: Path, run: PredictionRun) -> set[str]:
    """Note what the run is made of, and give the questions that are done; a cut-off last line is dropped."""
    note = Path(f"{out}.run.json")
    facts = msgspec.to_builtins(run)
    if out.exists():
        noted = _noted(note, out)
        for name, value in facts.items():
            if noted.get(name) != value:
                raise PredictError(
                    f"{out} was made with {name} = {noted.get(name)!r}, not {value!r}; name another file or delete it"
                )
    out.parent.mkdir(parents=True, exist_ok=True)
    commit, changed = commit_of()
    provenance = {
        "commit": commit,
        "uncommitted_changes": changed,
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }
    note.write_bytes(msgspec.json.format(msgspec.json.encode({**facts, **provenance}), indent=2) + b"\n")
    return _done(out) if out.exists() else set()


def _noted(note: Path, out: Path) -> dict[str, Any]:
    try:
        noted: dict[str, Any] = msgspec.json.decode(note.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError) as error:
        raise PredictError(f"{out} exists without a readable {note.name}; name another file or delete it") from error
    return noted


def _done(out: Path) -> set[str]:
    done: set[str] = set()
    whole = 0
    with out.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break
            done.add(msgspec.json.decode(line, type=Trace).question.id)
            whole += len(line)
    if whole < out.stat().st_size:
        with out.open("r+b") as file:
            file.truncate(whole)
    return done


def read_traces(path: Path) -> Iterator[Trace]:
    """The traces of a file, one at a time."""
    decoder = msgspec.json.Decoder(Trace)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield decoder.decode(line)
                except msgspec.MsgspecError as error:
                    raise PredictError(f"{path}, line {number}: not a trace ({error})") from error


def export(traces: Iterable[Trace], format: Format, out: Path) -> None:
    """Traces in a dataset's official format for submissions."""
    writers: dict[str, Callable[[Iterable[Trace]], Iterator[bytes]]] = {
        "squad": _squad_lines,
        "trec": _trec_lines,
        "msmarco": _msmarco_lines,
    }
    fresh = out.with_name(out.name + ".new")
    with fresh.open("wb") as file:
        file.writelines(writers[format](traces))
    fresh.replace(out)


def _squad_lines(traces: Iterable[Trace]) -> Iterator[bytes]:
    """SQuAD: one JSON object from question id to answer, empty where declined."""
    yield msgspec.json.encode({trace.question.id: _text(trace) for trace in traces}) + b"\n"


def _trec_lines(traces: Iterable[Trace]) -> Iterator[bytes]:
    """TREC run: question, Q0, passage, rank, score, tag."""
    for trace in traces:
        for rank, hit in enumerate(trace.hits, start=1):
            fields = (trace.question.id, "Q0", hit.passage.id, str(rank), f"{hit.score:.9g}", "wherefrom")
            if any(" " in field or "\t" in field for field in fields):
                raise PredictError(f"a TREC run cannot hold ids with blanks: {trace.question.id!r}, {hit.passage.id!r}")
            yield " ".join(fields).encode() + b"\n"


def _msmarco_lines(traces: Iterable[Trace]) -> Iterator[bytes]:
    """MS MARCO: {"query_id": ..., "answers": [...]} a line; a declined question has no answers."""
    for trace in traces:
        id: int | str = int(trace.question.id) if trace.question.id.isdecimal() else trace.question.id
        text = _text(trace)
        yield msgspec.json.encode({"query_id": id, "answers": [text] if text else []}) + b"\n"


def _text(trace: Trace) -> str:
    return (trace.answer.text or "") if trace.answer else ""


def facts_of_data(path: Path) -> str:
    """A hash of the file, or of all files of a folder."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(file_hash(file).encode())
    return digest.hexdigest()


def resolved(settings: Settings) -> dict[str, Any]:
    """The settings that can change a prediction."""
    return {section: values for section, values in to_mapping(settings).items() if section != "ingest"}


def _batches(items: Iterable[Example], size: int) -> Iterator[list[Example]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
