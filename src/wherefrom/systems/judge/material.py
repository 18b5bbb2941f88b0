"""Questions as the judge sees them, of the ten-passage set and of small libraries: read once, then kept in a file.

Reading takes minutes to an hour; what has been read is kept line by line, so that an interrupted run goes on. The
file is named by a hash of all that the numbers depend on: other weights or other features make another file.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from wherefrom.build import build
from wherefrom.config import Settings, resolve, to_mapping
from wherefrom.data.examples import whole
from wherefrom.data.msmarco import NO_ANSWER
from wherefrom.durable import write_text
from wherefrom.evaluate.ten_passages import passage_of, rows_of
from wherefrom.features import matching, merits
from wherefrom.features.overlap import Stems
from wherefrom.judge import calibrated, second, signs
from wherefrom.library import Library
from wherefrom.metrics.answers import token_f1
from wherefrom.origin import file_hash
from wherefrom.pipeline import Pipeline
from wherefrom.rank import reader as ranker
from wherefrom.read import span
from wherefrom.rerank.merits import ORDER
from wherefrom.runtime import reader as session
from wherefrom.runtime import writer
from wherefrom.runtime.weights import Weights
from wherefrom.systems.judge import libraries
from wherefrom.systems.judge.libraries import YES_NO, SmallLibrary
from wherefrom.systems.judge.order import ComparedQuestion
from wherefrom.text import normalized
from wherefrom.train.errors import TrainingError
from wherefrom.types import Hit, Passage, Question, Trace

_TRUTH = signs.NAMES.index("truth")
_BATCH = 8  # questions read together: a few seconds lost by an interruption
_CODE = (session, writer, ranker, span, matching, merits, calibrated, second, signs, libraries)  # computes the features
TEN = "ten passages"
_ENOUGH = 0.6  # token F1 with a gold answer from which another wording of it counts as right
_LONG = 8  # words of a gold answer that is a sentence, ...
_LEAST = 3  # ... and of an answer in it
_MODEL = ("model.onnx", "tokenizer.json", "settings.toml")


class AnyQuestion(Protocol):
    """One of either source."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def answers(self) -> tuple[str, ...]: ...
    @property
    def article(self) -> str: ...


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """One question: what the judge looks at, and what is true."""

    id: str
    article: str
    answerable: bool
    features: tuple[float, ...] | None  # None: nothing was found to look at
    f1: float | None  # of the best candidate; None where there is no gold answer
    right: bool = False  # whether the first candidate answers it
    kind: str = TEN  # of the documents
    text: str = ""  # the first candidate


@dataclass(frozen=True, slots=True)
class TenPassageQuestion:
    """One line of the ten-passage set."""

    id: str
    article: str
    text: str
    passages: tuple[Passage, ...]
    answers: tuple[str, ...]


def neural(weights: Path, threads: int, *more: str) -> Settings:
    """The settings of a pipeline in which the network ranks, reads and judges; all others are the defaults."""
    chosen = ["rank.kind=reader", "read.kind=span", "judge.kind=calibrated", f"runtime.threads={threads}", *more]
    return resolve(overrides=[*chosen, f"runtime.reader={weights.resolve()}"])


def questions_of(file: Path, titles: Mapping[str, str] | None) -> list[TenPassageQuestion]:
    """All questions of a split; `titles` are those of Wikipedia's articles, None leaves every title out.

    A question whose gold passage was left out belongs to the article of the answerable one before it: the set keeps
    SQuAD's order, in which an article's questions stand together.
    """
    rows = list(rows_of(file))
    golds = [next((p["url"] for p in row["passages"] if p["is_selected"]), None) for row in rows]
    article = next((url.partition("#")[0] for url in golds if url), "")
    questions = []
    for row, gold in zip(rows, golds, strict=True):
        article = gold.partition("#")[0] if gold else article
        given = [passage_of(passage, titles or {}) for passage in row["passages"]]
        passages = given if titles is not None else [whole(passage.id, passage.text) for passage in given]
        answers = tuple(answer for answer in row["answers"] if answer != NO_ANSWER)
        questions.append(TenPassageQuestion(str(row["query_id"]), article, row["query"], tuple(passages), answers))
    return questions


def readings_file(folder: Path, weights: Path, data: Mapping[str, object]) -> Path:
    """Where the readings are kept; `data` says what the questions are.

    Named by a hash of all that a feature depends on: network, settings, questions, and the code that computes it.
    """
    sections = to_mapping(neural(weights, 1))
    facts = {
        "model": model_hashes(weights),
        "writer": file_hash(Weights.named(str(sections["runtime"]["writer"])).file("encode.onnx")),
        "settings": {name: sections[name] for name in ("retrieve", "rank", "read")},
        "code": [file_hash(Path(str(module.__file__))) for module in _CODE],
        "data": data,
    }
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    return folder / f"features-{key}.jsonl"


def collect(
    questions: Sequence[TenPassageQuestion],
    file: Path,
    weights: Path,
    threads: int,
    report: Callable[[int, int], None] = lambda *_: None,
) -> None:
    """Let the pipeline's own stages read every question that is not in the file yet."""
    known = _read_before(file)
    missing = [question for question in questions if question.id not in known]
    done = len(questions) - len(missing)
    report(done, len(questions))
    if not missing:
        return
    pipeline = build(neural(weights, threads), None)
    with file.open("a", encoding="utf-8") as lines:
        for begin in range(0, len(missing), _BATCH):
            batch = missing[begin : begin + _BATCH]
            for judged in _read(pipeline, batch):
                lines.write(json.dumps(asdict(judged)) + "\n")
            lines.flush()
            done += len(batch)
            report(done, len(questions))


def kept(file: Path, questions: Sequence[TenPassageQuestion]) -> list[JudgedQuestion]:
    """What was read of these questions."""
    known = _read_before(file)
    if missing := sum(question.id not in known for question in questions):
        raise TrainingError(f"{missing} questions have not been read yet; run the stage readings (--stage readings)")
    return [known[question.id] for question in questions]


def model_hashes(weights: Path) -> dict[str, str]:
    """What a network's answers depend on."""
    return {name: file_hash(Weights(weights).file(name)) for name in _MODEL}


def order_hash(weights: Path) -> str | None:
    """What the order of its answers depends on beside; None where it has none."""
    file = weights / ORDER
    return file_hash(file) if file.exists() else None


def is_right(text: str, answers: Sequence[str]) -> bool:
    """Whether it holds a gold answer as whole words, or says it in nearly the same ones (SQuAD's normal form).

    Long golds are whole sentences that an answer stands in: there some words of them are enough.
    """
    plain = normalized(text)
    for gold in filter(None, map(normalized, answers)):
        if f" {gold} " in f" {plain} " or token_f1(plain, [gold], "1.1") >= _ENOUGH:
            return True
        long = len(gold.split()) > _LONG
        if long and len(plain.split()) >= _LEAST and f" {plain} " in f" {gold} ":
            return True
    return False


def _read(pipeline: Pipeline, batch: Sequence[TenPassageQuestion]) -> Iterator[JudgedQuestion]:
    """The given order stands for a retriever's."""
    given = [[Hit(passage, 1.0 / rank) for rank, passage in enumerate(each.passages, start=1)] for each in batch]
    traces = [Trace(Question(each.id, each.text), tuple(hits)) for each, hits in zip(batch, given, strict=True)]
    yield from _judged(pipeline, batch, traces, TEN)


def _judged(
    pipeline: Pipeline, batch: Sequence[AnyQuestion], traces: Sequence[Trace], kind: str
) -> Iterator[JudgedQuestion]:
    """Rank, read, re-rank and look, as `Pipeline.answer_many` does."""
    assert isinstance(pipeline.judge, calibrated.CalibratedJudge)
    traces = pipeline.read_many(pipeline.rank_many(traces))
    seen = pipeline.judge.features(
        [trace.question for trace in traces], [trace.hits for trace in traces], [trace.candidates for trace in traces]
    )
    for each, trace, features in zip(batch, traces, seen, strict=True):
        text = trace.candidates[0].text if trace.candidates else ""
        if kind == YES_NO:
            text = "" if features is None else ("yes" if features[_TRUTH] >= 0 else "no")
        f1 = token_f1(text, each.answers, "1.1") if each.answers else None
        right = bool(each.answers) and is_right(text, each.answers)
        yield JudgedQuestion(each.id, each.article, bool(each.answers), features, f1, right, kind, text)


def collect_libraries(
    made: Sequence[SmallLibrary],
    file: Path,
    weights: Path,
    threads: int,
    report: Callable[[int, int], None] = lambda *_: None,
) -> None:
    """Make every library that is not in the file yet and ask its questions; whole libraries are kept."""
    _collect(made, file, neural(weights, threads), set(_read_before(file)), _judged, report)


def collect_compared(
    made: Sequence[SmallLibrary],
    file: Path,
    weights: Path,
    threads: int,
    report: Callable[[int, int], None] = lambda *_: None,
) -> None:
    """The same for the merits of the different answers to each question, as the reader puts them."""
    settings = neural(weights, threads, "rerank.kind=none")
    stems, matcher = Stems(settings.index.language), matching.Matcher(Weights.named(settings.runtime.matcher))

    def compare(
        pipeline: Pipeline, batch: Sequence[AnyQuestion], traces: Sequence[Trace], kind: str
    ) -> Iterator[ComparedQuestion]:
        for each, trace in zip(batch, pipeline.read_many(pipeline.rank_many(traces)), strict=True):
            texts = [candidate.text for candidate in merits.different(trace.candidates)]
            yield ComparedQuestion(
                each.id,
                each.article,
                kind,
                bool(each.answers),
                tuple(merits.merits(each.text, trace.candidates, stems, matcher)) if texts else (),
                tuple(bool(each.answers) and is_right(text, each.answers) for text in texts),
                tuple(token_f1(text, each.answers, "1.1") if each.answers else 0.0 for text in texts),
            )

    _collect(made, file, settings, {row.id for row in compared_before(file)}, compare, report)


_Look = Callable[[Pipeline, Sequence[AnyQuestion], Sequence[Trace], str], Iterator[JudgedQuestion | ComparedQuestion]]


def _collect(
    made: Sequence[SmallLibrary],
    file: Path,
    settings: Settings,
    known: Collection[str],
    look: _Look,
    report: Callable[[int, int], None],
) -> None:
    missing = [library for library in made if not all(question.id in known for question in library.questions)]
    total = sum(len(library.questions) for library in made)
    done = total - sum(len(library.questions) for library in missing)
    report(done, total)
    if not missing:
        return
    pipeline = build(settings, None)
    with file.open("a", encoding="utf-8") as lines:
        for each in missing:
            with tempfile.TemporaryDirectory() as folder, Library(folder, settings) as library:
                library.put(each.documents)
                searching = replace(pipeline, retriever=library.pipeline().retriever)
                for begin in range(0, len(each.questions), _BATCH):
                    batch = each.questions[begin : begin + _BATCH]
                    traces = searching.find_many([Question(question.id, question.text) for question in batch])
                    for row in look(searching, batch, traces, each.kind):
                        lines.write(json.dumps(asdict(row)) + "\n")
                    done += len(batch)
                    report(done, total)
                lines.flush()


def compared_before(file: Path) -> list[ComparedQuestion]:
    """What an earlier run has compared; a question that stands there twice counts once."""
    rows = {}
    for place, row in _lines(file):
        try:
            merits_of = tuple(tuple(map(float, each)) for each in row.pop("merits"))
            compared = ComparedQuestion(
                **{**row, "merits": merits_of, "right": tuple(row["right"]), "f1": tuple(row["f1"])}
            )
        except (ValueError, KeyError, TypeError) as error:
            raise TrainingError(f"{file}, line {place}, is damaged ({error}); delete the file") from error
        rows[compared.id] = compared
    return list(rows.values())


def kept_libraries(file: Path, made: Sequence[SmallLibrary]) -> list[JudgedQuestion]:
    """What was read of these libraries' questions."""
    known = _read_before(file)
    questions = [question for library in made for question in library.questions]
    if missing := sum(question.id not in known for question in questions):
        raise TrainingError(f"{missing} questions have not been read yet; run the stage libraries (--stage libraries)")
    return [known[question.id] for question in questions]


def _read_before(file: Path) -> dict[str, JudgedQuestion]:
    """What an earlier run has read; a line that was cut off in the middle is dropped."""
    known = {}
    for number, row in _lines(file):
        try:
            features = row.pop("features")
            judged = JudgedQuestion(**row, features=None if features is None else tuple(features))
        except (ValueError, KeyError, TypeError) as error:
            raise TrainingError(f"{file}, line {number}, is damaged ({error}); delete the file") from error
        known[judged.id] = judged
    return known


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The whole lines of a file that may not be there, with their numbers; a torn one at its end is cut off."""
    if not file.exists():
        return
    text = file.read_text(encoding="utf-8")
    whole_lines = text[: text.rfind("\n") + 1]
    if whole_lines != text:
        write_text(file, whole_lines)
    for number, line in enumerate(whole_lines.splitlines(), start=1):
        try:
            row: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise TrainingError(f"{file}, line {number}, is damaged ({error}); delete the file") from error
        yield number, row
