"""Jobs: what is to be written to the library, kept until it is done, whichever process dies meanwhile.

An upload is noted twice: in the table, and beside its files. Should the table be lost, the files are not.
"""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from wherefrom.durable import write_text
from wherefrom.server.folder import ServerFolder

Kind = Literal["upload", "remove"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
FINISHED: tuple[State, ...] = ("done", "failed", "cancelled")
STATES: tuple[State, ...] = get_args(State)

_KEPT = 1000  # finished jobs that can still be looked up
_ABANDONED_SECONDS = 3600.0  # an upload folder without a job is then that of a process that died
_MOST_ATTEMPTS = 20  # of a removal: what kills a server is hardly the job; yet it shall end some day
_NOTE = "job.json"  # in an upload's folder
_DAMAGED = "what was noted of this job is damaged; send it again"
_UNREADABLE = (ValueError, TypeError, AttributeError)  # what a damaged row may raise


@dataclass(frozen=True, slots=True)
class Job:
    """One upload or removal; `names` are documents, `progress` and `result` what the ingest says of itself."""

    id: str
    kind: Kind
    state: State
    names: tuple[str, ...]
    progress: dict[str, Any] | None
    result: dict[str, Any] | None
    reason: str | None
    created: str
    changed: str

    @property
    def finished(self) -> bool:
        return self.state in FINISHED


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one file of an upload so far; kept, so that a file that kills its readers is known for one."""

    begun: int = 0  # how often it was given to a child of its own
    deaths: int = 0  # how often that child died of it; where it was begun oftener, this process was what ended
    reason: str = ""  # why it is given up


@dataclass(frozen=True, slots=True)
class Taken:
    """A job to be worked on."""

    job: Job
    files: tuple[Path, ...]
    attempts: int  # 1 the first time
    fates: Mapping[str, Fate]  # by the names of the files that were begun


_COLUMNS = "id, kind, state, names, progress, result, reason, created, changed"


class Jobs:
    """The jobs of a library, shared by all processes that serve it; a job that `add` has returned is safe."""

    def __init__(self, folder: ServerFolder) -> None:
        self._folder = folder

    def add(
        self,
        kind: Kind,
        names: Sequence[str],
        files: Sequence[Path],
        who: str,
        id: str | None = None,
        created: str | None = None,
    ) -> Job:
        now = created or _now()
        id = id or new_id()
        if kind == "upload":
            self._note(id, names, files, who, now)
        with self._folder.opened() as connection:
            connection.execute(  # unless the note was just taken up by a process that works on the jobs
                "INSERT OR IGNORE INTO job (id, kind, state, names, files, who, created, changed) "
                "VALUES (?, ?, 'queued', ?, ?, ?, ?, ?)",
                (id, kind, json.dumps(list(names)), json.dumps([str(path) for path in files]), who, now, now),
            )
        return Job(id, kind, "queued", tuple(names), None, None, None, now, now)

    def get(self, id: str) -> Job | None:
        with self._folder.opened() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM job WHERE id = ?", (id,)).fetchone()
        return _job(row) if row else None

    def recent(self, limit: int) -> list[Job]:
        """The newest first."""
        with self._folder.opened() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM job ORDER BY number DESC LIMIT ?", (limit,)).fetchall()
        return [_job(row) for row in rows]

    def waiting(self) -> int:
        """How many are not finished."""
        with self._folder.opened() as connection:
            (count,) = connection.execute("SELECT count(*) FROM job WHERE state IN ('queued', 'running')").fetchone()
        return int(count)

    def cancel(self, id: str) -> Job | None:
        """A queued job ends here; a running one is ended by the process that works on it."""
        with self._folder.opened() as connection:
            connection.execute(
                "UPDATE job SET state = 'cancelled', cancel = 1, changed = ? WHERE id = ? AND state = 'queued'",
                (_now(), id),
            )
            connection.execute("UPDATE job SET cancel = 1 WHERE id = ? AND state = 'running'", (id,))
            row = connection.execute(f"SELECT {_COLUMNS} FROM job WHERE id = ?", (id,)).fetchone()
        job = _job(row) if row else None
        if job is not None and job.finished:
            self._drop(id)
        return job

    # For the one process that works on them.

    def take(self) -> Taken | None:
        """The oldest queued job, now running; one whose row is damaged begins anew from the note beside its files."""
        while True:
            with self._folder.opened() as connection:
                row = connection.execute(
                    "UPDATE job SET state = 'running', attempts = attempts + 1, changed = ? WHERE number = "
                    "(SELECT number FROM job WHERE state = 'queued' ORDER BY number LIMIT 1) AND state = 'queued' "
                    f"RETURNING {_COLUMNS}, files, attempts, fates",
                    (_now(),),
                ).fetchone()
            if row is None:
                return None
            with suppress(*_UNREADABLE):
                return _taken(row)
            self._read_again(str(row[0]))

    def _read_again(self, id: str) -> None:
        with self._folder.opened() as connection:
            connection.execute(
                "UPDATE job SET state = 'failed', kind = 'upload', names = '[]', files = '[]', progress = NULL, "
                "result = NULL, fates = NULL, reason = ?, changed = ? WHERE id = ?",
                (_DAMAGED, _now(), id),
            )
            if (self._folder.uploads / id / _NOTE).exists():
                connection.execute("DELETE FROM job WHERE id = ?", (id,))
        if (self._folder.uploads / id).is_dir():
            self._take_up(self._folder.uploads / id)

    def set_fates(self, id: str, fates: Mapping[str, Fate]) -> None:
        self._set(id, fates=json.dumps({name: asdict(fate) for name, fate in fates.items()}))

    def progressed(self, id: str, progress: dict[str, Any]) -> None:
        self._set(id, progress=json.dumps(progress))

    def finish(self, id: str, state: State, result: dict[str, Any] | None = None, reason: str | None = None) -> None:
        """Note the outcome, then drop the files: dying in between leaves files that nobody needs."""
        self._set(id, state=state, result=json.dumps(result) if result else None, reason=reason)
        self._drop(id)

    def give_back(self, id: str) -> None:
        """This process ends before the job does; another one, or the next, begins it again."""
        with self._folder.opened() as connection:
            connection.execute(
                "UPDATE job SET state = 'queued', attempts = attempts - 1, changed = ? "
                "WHERE id = ? AND state = 'running'",
                (_now(), id),
            )

    def cancel_wanted(self, id: str) -> bool:
        with self._folder.opened() as connection:
            row = connection.execute("SELECT cancel FROM job WHERE id = ?", (id,)).fetchone()
        return bool(row and row[0])

    def recover(self) -> None:
        """Queue again what a dead process was working on, and clear away what nobody needs any more."""
        with self._folder.opened() as connection:
            connection.execute(
                "UPDATE job SET state = 'failed', changed = ?, reason = ? "
                "WHERE state = 'running' AND kind = 'remove' AND attempts >= ?",
                (_now(), f"the server died {_MOST_ATTEMPTS} times while it worked on this", _MOST_ATTEMPTS),
            )
            connection.execute("UPDATE job SET state = 'queued', changed = ? WHERE state = 'running'", (_now(),))
            states: dict[str, State] = dict(connection.execute("SELECT id, state FROM job"))
        for id in [id for id, state in states.items() if state not in STATES]:
            self._read_again(id)
        for folder in sorted(self._folder.uploads.iterdir(), key=_changed_at):
            if folder.name not in states:
                self._take_up(folder)
            elif states[folder.name] in FINISHED:
                self._drop(folder.name)
        with self._folder.opened() as connection:  # after their files, which would be taken up again
            connection.execute(
                "DELETE FROM job WHERE state IN ('done', 'failed', 'cancelled') AND number <= "
                "(SELECT ifnull(max(number), 0) FROM job) - ?",
                (_KEPT,),
            )

    def _take_up(self, folder: Path) -> None:
        """Files without a job: that of an upload, where the table was lost; of a process that died, after a while.

        What has been sent anew, or removed, since then stays as it is.
        """
        try:
            note = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
            files = {str(name): folder / file for name, file in zip(note["names"], note["files"], strict=True)}
            who = str(note["who"])
            created = str(note["created"]) if "created" in note else _time(_changed_at(folder / _NOTE))
        except (OSError, ValueError, KeyError, TypeError):
            if time.time() - _changed_at(folder) > _ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
            return
        later = self._names_since(created)
        if names := [name for name in files if name not in later]:
            self.add("upload", names, [files[name] for name in names], who, folder.name, created)
        else:
            self._drop(folder.name)

    def _names_since(self, created: str) -> set[str]:
        """The documents of later jobs that came to something, or still may."""
        with self._folder.opened() as connection:
            rows = connection.execute(
                "SELECT names FROM job WHERE created > ? AND state IN ('queued', 'running', 'done')", (created,)
            ).fetchall()
        names: set[str] = set()
        for (row,) in rows:
            with suppress(*_UNREADABLE):
                names.update(json.loads(row))
        return names

    def _note(self, id: str, names: Sequence[str], files: Sequence[Path], who: str, created: str) -> None:
        folder = self._folder.uploads / id
        note = {
            "names": list(names),
            "files": [str(file.relative_to(folder)) for file in files],
            "who": who,
            "created": created,
        }
        if not (folder / _NOTE).exists():
            write_text(folder / _NOTE, json.dumps(note))

    def _drop(self, id: str) -> None:
        """Remove an upload's files, its note first: what is left of them shall not be taken up again."""
        with suppress(OSError):
            (self._folder.uploads / id / _NOTE).unlink(missing_ok=True)
        shutil.rmtree(self._folder.uploads / id, ignore_errors=True)

    def _set(self, id: str, **values: str | None) -> None:
        assigned = ", ".join(f"{name} = ?" for name in values)
        with self._folder.opened() as connection:
            connection.execute(f"UPDATE job SET {assigned}, changed = ? WHERE id = ?", (*values.values(), _now(), id))


def _changed_at(folder: Path) -> float:
    """Now, where it has just gone."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def new_id() -> str:
    return secrets.token_hex(16)


def _job(row: Sequence[Any]) -> Job:
    """The job of a row; of one that is damaged, as much as shows that it is."""
    id, kind, state, names, progress, result, reason, created, changed = row
    try:
        if state not in STATES:
            raise ValueError(state)
        return Job(id, kind, state, tuple(json.loads(names)), _read(progress), _read(result), reason, created, changed)
    except _UNREADABLE:
        return Job(str(id), "upload", "failed", (), None, None, _DAMAGED, str(created), str(changed))


def _taken(row: Sequence[Any]) -> Taken:
    *columns, written_files, attempts, fates = row
    names, files = tuple(json.loads(columns[3])), tuple(Path(path) for path in json.loads(written_files))
    if columns[1] == "upload" and len(names) != len(files):
        raise ValueError("each file of an upload has a name")
    known = {name: Fate(**fate) for name, fate in json.loads(fates or "{}").items()}
    return Taken(_job(columns), files, attempts, known)


def _read(text: str | None) -> dict[str, Any] | None:
    value: dict[str, Any] | None = json.loads(text) if text else None
    return value


def _now() -> str:
    return _time(time.time())


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
