"""Connections to a PostgreSQL server, and what is wrong with it in the user's words."""

from __future__ import annotations

import os
import re
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from wherefrom.config import without_password
from wherefrom.errors import DiskFull, LibraryBusy, LibraryDamaged, LibraryError, LibraryUnreachable, SettingsError
from wherefrom.store.postgres_schema import LEAST_SERVER, Connection

PASSWORD = "WHEREFROM_STORE_PASSWORD"  # of the environment; else the URL's, PGPASSWORD or ~/.pgpass
_MOST_IDLE = 8  # connections kept open for the next one
_CONNECT_SECONDS = 10
# A machine that has vanished without a word keeps no lock for longer than this.
_PATIENCE = (
    "-c idle_in_transaction_session_timeout=60s -c lock_timeout=60s -c tcp_keepalives_idle=30 "
    "-c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 -c timezone=UTC -c synchronous_commit=on"
)
_WRONG_PASSWORD = ("password authentication failed", "no password supplied", "authentication failed for user")
_NOT_YET = ("starting up", "shutting down", "in recovery mode", "not yet accepting")
_EXAMPLE = "postgres://USER@HOST:5432/DATABASE"


def keep_password(url: str) -> None:
    """Have the processes that this one starts know the password of a URL, which nobody else may see."""
    password = urlsplit(url).password
    if password:
        os.environ[PASSWORD] = unquote(password)


class PostgresServer:
    """One database; threads borrow connections, and those that have died meanwhile are not given out again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._facts: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The database as it may be shown: without the password."""
        return without_password(self._url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection on which each statement sees one moment in time."""
        with self._borrowed() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """One moment in time for several statements, however long they take."""
        with self._borrowed() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # it holds no lock
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: all of it or nothing."""
        with self._borrowed() as connection, connection.transaction():
            yield connection

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        psycopg = _psycopg()
        try:
            connection = self._taken()
            try:
                yield connection
            finally:
                self._given_back(connection)
        except psycopg.Error as error:
            raise self._in_words(error) from None  # it may quote a document, or the password
        except UnicodeEncodeError as error:
            raise LibraryError(
                f"PostgreSQL cannot keep what is not valid Unicode (character {error.start}); pass texts, ids and "
                "titles through wherefrom.text.clean first"
            ) from None

    def _taken(self) -> Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connected()
            if not connection.closed and not _has_ended(connection):
                return connection
            connection.close()

    def _given_back(self, connection: Connection) -> None:
        psycopg = _psycopg()
        if not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            with self._lock:
                if len(self._idle) < _MOST_IDLE:
                    self._idle.append(connection)
                    return
        connection.close()

    def _connected(self) -> Connection:
        psycopg = _psycopg()
        connection: Connection = psycopg.connect(**self._parameters(), autocommit=True)
        version = connection.info.server_version // 10000
        if version < LEAST_SERVER:
            connection.close()
            raise LibraryError(
                f"{self.name} is PostgreSQL {version}, which is too old; wherefrom needs {LEAST_SERVER} or later"
            )
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise LibraryError(
                f"the database {self.name} keeps texts in {encoding}; make one that can hold any text: "
                "createdb --encoding UTF8 --template template0 NAME"
            )
        return connection

    def _parameters(self) -> dict[str, Any]:
        psycopg = _psycopg()
        if self._facts is None:
            if not self._url.startswith(("postgres://", "postgresql://")):
                raise SettingsError(f"store.url must name a database of PostgreSQL, such as {_EXAMPLE}")
            try:
                facts = psycopg.conninfo.conninfo_to_dict(self._url)
            except psycopg.Error:  # what it says quotes the URL
                raise SettingsError(
                    f"store.url is no URL of a database; write it as {_EXAMPLE}, with %40 for an @ in a password"
                ) from None
            facts.setdefault("connect_timeout", _CONNECT_SECONDS)
            facts.setdefault("application_name", "wherefrom")
            facts["options"] = f"{_PATIENCE} {facts.get('options') or ''}".strip()
            facts["client_encoding"] = "UTF8"
            if "password" not in facts and os.environ.get(PASSWORD):
                facts["password"] = os.environ[PASSWORD]
            self._facts = facts
        return self._facts

    def _in_words(self, error: Any) -> LibraryError:
        """What is wrong and what to do, without a word of a document or a password."""
        psycopg = _psycopg()
        state = error.sqlstate or ""
        what = self._plain(error.diag.message_primary or str(error))
        if any(words in what for words in _WRONG_PASSWORD) or state.startswith("28"):
            return LibraryError(
                f"{self.name} does not let us in: the user or the password is wrong or missing; give the password in "
                f"{PASSWORD}, PGPASSWORD or ~/.pgpass"
            )
        if state == "3D000" or re.search(r'database "[^"\n]*" does not exist', what):
            return LibraryError(f"there is no database {self.name}; its owner makes it: createdb NAME")
        if state == "53100":
            return DiskFull(Path(self.name.partition("://")[2]))
        if state in ("55P03", "40P01", "40001"):
            return LibraryBusy(f"others are writing to {self.name} for long; try again (reading goes on meanwhile)")
        if state == "42501":
            return LibraryError(f"the user of {self.name} may not do that ({what}); its owner can allow it with GRANT")
        if state == "25006":
            return LibraryError(f"{self.name} can only be read: it is a standby, or was set so")
        if state in ("XX001", "XX002") or state.startswith("42"):
            return LibraryDamaged(
                f"the tables of {self.name} are not as they should be ({what}); restore the database from its backup"
            )
        if state == "54000" or isinstance(error, psycopg.DataError):
            return LibraryError(f"{self.name} cannot keep this ({what}); PostgreSQL takes no NUL characters")
        if any(words in what for words in _NOT_YET) or isinstance(
            error, psycopg.OperationalError | psycopg.InterfaceError
        ):
            return LibraryUnreachable(
                f"{self.name} does not answer ({what}); nothing that was acknowledged is lost, and as soon as it is "
                "back it goes on: see that the server runs and can be reached, and do it again"
            )
        return LibraryError(f"{self.name} refused ({what})")

    def _plain(self, message: str) -> str:
        """The first line of a message; a password in it is none of anybody's business."""
        password = (self._facts or {}).get("password")
        line = " ".join(message.strip().split("\n")[0].split())
        return line.replace(password, "***") if password else line


def _has_ended(connection: Connection) -> bool:
    """Whether the server has said something to an idle connection: that can only be that it goes."""
    try:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return True


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise SettingsError(
            "documents in PostgreSQL need a package that is not installed: pip install 'wherefrom[scale]'"
        ) from None
    return psycopg
