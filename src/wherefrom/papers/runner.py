"""Runs the rows of a paper and saves what they measure."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wherefrom import __version__
from wherefrom.config import updated
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.origin import commit_of, file_hash
from wherefrom.papers.faults import RunFailed, RunRefused, TableFault, meant
from wherefrom.papers.results import DataFile, Measured, Run, fault_in, read, save
from wherefrom.papers.table import Paper, Row
from wherefrom.systems import table as systems
from wherefrom.systems.contract import InputMissing, Measuring, NotTrained, Say, Scores, Wanted, inputs_of

RunRow = Callable[[Row], Scores]


class SystemRows:
    """Runs a row: the system that its settings name is made, if need be, and measured as they say.

    `given` are inputs of systems by name. What a system makes lies in WORK/<system>; it is trained only if `may_train`.
    """

    def __init__(
        self, paper: Paper, given: Mapping[str, Any], work: Path, say: Say = print, may_train: bool = False
    ) -> None:
        self._paper, self._given, self._work, self._say, self._may_train = paper, given, work, say, may_train

    def __call__(self, row: Row) -> Scores:
        assert row.recipe is not None, f"{row.id} was not refused"
        recipe = row.recipe
        out = self._work / recipe.system
        try:
            inputs: Any = inputs_of(systems.about(recipe.system).inputs, self._given, out)
        except InputMissing as error:
            raise RunRefused(f"{row.paper} {row.id}: {error}") from error
        system = systems.load(recipe.system)
        if not isinstance(system, Measuring):
            raise RunRefused(f"{row.paper} {row.id}: {recipe.system} cannot be measured for a row of a paper")
        wanted = Wanted(
            name=recipe.file.removesuffix(".toml"),
            measure=recipe.measure,
            reported=tuple(row.reported),
            group=row.group,
            dataset=row.dataset,
            split=row.split,
            uses={part: resolved(self._paper, file) for part, file in recipe.uses.items()},
            may_train=self._may_train,
        )
        try:
            return system.measure(resolved(self._paper, recipe.file), inputs, wanted, out, self._say)
        except NotTrained as error:
            raise RunRefused(f"{row.paper} {row.id}: {error}") from error


def resolved(paper: Paper, file: str) -> Any:
    """The settings that a file of the paper makes of its system's defaults; a slip in it is an error that names it."""
    where = f"{paper.slug}/settings/{file}"
    if file not in paper.recipes:
        raise TableFault(f"{where}: there is no such file{meant(file, paper.recipes)}")
    recipe = paper.recipes[file]
    try:
        return updated(systems.load(recipe.system).DEFAULTS, recipe.settings, where)
    except SettingsError as error:
        raise TableFault(str(error)) from error


@dataclass(frozen=True, slots=True)
class Failure:
    """A row that was run and gave no result."""

    row: Row
    error: Exception


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row of ours that cannot be run, for now."""

    row: Row
    reason: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What became of the rows."""

    saved: tuple[Measured, ...] = ()
    kept: tuple[Measured, ...] = ()  # results of earlier runs
    failed: tuple[Failure, ...] = ()
    refused: tuple[Refusal, ...] = ()  # waiting for settings, or for what it takes to run them


def refuse(row: Row) -> Scores:
    """The run of a row that cannot be run; also stands where nothing else was given."""
    raise RunRefused(why_refused(row) or f"{row.paper} {row.id}: nothing here trains and scores rows yet")


def reproduce(
    paper: Paper, row_id: str | None, runs: Path, run_row: RunRow = refuse, *, again: bool = False
) -> RunSummary:
    """Run one row, or all rows that can run, and save each result.

    Results of earlier runs are kept unless `again`. A row that fails leaves no result, the others are still tried,
    and the error at the end tells of all. A row that was asked for by name and cannot run is refused; of a whole
    paper, that is an error only when no row can. What runs a row may refuse it, too.
    """
    if row_id is not None:
        chosen, waiting = [_runnable(paper.row(row_id))], []
    else:
        ours = [row for row in paper.rows if row.ours]
        chosen = [row for row in ours if not why_refused(row)]
        waiting = [Refusal(row, why_refused(row)) for row in ours if why_refused(row)]
        if not chosen:
            raise RunRefused(_none_can_run(paper, waiting))
    summary = _run_all(paper, chosen, runs, run_row, again)
    if len(summary.refused) == len(chosen):
        raise RunRefused(summary.refused[0].reason)
    return _summed_up(replace(summary, refused=(*waiting, *summary.refused)))


def why_refused(row: Row) -> str:
    """Why a row cannot be run, in words; nothing when it can."""
    if row.recipe is None:
        return f"{row.paper} {row.id}: {row.model} is not ours to run; its numbers are reported only"
    if row.recipe.planned:
        missing = ", ".join(row.recipe.planned)
        return (
            f"{row.paper} {row.id}: cannot run yet; {row.paper}/settings/{row.recipe.file} needs settings that do not "
            f"exist: {missing}"
        )
    return ""


def _runnable(row: Row) -> Row:
    if reason := why_refused(row):
        raise RunRefused(reason)
    return row


def _none_can_run(paper: Paper, refused: Iterable[Refusal]) -> str:
    planned = {name for each in refused if each.row.recipe for name in each.row.recipe.planned}
    if not planned:
        return f"{paper.slug}: no row is ours to run"
    return f"{paper.slug}: no row can run yet; they need settings that do not exist: {', '.join(sorted(planned))}"


def _run_all(paper: Paper, chosen: Iterable[Row], runs: Path, run_row: RunRow, again: bool) -> RunSummary:
    saved: list[Measured] = []
    kept: list[Measured] = []
    failed: list[Failure] = []
    refused: list[Refusal] = []
    for row in chosen:
        try:
            earlier = read(runs, paper).get(row.id)
            if earlier is not None and not again:
                kept.append(earlier)
            else:
                result = _run(row, run_row)
                save(runs, paper, result)
                saved.append(result)
        except RunRefused as error:
            refused.append(Refusal(row, str(error)))
        except Exception as error:  # noqa: BLE001  a run may fail in any way; it is told at the end, with the others
            failed.append(Failure(row, error))
    return RunSummary(tuple(saved), tuple(kept), tuple(failed), tuple(refused))


def _summed_up(summary: RunSummary) -> RunSummary:
    if not summary.failed:
        return summary
    tried = len(summary.saved) + len(summary.kept) + len(summary.failed)
    failures = "\n".join(f"  {_described(failure)}" for failure in summary.failed)
    raise RunFailed(
        f"{len(summary.failed)} of {tried} rows failed and have no new result:\n{failures}", summary
    ) from summary.failed[0].error


def _described(failure: Failure) -> str:
    """`masque t3-masque: OutOfMemory: ...`; our own errors speak for themselves."""
    error = failure.error
    name = "" if isinstance(error, WherefromError) else f"{type(error).__name__}: "
    return f"{failure.row.paper} {failure.row.id}: {name}{error}"


def _run(row: Row, run_row: RunRow) -> Measured:
    """Run a row and gather what is needed to repeat it."""
    assert row.recipe is not None, f"{row.id} was not refused"
    commit, changed = commit_of()  # before the run: someone may commit while it lasts
    begun, clock = datetime.now(UTC), time.perf_counter()
    scores = run_row(row)
    seconds = time.perf_counter() - clock
    if problem := fault_in(row, scores.metrics):
        raise ValueError(problem)
    run = Run(
        settings_file=row.recipe.file,
        system=row.recipe.system,
        measure=row.recipe.measure,
        settings=row.recipe.settings,
        seed=scores.seed,
        data=tuple(DataFile("/".join(path.parts[-2:]), file_hash(path)) for path in scores.files),
        as_printed=scores.as_printed or not row.stands_in,
        commit=commit,
        changed=changed,
        wherefrom=__version__,
        python=platform.python_version(),
        date=begun.isoformat(timespec="seconds"),
        seconds=round(seconds, 3),
    )
    return Measured(row.paper, row.id, {name: float(value) for name, value in scores.metrics.items()}, run)
