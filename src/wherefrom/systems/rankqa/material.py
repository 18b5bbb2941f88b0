"""Candidate answers of many questions, read once from a library and kept in a file for training re-rankers.

    OUT/candidates.jsonl    a line a question: its passages, and each candidate with its features
    OUT/candidates.json     what they were made of; the same command goes on, another one is refused

Reading takes an hour for thousands of questions. Lines hold passages and places, not numbers made of them: features
can be changed, and tags added, without reading again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from wherefrom.config import Settings, to_mapping
from wherefrom.data.examples import Example
from wherefrom.durable import write_text
from wherefrom.library import Library
from wherefrom.origin import commit_of, file_hash
from wherefrom.pipeline import Pipeline
from wherefrom.train.errors import TrainingError
from wherefrom.types import Candidate, Passage, Question

CANDIDATES = "candidates.jsonl"
_NOTE = "candidates.json"
_BATCH = 16  # questions read together: a few seconds lost by an interruption
_SECTIONS = ("split", "index", "retrieve", "rank", "read")  # settings that candidates depend on
_MODEL = ("model.onnx", "tokenizer.json", "settings.toml")


@dataclass(frozen=True, slots=True)
class Place:
    """One candidate: where it stands and what was said of it."""

    passage: int  # which of the line's passages
    start: int
    end: int
    score: float
    features: dict[str, float]


@dataclass(frozen=True, slots=True)
class Line:
    """One question with its gold answers and its candidates, in the reader's order."""

    id: str
    question: str
    article: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]
    places: tuple[Place, ...]

    @property
    def asked(self) -> Question:
        return Question(self.id, self.question)

    def candidates(self) -> list[Candidate]:
        """As the reader gave them."""
        found = []
        for place in self.places:
            passage = self.passages[place.passage]
            text = passage.text[place.start : place.end]
            found.append(Candidate(text, passage, place.start, place.end, place.score, place.features))
        return found


def collect(
    examples: Sequence[Example],
    data: Path,
    library: Library,
    out: Path,
    report: Callable[[int, int], None] = lambda *_: None,
) -> list[Line]:
    """Read every example that has no line yet; all lines of the examples, in their order.

    The library's settings say how: its retriever, ranker and reader are asked as `Library.ask` asks them.
    """
    pipeline = library.pipeline()
    _begin(out, made_of(data, library, pipeline))
    file = out / CANDIDATES
    known = {line.id: line for line in kept(file)}
    missing = [example for example in examples if example.question.id not in known]
    report(len(examples) - len(missing), len(examples))
    with file.open("ab") as lines:
        for batch in _batches(missing):
            for line in _read(pipeline, batch):
                lines.write(msgspec.json.encode(line) + b"\n")
                known[line.id] = line
            lines.flush()
            report(sum(example.question.id in known for example in examples), len(examples))
    return [known[example.question.id] for example in examples]


def kept(file: Path) -> Iterator[Line]:
    """The lines of a file; one that was cut off in the middle is dropped from it."""
    if not file.exists():
        return
    decoder = msgspec.json.Decoder(Line)
    whole = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                yield decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise TrainingError(f"{file}, line {number}, is damaged ({error}); delete the file") from error
            whole += len(line)
    if whole < file.stat().st_size:
        with file.open("r+b") as cut:
            cut.truncate(whole)


def made_of(data: Path, library: Library, pipeline: Pipeline) -> dict[str, Any]:
    """What candidates follow from: questions, library, settings, networks."""
    documents, passages = library.counts()
    return {
        "data": {data.name: file_hash(data)},
        "library": {"documents": documents, "passages": passages},
        "settings": told(library.settings()),
        "networks": networks_of(pipeline),
    }


def told(settings: Settings) -> dict[str, Any]:
    """The settings that candidates depend on."""
    sections = to_mapping(settings)
    return {name: sections[name] for name in _SECTIONS}


def networks_of(pipeline: Pipeline) -> dict[str, str]:
    """Hashes of the files behind the pipeline's networks."""
    return {
        f"{folder.name}/{name}": file_hash(folder / name)
        for folder in pipeline.weights
        for name in _MODEL
        if (folder / name).exists()
    }


def note_of(out: Path) -> dict[str, Any]:
    """What the candidates in a folder were made of; {} where there are none."""
    file = out / _NOTE
    if not file.exists():
        return {}
    try:
        note: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TrainingError(f"{file} cannot be read ({error}); name another folder or delete it") from error
    return note


def _begin(out: Path, facts: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    noted = note_of(out)
    for name, value in facts.items():
        if noted and noted.get(name) != value:
            raise TrainingError(
                f"{out / CANDIDATES} was made with {name} = {noted.get(name)!r}, not {value!r}; name another folder "
                "for --out, or delete that one"
            )
    if not noted:
        commit, changed = commit_of()
        note = {**facts, "commit": commit, "uncommitted_changes": changed}
        write_text(out / _NOTE, json.dumps(note, indent=2) + "\n")


def _read(pipeline: Pipeline, batch: Sequence[Example]) -> Iterator[Line]:
    traces = pipeline.rank_many(pipeline.find_many([example.question for example in batch]))
    found = pipeline.reader.read([trace.question for trace in traces], [trace.hits for trace in traces])
    for example, candidates in zip(batch, found, strict=True):
        passages = tuple(dict.fromkeys(candidate.passage for candidate in candidates))
        number = {passage.id: place for place, passage in enumerate(passages)}
        places = tuple(
            Place(number[c.passage.id], c.start, c.end, c.score, {k: float(v) for k, v in c.features.items()})
            for c in candidates
        )
        asked = example.question
        yield Line(asked.id, asked.text, example.article, example.answers, passages, places)


def _batches(examples: Sequence[Example]) -> Iterator[list[Example]]:
    iterator = iter(examples)
    while batch := list(islice(iterator, _BATCH)):
        yield batch
