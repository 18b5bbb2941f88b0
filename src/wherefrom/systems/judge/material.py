"""The questions of the ten-passage set as the judge sees them: read once by the network, then kept in a file.

Reading takes minutes to an hour; what has been read is kept line by line, so that an interrupted run goes on. The
file is named by a hash of all that the numbers depend on: other weights or other features make another file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from wherefrom.build import build
from wherefrom.config import Settings, resolve, to_mapping
from wherefrom.data.examples import whole
from wherefrom.data.msmarco import NO_ANSWER
from wherefrom.durable import write_text
from wherefrom.evaluate.ten_passages import passage_of, rows_of
from wherefrom.judge import calibrated
from wherefrom.metrics.answers import token_f1
from wherefrom.origin import file_hash
from wherefrom.pipeline import Pipeline
from wherefrom.rank import reader as ranker
from wherefrom.read import span
from wherefrom.runtime import reader as session
from wherefrom.runtime.weights import Weights
from wherefrom.train.errors import TrainingError
from wherefrom.types import Hit, Passage, Question

_BATCH = 8  # questions read together: a few seconds lost by an interruption
_CODE = (session, ranker, span, calibrated)  # what computes the features
_MODEL = ("model.onnx", "tokenizer.json", "settings.toml")


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: what the judge looks at, and what is true."""

    id: str
    article: str
    answerable: bool
    features: tuple[float, ...] | None  # None: nothing was found to look at
    f1: float | None  # of the best candidate; None where there is no gold answer


@dataclass(frozen=True, slots=True)
class Asked:
    """One line of the ten-passage set."""

    id: str
    article: str
    text: str
    passages: tuple[Passage, ...]
    answers: tuple[str, ...]


def neural(weights: Path, threads: int) -> Settings:
    """The settings of a pipeline in which the network ranks, reads and judges; all others are the defaults."""
    chosen = ["rank.kind=reader", "read.kind=span", "judge.kind=calibrated", f"runtime.threads={threads}"]
    return resolve(overrides=[*chosen, f"runtime.reader={weights.resolve()}"])


def asked_of(file: Path, titles: Mapping[str, str] | None) -> list[Asked]:
    """All questions of a split; `titles` are those of Wikipedia's articles, None leaves every title out.

    A question whose gold passage was left out belongs to the article of the answerable one before it: the set keeps
    SQuAD's order, in which an article's questions stand together.
    """
    rows = list(rows_of(file))
    golds = [next((p["url"] for p in row["passages"] if p["is_selected"]), None) for row in rows]
    article = next((url.partition("#")[0] for url in golds if url), "")
    found = []
    for row, gold in zip(rows, golds, strict=True):
        article = gold.partition("#")[0] if gold else article
        given = [passage_of(passage, titles or {}) for passage in row["passages"]]
        passages = given if titles is not None else [whole(passage.id, passage.text) for passage in given]
        answers = tuple(answer for answer in row["answers"] if answer != NO_ANSWER)
        found.append(Asked(str(row["query_id"]), article, row["query"], tuple(passages), answers))
    return found


def collected(
    questions: Sequence[Asked],
    weights: Path,
    data: Mapping[str, object],
    work: Path,
    threads: int,
    report: Callable[[int, int], None] = lambda *_: None,
) -> list[Judged]:
    """Every question read by the pipeline's own stages; `data` says what the questions are, for the file's name."""
    settings = neural(weights, threads)
    file = work / f"features-{_key(weights, settings, data)}.jsonl"
    known = _kept(file)
    missing = [question for question in questions if question.id not in known]
    report(len(questions) - len(missing), len(questions))
    if missing:
        work.mkdir(parents=True, exist_ok=True)
        pipeline = build(settings, None)
        with file.open("a", encoding="utf-8") as lines:
            for batch in _batches(missing):
                for judged in _read(pipeline, batch):
                    lines.write(json.dumps(asdict(judged)) + "\n")
                    known[judged.id] = judged
                lines.flush()
                report(sum(question.id in known for question in questions), len(questions))
    return [known[question.id] for question in questions]


def model_hashes(weights: Path) -> dict[str, str]:
    """What a network's answers depend on."""
    return {name: file_hash(Weights(weights).file(name)) for name in _MODEL}


def _read(pipeline: Pipeline, batch: Sequence[Asked]) -> Iterator[Judged]:
    """Rank, read and look, as `Pipeline.answer_many` does; the given order stands for a retriever's."""
    questions = [Question(asked.id, asked.text) for asked in batch]
    given = [[Hit(passage, 1.0 / rank) for rank, passage in enumerate(asked.passages, start=1)] for asked in batch]
    assert pipeline.ranker is not None
    assert isinstance(pipeline.judge, calibrated.CalibratedJudge)
    hits = pipeline.ranker.rank(questions, given)
    candidates = pipeline.reader.read(questions, hits)
    seen = pipeline.judge.features(questions, hits, candidates)
    for asked, found, features in zip(batch, candidates, seen, strict=True):
        said = found[0].text if found else ""
        f1 = token_f1(said, asked.answers, "1.1") if asked.answers else None
        yield Judged(asked.id, asked.article, bool(asked.answers), features, f1)


def _key(weights: Path, settings: Settings, data: Mapping[str, object]) -> str:
    """A hash of all that a feature depends on: network, settings, questions, and the code that computes it."""
    sections = to_mapping(settings)
    facts = {
        "model": model_hashes(weights),
        "settings": {name: sections[name] for name in ("rank", "read")},
        "code": [file_hash(Path(str(module.__file__))) for module in _CODE],
        "data": data,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _kept(file: Path) -> dict[str, Judged]:
    """What an earlier run has read; a line that was cut off in the middle is dropped."""
    if not file.exists():
        return {}
    text = file.read_text(encoding="utf-8")
    whole_lines = text[: text.rfind("\n") + 1]
    if whole_lines != text:
        write_text(file, whole_lines)
    known = {}
    for number, line in enumerate(whole_lines.splitlines(), start=1):
        try:
            row: dict[str, Any] = json.loads(line)
            features = row.pop("features")
            judged = Judged(**row, features=None if features is None else tuple(features))
        except (ValueError, KeyError, TypeError) as error:
            raise TrainingError(f"{file}, line {number}, is damaged ({error}); delete the file") from error
        known[judged.id] = judged
    return known


def _batches(questions: Sequence[Asked]) -> Iterator[list[Asked]]:
    iterator = iter(questions)
    while batch := list(islice(iterator, _BATCH)):
        yield batch
