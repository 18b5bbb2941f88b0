"""A PostgreSQL server of one's own, in a temporary folder, to be killed and started as one likes."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

HOW_TO_GET_ONE = (
    "there is no PostgreSQL to start: pip install 'wherefrom[dev]' brings one where there is a wheel of pgserver "
    "(Linux and macOS on x86-64 or arm64, Python up to 3.12); else apt-get install postgresql, "
    "or name the folder of its programs in WHEREFROM_POSTGRES_BIN"
)
_USER = "wherefrom"
_SECONDS = 60.0  # a machine with much else to do takes long to start one


class NoPostgres(Exception):
    """No server can be started here; the message says how to get one."""


def programs() -> Path:
    """The folder with initdb and postgres."""
    named = os.environ.get("WHEREFROM_POSTGRES_BIN")
    places = [Path(named)] if named else []
    bundled = importlib.util.find_spec("pgserver")
    if bundled is not None and bundled.origin:  # not imported: it would make a user of the system
        places.append(Path(bundled.origin).parent / "pginstall" / "bin")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    places += [*debian, *([Path(on_path).resolve().parent] if on_path else [])]
    for place in places:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    raise NoPostgres(HOW_TO_GET_ONE)


class PrivatePostgres:
    """A server on a socket in its own folder; `start`, `kill` and `start` again as often as wanted."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root.
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def make(self) -> None:
        """Lay the files of a server; nothing is synced, because what dies in tests is never the machine."""
        try:
            done = subprocess.run(
                [
                    self._programs / "initdb",
                    "--pgdata",
                    self._data,
                    "--username",
                    _USER,
                    "--auth",
                    "trust",
                    "--encoding",
                    "UTF8",
                    "--locale",
                    "C",
                    "--no-sync",
                ],
                capture_output=True,
                check=False,
                text=True,
                cwd=self.folder,
                **self._as,
            )
        except OSError as error:
            raise NoPostgres(f"{self._programs} cannot be run by this user ({error}); {HOW_TO_GET_ONE}") from error
        if done.returncode:
            raise NoPostgres(f"initdb of {self._programs} failed: {done.stderr.strip()[-300:]}; {HOW_TO_GET_ONE}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "shared_buffers": "32MB",
            "max_connections": "60",
        }
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(
            [
                self._programs / "postgres",
                "-D",
                self._data,
                *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
            ],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            start_new_session=True,
            **self._as,
        )
        log.close()
        deadline = time.monotonic() + _SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise NoPostgres(f"the server did not start: {(self.folder / 'log').read_text()[-500:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Immediate shutdown: no goodbye, and what was not committed is given up."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def url(self, database: str = "postgres", schema: str = "") -> str:
        """The address of a database, or of a schema in it."""
        options = f"&options={quote(f'-c search_path={schema}')}" if schema else ""
        return f"postgresql://{_USER}@/{database}?host={quote(str(self.folder), safe='')}{options}"

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements, each in a transaction of its own."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def wait_for_the_dead(self) -> None:
        """Wait until no session of a process that has gone is left."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            alive = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'wherefrom' LIMIT 1"
            deadline = time.monotonic() + _SECONDS
            while connection.execute(alive).fetchone() and time.monotonic() < deadline:
                time.sleep(0.02)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _answers(self) -> bool:
        import psycopg

        with suppress(psycopg.Error):
            psycopg.connect(self.url(), connect_timeout=2).close()
            return True
        return False

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.send_signal(how)
            process.wait(_SECONDS)


@contextmanager
def private_postgres() -> Iterator[PrivatePostgres]:
    """A server that runs; all of it is gone in the end."""
    if importlib.util.find_spec("psycopg") is None:
        raise NoPostgres("psycopg is not installed: pip install 'wherefrom[scale]'")
    installed = programs()
    # Not below pytest's folders: those are their owner's alone, and the server may be of another user.
    with tempfile.TemporaryDirectory(prefix="wherefrom-postgres-", dir="/tmp") as folder:
        server = PrivatePostgres(Path(folder), installed)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
