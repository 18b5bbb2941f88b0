"""JSON over HTTP to a server that keeps a part of a library, with its errors in the user's words."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec

from wherefrom.errors import LibraryError, LibraryUnreachable, SettingsError

_PAUSES = (0.1, 0.4, 1.5)  # seconds before a change is tried again; a server that is started anew takes about two


class RestError(LibraryError):
    """The server answered that it cannot do what was asked; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RestServer:
    """One server, at `url`; may be shared between threads.

    `what` names it in errors, `remedy` says what to do where it is away. What is asked here may be asked twice without
    harm, so a broken connection is made anew; `renewed` is called then, for the server may have been started anew.
    """

    def __init__(self, url: str, what: str, remedy: str, key: str | None = None, seconds: float = 60.0) -> None:
        self.url = url
        self._what = what
        self._remedy = remedy
        self._key = key
        self._seconds = seconds
        self._idle: list[http.client.HTTPConnection] = []
        self._parts = urlsplit(url)
        self.renewed: Callable[[], None] = lambda: None
        if self._parts.scheme not in ("http", "https") or not self._parts.hostname:
            raise SettingsError(f"'{url}' is not the address of a {what}; write it as http://HOST:PORT")

    def send(self, method: str, path: str, body: object = None, patient: bool = False) -> bytes:
        """What the server answers; `patient` waits for one that is being started anew."""
        status, answer = self._sent(method, path, None if body is None else msgspec.json.encode(body), patient)
        if status >= 400:
            reason = _reason(status, answer)
            raise RestError(status, f"the {self._what} at {self.url} refused {method} {path}: {reason}")
        return answer

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _sent(self, method: str, path: str, payload: bytes | None, patient: bool) -> tuple[int, bytes]:
        pauses = iter(_PAUSES if patient else ())
        while True:
            kept = self._kept()
            try:
                return self._exchanged(kept or self._connected(), method, path, payload)
            except (OSError, http.client.HTTPException) as error:
                self.renewed()
                if kept is not None:  # it may have been closed while it was idle
                    self.close()
                    continue
                pause = next(pauses, None)
                if pause is None:
                    raise LibraryUnreachable(
                        f"the {self._what} at {self.url} does not answer ({_in_words(error)}); {self._remedy}"
                    ) from error
                time.sleep(pause)

    def _kept(self) -> http.client.HTTPConnection | None:
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def _connected(self) -> http.client.HTTPConnection:
        secure = self._parts.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        assert self._parts.hostname is not None
        return make(self._parts.hostname, self._parts.port, timeout=self._seconds)

    def _exchanged(
        self, connection: http.client.HTTPConnection, method: str, path: str, payload: bytes | None
    ) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"} | ({"api-key": self._key} if self._key else {})
        try:
            connection.request(method, f"{self._parts.path.rstrip('/')}{path}", payload, headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return response.status, answer


def _reason(status: int, answer: bytes) -> str:
    with suppress(msgspec.MsgspecError, LookupError, TypeError):
        return str(msgspec.json.decode(answer)["status"]["error"])
    return f"HTTP {status} {answer[:200].decode(errors='replace')}".strip()


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error) or type(error).__name__).lower()
    return f"it broke off: {type(error).__name__}"
