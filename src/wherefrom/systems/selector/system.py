"""Fits the selector.

    OUT/libraries/                            the documents that are searched
    OUT/explained-fit.npz, -valid.npz         statements of what was retrieved for questions with long answers
    OUT/summarized-fit.npz, -valid.npz        the same for summaries
    OUT/weights/                              the result: a folder for `runtime.selector`

One hidden layer with a head a purpose, by the logistic loss; beside it the line that says whether the passages speak of
a question at all. Questions of one document are fitted on or measured with, not both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy
import torch
from numpy.typing import NDArray

from wherefrom.errors import SettingsError
from wherefrom.features.telling import CHANCE, SIGNS, signs_of
from wherefrom.features.worth import FILE, NAMES, PURPOSES, Purpose
from wherefrom.metrics.calibration import average_precision, best_f1
from wherefrom.origin import file_hash
from wherefrom.systems.selector.about import Inputs
from wherefrom.systems.selector.material import Rows, explained, meetings, news, stories, summarized
from wherefrom.systems.selector.network import SelectorNetwork
from wherefrom.train.logistic import Logistic, logistic
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, needed

_FIT_SOURCES = ("medquad", "msmarco", "nq")  # the reader learnt SQuAD's training part by heart
_LINE_SOURCES = ("msmarco", "nq")  # MedQuAD has other pages on the same: without one there still is an answer
_VALID_SOURCES = (*_FIT_SOURCES, "squad")
_DATA = (
    "medquad/medquad.jsonl.xz",
    "instructions/task870_msmarco_answer_generation.jsonl.xz",
    "nq_oracle/train.jsonl.xz",
    "squad/valid-v1.1.json.xz",
    "qmsum/train.jsonl.xz",
    "squality/train.jsonl.xz",
    "halueval/summarization.jsonl.xz",
)
# What stands for the reader's numbers where it has not read: some questions are fitted so, for readers of other kinds.
_UNREAD = {"relevance": -8.0, "relevance lag": 0.0, "null margin": -8.0, "span start": -12.0, "span mass": 0.0}
_LEAST_SCALE = 0.02
_UNLEARNT = ("item", "list", "code")  # the sources hold hardly any: what is learnt of them is an accident


@dataclass(frozen=True, slots=True)
class SelectorSettings:
    """How many questions it learns from, and how the network is trained."""

    explained: int = 80  # questions of each source with long answers
    explained_valid: int = 30
    meetings: int = 150  # questions of each kind of summaries
    stories: int = 30
    news: int = 70
    held_out: float = 0.15  # of the summaries, by their documents
    width: int = 16
    dropout: float = 0.2
    steps: int = 1500
    learning_rate: float = 3e-3
    weight_decay: float = 0.05
    unread: float = 0.15  # share of the questions that are shown without the reader's numbers
    least: float = 0.5  # a statement is told if its score is at least so much of the score that makes the best F1
    least_summary: float = 0.2  # the same in a summary, which is to fill its words where there is anything on it
    seed: int = 7

    def __post_init__(self) -> None:
        if min(self.explained, self.explained_valid, self.meetings, self.stories, self.news, self.width) < 1:
            raise SettingsError("explained, explained_valid, meetings, stories, news and width must be above 0")
        if not 0.0 < self.held_out < 1.0:
            raise SettingsError(f"held_out is a share between 0 and 1, not {self.held_out}")


DEFAULTS = SelectorSettings()


def stages(settings: SelectorSettings, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    """Half an hour on two cores, most of it the reader's."""
    data = inputs.data

    def data_of() -> Facts:
        return {"data": {name: file_hash(data / name) for name in _DATA}, "seed": settings.seed}

    def explained_of() -> Facts:
        return {**data_of(), "counts": [settings.explained, settings.explained_valid]}

    def explain(path: Path) -> Facts:
        path.mkdir()
        report = paced("explained", say)
        fit = explained(data, _FIT_SOURCES, "fit", settings.explained, out, report)
        valid = explained(data, _VALID_SOURCES, "valid", settings.explained_valid, out, report)
        fit.save(path / "fit.npz")
        valid.save(path / "valid.npz")
        return {"fit": counted(fit), "valid": counted(valid)}

    def summarized_of() -> Facts:
        return {**data_of(), "counts": [settings.meetings, settings.stories, settings.news]}

    def summarize(path: Path) -> Facts:
        path.mkdir()
        facts: dict[str, Any] = {}
        for name, wanted, count in (
            ("qmsum", meetings(data, "train"), settings.meetings),
            ("squality", stories(data), settings.stories),
            ("news", news(data), settings.news),
        ):
            some = list(wanted)
            Random(f"{name} {settings.seed}").shuffle(some)
            made = summarized(some[:count], out, name, paced(name, say))
            made.save(path / f"{name}.npz")
            facts[name] = counted(made)
        return facts

    def fitted_of() -> Facts:
        folders = (needed(out / "explained", "explained"), needed(out / "summarized", "summarized"))
        return {file.name: file_hash(file) for folder in folders for file in sorted(folder.iterdir())} | asdict(
            settings
        )

    return [
        Stage("explained", out / "explained", explained_of, explain),
        Stage("summarized", out / "summarized", summarized_of, summarize),
        Stage("fit", out / "weights", fitted_of, lambda path: fit(out, path, settings, say), weights=True),
    ]


def counted(rows: Rows) -> dict[str, Any]:
    return {
        "questions": len(rows.purpose),
        "answerable": int(rows.answerable.sum()),
        "statements": len(rows.gold),
        "right": int(rows.gold.sum()),
    }


def fit(out: Path, path: Path, settings: SelectorSettings, say: Say) -> Facts:
    """Train the network, then the line on what it says of the questions that were fitted on, and measure both."""
    fit_rows, valid = Rows.load(out / "explained" / "fit.npz"), Rows.load(out / "explained" / "valid.npz")
    summaries = [Rows.load(out / "summarized" / f"{name}.npz") for name in ("qmsum", "squality", "news")]
    parts = [_halves(each, settings.held_out) for each in summaries]
    learnt = joined_rows([_answerable(fit_rows), *(one for one, _ in parts)])
    network = trained(learnt, settings, say)
    forget(network, [NAMES.index(name) for name in _UNLEARNT])
    path.mkdir()
    both: tuple[tuple[Purpose, float, Rows], ...] = (
        ("explain", settings.least, _answerable(fit_rows)),
        ("summary", settings.least_summary, joined_rows([one for one, _ in parts])),
    )
    least = [
        share * best_f1(scored(network, rows, purpose).tolist(), (rows.gold > 0).tolist()).threshold
        for purpose, share, rows in both
    ]
    save(network, least, path)
    held_out = {name: other for name, (_, other) in zip(("qmsum", "squality", "news"), parts, strict=True)}
    facts: dict[str, Any] = {
        "explain": _measured(network, _answerable(valid), "explain"),
        "summary": {name: _measured(network, rows, "summary") for name, rows in held_out.items()},
    }
    return {**facts, "speaks": _line(network, fit_rows, valid, path)}


def _line(network: SelectorNetwork, rows: Rows, valid: Rows, path: Path) -> dict[str, Any]:
    """The line that says whether there is an answer, written beside the network."""
    rows = _kept(rows, numpy.flatnonzero(numpy.isin(rows.source, _LINE_SOURCES)))
    line = logistic(*_signs(network, rows), ridge=10.0)
    (path / CHANCE).write_text(json.dumps(line.saved(SIGNS), indent=1) + "\n", encoding="utf-8")
    return _answering(line, *_signs(network, valid), valid)


def _answering(
    line: Logistic, seen: NDArray[numpy.float64], truths: NDArray[numpy.bool_], rows: Rows
) -> dict[str, Any]:
    """How well it tells questions that are answered from those that are not."""
    chances = 1.0 / (1.0 + numpy.exp(-line.logits(seen)))
    figures: dict[str, Any] = {"average precision": round(average_precision(chances.tolist(), truths.tolist()), 4)}
    judged = rows.judged.tolist()
    figures["of the judge of short answers"] = round(average_precision(judged, truths.tolist()), 4)
    for least in (0.3, 0.5, 0.65):
        given = chances >= least
        precision = float(truths[given].mean()) if given.any() else 0.0
        figures[f"at {least}"] = {
            "precision": round(precision, 4),
            "recall": round(float(given[truths].mean()), 4),
            "of the unanswerable declined": round(float((~given[~truths]).mean()), 4),
        }
    return figures


def trained(rows: Rows, settings: SelectorSettings, say: Say) -> SelectorNetwork:
    """All rows at once, every question counting alike; the reader's numbers are taken from some questions a step."""
    torch.manual_seed(settings.seed)
    network = SelectorNetwork(len(NAMES), settings.width, settings.dropout)
    network.centre.copy_(torch.from_numpy(rows.seen.mean(axis=0)))
    network.scale.copy_(torch.from_numpy(numpy.maximum(rows.seen.std(axis=0), _LEAST_SCALE)))
    seen, gold = torch.from_numpy(rows.seen), torch.from_numpy(rows.gold)
    question = torch.from_numpy(rows.question)
    purpose = torch.from_numpy(rows.purpose)[question]
    weights = _weights(rows)
    hidden = _unread(seen)
    optimizer = torch.optim.AdamW(network.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.learning_rate, total_steps=settings.steps)
    questions = int(question.max()) + 1
    for step in range(settings.steps):
        network.train()
        unread = (torch.rand(questions) < settings.unread)[question]
        logits = network(torch.where(unread[:, None], hidden, seen)).gather(1, purpose[:, None]).squeeze(1)
        losses = torch.nn.functional.binary_cross_entropy_with_logits(logits, gold, reduction="none")
        loss = (losses * weights).sum() / weights.sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        if (step + 1) % 300 == 0:
            say(f"fit: step {step + 1} of {settings.steps}, loss {loss.item():.4f}")
    return network.eval()


def forget(network: SelectorNetwork, features: Sequence[int]) -> None:
    """Have it say of every statement what it says where these features are 0."""
    with torch.no_grad():
        for at in features:
            column = network.hidden.weight[:, at]
            network.hidden.bias -= network.centre[at] / network.scale[at] * column
            column.zero_()


def _weights(rows: Rows) -> torch.Tensor:
    """Every question counts alike, and so does every source."""
    sizes = numpy.bincount(rows.question, minlength=len(rows.purpose))
    names, numbers, counts = numpy.unique(rows.source, return_inverse=True, return_counts=True)
    weights = 1.0 / (numpy.maximum(sizes, 1) * counts[numbers] * len(names))
    return torch.from_numpy(weights[rows.question].astype(numpy.float32))


def _unread(seen: torch.Tensor) -> torch.Tensor:
    hidden = seen.clone()
    for name, value in _UNREAD.items():
        hidden[:, NAMES.index(name)] = value
    hidden[:, NAMES.index("unread")] = 1.0
    return hidden


def scored(network: SelectorNetwork, rows: Rows, purpose: Purpose) -> NDArray[numpy.float32]:
    with torch.inference_mode():
        logits = network(torch.from_numpy(rows.seen))[:, PURPOSES.index(purpose)]
        scores: NDArray[numpy.float32] = torch.sigmoid(logits).numpy()
    return scores


def save(network: SelectorNetwork, least: Sequence[float], path: Path) -> None:
    arrays: dict[str, Any] = {name: value.numpy().astype(numpy.float32) for name, value in network.tables().items()}
    with (path / FILE).open("wb") as file:
        numpy.savez_compressed(file, names=numpy.array(NAMES), least=numpy.array(least, numpy.float32), **arrays)
    (path / "settings.toml").write_text(f'width = {network.width}\nprecision = "fp32"\n', encoding="utf-8")


def _measured(network: SelectorNetwork, rows: Rows, purpose: Purpose) -> dict[str, Any]:
    """Average precision over statements of a question, and how often the first is right; beside two plain orders."""
    orders: dict[str, NDArray[numpy.generic]] = {
        "": scored(network, rows, purpose),
        "by nearness": rows.seen[:, NAMES.index("nearness")],
        "by place": -numpy.arange(len(rows.gold)),
    }
    figures: dict[str, Any] = {}
    for name, scores in orders.items():
        precisions, firsts = [], []
        for number in numpy.unique(rows.question):
            own = rows.question == number
            if rows.gold[own].any():
                precisions.append(average_precision(scores[own].tolist(), (rows.gold[own] > 0).tolist()))
                firsts.append(float(rows.gold[own][scores[own].argmax()]))
        values = {
            "average precision": round(float(numpy.mean(precisions)), 4),
            "first right": round(float(numpy.mean(firsts)), 4),
        }
        figures |= {name: values} if name else values
    return figures


def _signs(network: SelectorNetwork, rows: Rows) -> tuple[NDArray[numpy.float64], NDArray[numpy.bool_]]:
    """(questions, signs), and whether each is answerable."""
    scores = scored(network, rows, "explain")
    signs = [signs_of(rows.seen[rows.question == n], scores[rows.question == n]) for n in range(len(rows.purpose))]
    return numpy.array(signs, numpy.float64), rows.answerable.astype(bool)


def _answerable(rows: Rows) -> Rows:
    """Without the questions whose document was left out."""
    return _kept(rows, numpy.flatnonzero(rows.answerable))


def _halves(rows: Rows, share: float) -> tuple[Rows, Rows]:
    """The first questions, and the last ones, which are of other documents: they were drawn by documents."""
    count = len(rows.purpose)
    border = count - max(int(count * share), 1)
    return _kept(rows, numpy.arange(border)), _kept(rows, numpy.arange(border, count))


def _kept(rows: Rows, questions: NDArray[numpy.int64]) -> Rows:
    own = numpy.isin(rows.question, questions)
    numbers = numpy.full(len(rows.purpose), -1)
    numbers[questions] = numpy.arange(len(questions))
    return Rows(
        rows.seen[own],
        rows.gold[own],
        numbers[rows.question[own]],
        rows.purpose[questions],
        rows.answerable[questions],
        rows.judged[questions],
        rows.source[questions],
    )


def joined_rows(several: Sequence[Rows]) -> Rows:
    """All of them, their questions numbered on."""
    starts = numpy.cumsum([0, *(len(each.purpose) for each in several[:-1])])
    return Rows(
        numpy.concatenate([each.seen for each in several]),
        numpy.concatenate([each.gold for each in several]),
        numpy.concatenate([each.question + start for each, start in zip(several, starts, strict=True)]),
        numpy.concatenate([each.purpose for each in several]),
        numpy.concatenate([each.answerable for each in several]),
        numpy.concatenate([each.judged for each in several]),
        numpy.concatenate([each.source for each in several]),
    )
