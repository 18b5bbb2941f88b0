"""The figures of a run over the real collections, and the tables that people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from bench.real.questions import HALVES
from bench.real.scoring import NONE_RIGHT, STAGES
from bench.running import row
from wherefrom.metrics.calibration import expected_calibration_error

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


class QuestionResult(TypedDict):
    """One question of a run, as the file of results has it."""

    id: str
    collection: str
    half: str
    kind: str
    question: str
    answerable: bool
    near_miss: bool
    text: str | None  # what was said, or would have been
    chance: float
    answered: bool
    right: bool  # the text, said or not
    outcome: str
    stage: str | None
    detail: str
    rank: int | None
    passage: str | None  # where the first candidate stands
    candidates: list[str]
    accepted: list[str]
    first_sentence: str | None
    first_sentence_right: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class RealFigures:
    """What a set of questions gives; shares are None where there is nothing to share."""

    questions: int
    answered: int
    right: int
    wrong: int
    wrongly_declined: int
    rightly_declined: int
    precision: float | None  # right among all that was answered
    right_share: float | None  # right among what the collections answer
    absent_declined: float | None
    near_miss_declined: float | None
    calibration_error: float  # of the chance, against whether the answer, said or withheld, is right
    stages: dict[str, int]
    read_later: int  # part of reading: a later candidate is right
    absent_answered: int  # part of judging

    @property
    def failures(self) -> int:
        return self.wrong + self.wrongly_declined


def figures(lines: Sequence[QuestionResult]) -> RealFigures:
    """The figures of these lines."""
    outcomes = Counter(line["outcome"] for line in lines)
    answered = sum(line["answered"] for line in lines)
    absent = [line for line in lines if not line["answerable"]]
    stages = Counter(line["stage"] for line in lines if line["stage"])
    return RealFigures(
        questions=len(lines),
        answered=answered,
        right=outcomes["right"],
        wrong=outcomes["wrong"],
        wrongly_declined=outcomes["wrongly declined"],
        rightly_declined=outcomes["rightly declined"],
        precision=_share(outcomes["right"], answered),
        right_share=_share(outcomes["right"], len(lines) - len(absent)),
        absent_declined=_declined(absent),
        near_miss_declined=_declined(line for line in absent if line["near_miss"]),
        calibration_error=expected_calibration_error(
            [line["chance"] for line in lines], [line["right"] for line in lines]
        ),
        stages={stage: stages[stage] for stage in STAGES},
        read_later=sum(line["stage"] == "reading" and line["detail"] != NONE_RIGHT for line in lines),
        absent_answered=sum(line["answered"] for line in absent),
    )


def tables(lines: Sequence[QuestionResult], min_chance: float) -> str:
    """All tables, as Markdown."""
    parts = [_outcomes(lines), _blame(lines), _baselines(lines), _thresholds(lines, min_chance)]
    return "\n\n".join("\n".join(part) for part in parts)


def _outcomes(lines: Sequence[QuestionResult]) -> list[str]:
    head = ["", "questions", "answered", "right", "precision", "right share", "absent declined", "near misses declined"]
    made = [row([*head, "ECE"]), "|---|" + "--:|" * len(head)]
    for name, some in _groups(lines):
        got = figures(some)
        counts = (got.questions, got.answered, got.right)
        shares = (got.precision, got.right_share, got.absent_declined, got.near_miss_declined)
        made.append(row([name, *map(str, counts), *map(_percent, shares), f"{got.calibration_error:.3f}"]))
    return made


def _groups(lines: Sequence[QuestionResult]) -> Iterable[tuple[str, list[QuestionResult]]]:
    """All, the halves, the collections and the kinds, as far as there are several."""
    yield "all", list(lines)
    for name, key, order in (
        ("half", _of("half"), HALVES),
        ("", _of("collection"), tuple(dict.fromkeys(line["collection"] for line in lines))),
        ("kind", _of("kind"), tuple(sorted({line["kind"] for line in lines}))),
    ):
        for value in order:
            some = [line for line in lines if key(line) == value]
            if some and len(some) < len(lines):
                yield f"{name} {value}".strip(), some


def _of(name: str) -> Callable[[QuestionResult], str]:
    return lambda line: str(line[name])  # type: ignore[literal-required]


def _blame(lines: Sequence[QuestionResult]) -> list[str]:
    parts = ("reading: a later candidate is right", "judging: absent answered")
    made = [row(["failures", *STAGES, *parts]), "|---|" + "--:|" * (len(STAGES) + len(parts))]
    for name, some in _groups(lines):
        got = figures(some)
        if got.failures and not name.startswith("kind"):
            counts = (*got.stages.values(), got.read_later, got.absent_answered)
            made.append(row([f"{name}: {got.failures}", *map(str, counts)]))
    return made


def _baselines(lines: Sequence[QuestionResult]) -> list[str]:
    answerable = [line for line in lines if line["answerable"]]
    right = sum(line["first_sentence_right"] for line in answerable)
    got = figures(lines)
    return [
        row(["beside", "right share", "precision", "absent declined"]),
        "|---|--:|--:|--:|",
        row(["wherefrom", _percent(got.right_share), _percent(got.precision), _percent(got.absent_declined)]),
        row(
            [
                "first sentence of the best BM25 passage",
                _percent(_share(right, len(answerable))),
                _percent(_share(right, len(lines))),
                _percent(0.0),
            ]
        ),
        row(["always decline", _percent(0.0), "-", _percent(1.0)]),
    ]


def _thresholds(lines: Sequence[QuestionResult], min_chance: float) -> list[str]:
    """What another least chance would give; the answers are the same."""
    made = [row(["least chance", "answered", "right share", "precision", "absent declined"]), "|---|--:|--:|--:|--:|"]
    answerable = sum(line["answerable"] for line in lines)
    for threshold in THRESHOLDS:
        said = [line for line in lines if line["chance"] >= threshold and line["text"] is not None]
        right = sum(line["right"] for line in said)
        absent = sum(not line["answerable"] for line in said)
        mark = " (in force)" if threshold == min_chance else ""
        declined = _share(len(lines) - answerable - absent, len(lines) - answerable)
        shares = (_share(right, answerable), _share(right, len(said)), declined)
        made.append(row([f"{threshold}{mark}", str(len(said)), *map(_percent, shares)]))
    return made


def _declined(lines: Iterable[QuestionResult]) -> float | None:
    answered = [line["answered"] for line in lines]
    return _share(len(answered) - sum(answered), len(answered))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
