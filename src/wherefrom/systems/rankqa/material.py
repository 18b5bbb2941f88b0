"""Candidate answers of many questions, read once from a library and kept in a file for training re-rankers.

    candidates.jsonl    a line a question: its passages, and each candidate with its features
    candidates.json     what they were made of; the same settings go on, others are refused

Reading takes an hour for thousands of questions. Lines hold passages and places, not numbers made of them: features
can be changed, and tags added, without reading again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from wherefrom.config import Settings, to_mapping
from wherefrom.data import squad
from wherefrom.data.examples import Example
from wherefrom.data.opening import split_file
from wherefrom.origin import file_hash
from wherefrom.train.errors import TrainingError
from wherefrom.train.stages import Facts, write_json
from wherefrom.types import Candidate, Passage, Question

if TYPE_CHECKING:
    from wherefrom.library import Library
    from wherefrom.pipeline import Pipeline

CANDIDATES = "candidates.jsonl"
_NOTE = "candidates.json"
_BATCH = 16  # questions read together: a few seconds lost by an interruption
_SECTIONS = ("split", "index", "retrieve", "rank", "read")  # settings that candidates depend on
_MODEL = ("model.onnx", "tokenizer.json", "settings.toml")


@dataclass(frozen=True, slots=True)
class KeptCandidate:
    """One candidate: where it stands and what was said of it."""

    passage: int  # which of the question's passages
    start: int
    end: int
    score: float
    features: dict[str, float]


@dataclass(frozen=True, slots=True)
class KeptQuestion:
    """One question with its gold answers and its candidates, in the reader's order."""

    id: str
    question: str
    article: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]
    places: tuple[KeptCandidate, ...]

    def as_question(self) -> Question:
        return Question(self.id, self.question)

    def candidates(self) -> list[Candidate]:
        """As the reader gave them."""
        return [
            Candidate(
                self.passages[place.passage].text[place.start : place.end],
                self.passages[place.passage],
                place.start,
                place.end,
                place.score,
                place.features,
            )
            for place in self.places
        ]


def reading(settings: Settings) -> Settings:
    """The pipeline that candidates are read with: no re-ranker yet, and as many candidates as it will see."""
    return replace(
        settings,
        rerank=replace(settings.rerank, kind="none"),
        read=replace(settings.read, candidates=settings.rerank.candidates),
    )


def collect(
    data: Path, library: Library, out: Path, every: int = 1, report: Callable[[int, int], None] = lambda *_: None
) -> list[KeptQuestion]:
    """Read every question of squad, valid, that is not kept yet; all of them, in their order.

    The library's settings say how: its retriever, ranker and reader are asked as `Library.ask` asks them.
    """
    _begin(out, made_of(data, library))
    examples = list(squad.load(data, "valid"))[::every]
    file = out / CANDIDATES
    kept = {question.id: question for question in kept_questions(file)}
    missing = [example for example in examples if example.question.id not in kept]
    done = len(examples) - len(missing)
    report(done, len(examples))
    with file.open("ab") as lines:
        for begin in range(0, len(missing), _BATCH):
            for question in _read(library.pipeline(), missing[begin : begin + _BATCH]):
                lines.write(msgspec.json.encode(question) + b"\n")
                kept[question.id] = question
            lines.flush()
            report(done + min(begin + _BATCH, len(missing)), len(examples))
    return [kept[example.question.id] for example in examples]


def kept_questions(file: Path) -> Iterator[KeptQuestion]:
    """The lines of a file; one that was cut off in the middle is dropped from it."""
    if not file.exists():
        return
    decoder = msgspec.json.Decoder(KeptQuestion)
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


def made_of(data: Path, library: Library) -> dict[str, Any]:
    """What candidates follow from: questions, library, settings, networks."""
    questions = split_file(data, "valid", squad.FILES)
    documents, passages = library.counts()
    return {
        "data": {questions.name: file_hash(questions)},
        "library": {"documents": documents, "passages": passages},
        "settings": relevant(library.settings()),
        "networks": {
            f"{folder.name}/{name}": file_hash(folder / name)
            for folder in library.pipeline().weights
            for name in _MODEL
            if (folder / name).exists()
        },
    }


def relevant(settings: Settings) -> dict[str, Any]:
    """The settings that candidates depend on."""
    sections = to_mapping(settings)
    return {name: sections[name] for name in _SECTIONS}


def _begin(out: Path, facts: Facts) -> None:
    """Note what the candidates are made of; those that were begun with anything else are not gone on with."""
    file = out / _NOTE
    if not file.exists():
        write_json(file, facts)
        return
    try:
        before: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TrainingError(f"{file} cannot be read ({error}); name another folder or delete it") from error
    for name, value in facts.items():
        if before.get(name) != value:
            raise TrainingError(
                f"{out / CANDIDATES} was made with {name} = {before.get(name)!r}, not {value!r}; name another folder "
                "for --out, or delete that one"
            )


def _read(pipeline: Pipeline, batch: Sequence[Example]) -> Iterator[KeptQuestion]:
    traces = pipeline.rank_many(pipeline.find_many([example.question for example in batch]))
    answers = pipeline.reader.read([trace.question for trace in traces], [trace.hits for trace in traces])
    for example, candidates in zip(batch, answers, strict=True):
        passages = tuple(dict.fromkeys(candidate.passage for candidate in candidates))
        number = {passage.id: place for place, passage in enumerate(passages)}
        places = tuple(
            KeptCandidate(number[c.passage.id], c.start, c.end, c.score, {k: float(v) for k, v in c.features.items()})
            for c in candidates
        )
        question = example.question
        yield KeptQuestion(question.id, question.text, example.article, example.answers, passages, places)
