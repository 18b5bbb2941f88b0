"""Predictions as a scorer sees them, read from traces or from a dataset's official submission format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from wherefrom.data.opening import byte_lines, read_bytes
from wherefrom.evaluate.predict import PredictError
from wherefrom.evaluate.written import copied_from, written_values
from wherefrom.types import Trace


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was said to one question."""

    id: str
    text: str | None = None  # "" where it was declined; None where the format holds no answers
    withheld: str = ""  # what would have been said, had it not been declined
    chance: float | None = None
    style: str = ""
    ranking: tuple[tuple[str, float], ...] = ()  # passage ids with scores, best first
    texts: tuple[str, ...] | None = None  # the texts of the ranked passages; None where the format holds none
    summary: str | None = None
    written: Mapping[str, float] = field(default_factory=dict)  # what is to be said of it without gold
    copied_from: tuple[str, ...] = ()  # the passage of every copied word


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by question; the format is told by the content, packed or not."""
    first = _first_line(path)
    if first.startswith(b"{"):
        try:
            head: Any = msgspec.json.decode(first)
        except msgspec.MsgspecError:
            head = {}  # an object over several lines
        if "question" in head and "hits" in head:
            rows: Iterable[Prediction] = map(of_trace, _traces(path))
        elif "query_id" in head:
            rows = _marco(path)
        else:
            rows = _squad(path)
    else:
        rows = _trec(path)
    predictions: dict[str, Prediction] = {}
    for prediction in rows:
        if prediction.id in predictions:
            raise PredictError(f"{path} answers question {prediction.id!r} twice")
        predictions[prediction.id] = prediction
    return predictions


def of_trace(trace: Trace) -> Prediction:
    answer = trace.answer
    ranking = tuple((hit.passage.id, hit.score) for hit in trace.hits)
    return Prediction(
        id=trace.question.id,
        text=(answer.text or "") if answer else None,
        withheld=trace.candidates[0].text if trace.candidates else "",
        chance=answer.chance if answer else None,
        style=answer.style if answer else "",
        ranking=ranking,
        texts=tuple(hit.passage.text for hit in trace.hits),
        summary=trace.summary.text if trace.summary else None,
        written=written_values(trace),
        copied_from=copied_from(trace),
    )


def _first_line(path: Path) -> bytes:
    try:
        for _, line in byte_lines(path):
            return line
    except OSError as error:
        raise PredictError(f"{path} cannot be read: {error.strerror}") from error
    raise PredictError(f"{path} is empty")


def _traces(path: Path) -> Iterator[Trace]:
    decoder = msgspec.json.Decoder(Trace)
    for place, line in byte_lines(path):
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise PredictError(f"{place}: not a trace ({error})") from error


def _squad(path: Path) -> Iterator[Prediction]:
    """SQuAD: {id: text}."""
    try:
        answers = msgspec.json.decode(read_bytes(path), type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise PredictError(
            f"{path} is neither traces, nor SQuAD's {{id: text}}, nor MS MARCO lines, nor a TREC run ({error})"
        ) from error
    return (Prediction(id, text) for id, text in answers.items())


class _MarcoLine(msgspec.Struct):
    query_id: int | str
    answers: list[str]


def _marco(path: Path) -> Iterator[Prediction]:
    """MS MARCO: {"query_id": ..., "answers": [...]} a line; "No Answer Present." is no answer."""
    decoder = msgspec.json.Decoder(_MarcoLine)
    for place, line in byte_lines(path):
        try:
            row = decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise PredictError(f"{place}: not a line of MS MARCO's submission format ({error})") from error
        if len(row.answers) > 1:
            raise PredictError(f"{place}: answers: expected one answer at most, found {len(row.answers)}")
        text = row.answers[0] if row.answers else ""
        yield Prediction(str(row.query_id), "" if text == "No Answer Present." else text)


def _trec(path: Path) -> Iterator[Prediction]:
    """A TREC run: question, Q0, passage, rank, score, tag; the score decides, as in trec_eval."""
    rankings: dict[str, dict[str, float]] = {}
    for place, line in byte_lines(path):
        fields = line.decode("utf-8", "replace").split()
        if len(fields) != 6:
            raise PredictError(f"{place}: a line of a TREC run has 6 fields, this one has {len(fields)}")
        question, _, passage, _, score, _ = fields
        try:
            value = float(score)
        except ValueError as error:
            raise PredictError(f"{place}: score: expected a number, found {score!r}") from error
        if passage in rankings.setdefault(question, {}):
            raise PredictError(f"{place}: passage {passage!r} is ranked twice for question {question!r}")
        rankings[question][passage] = value
    for question, ranked in rankings.items():
        yield Prediction(question, ranking=tuple(sorted(ranked.items(), key=lambda pair: -pair[1])))
