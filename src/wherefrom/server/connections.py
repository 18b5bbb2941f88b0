"""Connections of clients: so many and no more, and none that takes for ever to ask, to send or to listen."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import sys
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from wherefrom.server.guard import HEADERS
from wherefrom.server.problems import MEDIA_TYPE, HTTPProblem
from wherefrom.server.seldom import seldom

_TICK_SECONDS = 1.0  # a connection is looked at so often
_LEAST_RATE = 10_000  # bytes a second of a body, in the mean: a slow telephone's
_RESERVED = 64  # open files that a process needs for itself: the library, the index, its child
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

log = logging.getLogger("wherefrom.server")


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients of one process may take."""

    connections: int
    seconds: float  # for the head of a request; for its body and for listening three times as many


class LimitedConfig(Config):
    """Uvicorn's configuration, with limits of ours; it goes to worker processes as it is."""

    limits: Limits


class Connection(H11Protocol):
    """A connection that is looked at every second, and ended where its client keeps it waiting."""

    def __init__(
        self,
        config: Config,
        server_state: Any,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(config, LimitedConfig)
        self._limits = config.limits
        self._since = self.loop.time()  # when the head or the body in hand was begun
        self._received = 0  # bytes of the body in hand, with what frames them
        self._unheard = 0.0  # since when the client does not take what it is sent; 0.0 if it does
        self._unsent = 0
        self._next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        is_room = len(self.connections) < self._limits.connections or self._make_room()
        super().connection_made(transport)
        self._since = self.loop.time()
        if not is_room:
            seldom(log, logging.WARNING, f"{self._limits.connections} connections are open: more are refused")
            self._refuse(503, "too-many-connections", "the server has as many clients as it takes; come back", "5")
        self._next_look = self.loop.call_later(_TICK_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return  # refused already
        if self.timeout_keep_alive_task is not None:
            self._since = self.loop.time()  # another request begins
        in_body = self._sends_body
        super().data_received(data)
        if self._sends_body:
            if not in_body:
                self._since, self._received = self.loop.time(), 0
            self._received += len(data)

    def send_400_response(self, msg: str) -> None:
        """What cannot be read as HTTP; h11 says which status fits."""
        error = sys.exc_info()[1]
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        kind = {431: "too-long-headers"}.get(status, "no-http")
        self._refuse(status, kind, f"this cannot be read as HTTP: {error or msg}")

    def _look(self) -> None:
        self._next_look = self.loop.call_later(_TICK_SECONDS, self._look)
        now = self.loop.time()
        if self._is_deaf(now):
            self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self._sends_body:
            if (
                not self.flow.read_paused
                and now - self._since > 3 * self._limits.seconds + self._received / _LEAST_RATE
            ):
                self._refuse(408, "too-slow-body", f"the body came at less than {_LEAST_RATE} bytes a second")
        elif self._is_between and self.timeout_keep_alive_task is None and now - self._since > self._limits.seconds:
            self._refuse(408, "too-slow-head", f"a request has to be there within {self._limits.seconds:g} s")

    def _is_deaf(self, now: float) -> bool:
        """Whether the client has taken nothing for long of what is there for it."""
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent:
            self._unheard = 0.0
        elif not self._unheard:
            self._unheard = now
        self._unsent = unsent
        return bool(self._unheard) and now - self._unheard > 3 * self._limits.seconds

    @property
    def _sends_body(self) -> bool:
        return bool(self.conn.their_state is h11.SEND_BODY)

    @property
    def _is_between(self) -> bool:
        """Whether no request is in hand: none has come yet, or the last one is answered."""
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self) -> bool:
        """End the connection that has been idle longest, if there is one: its client can open another."""
        idle = [
            each
            for each in self.connections
            if isinstance(each, Connection) and each.timeout_keep_alive_task is not None
        ]
        if not idle:
            return False
        min(idle, key=lambda each: each._since).timeout_keep_alive_handler()
        return True

    def _refuse(self, status: int, kind: str, detail: str, retry: str = "") -> None:
        """Answer, if that is still possible, and end the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(HTTPProblem(status, kind, detail).body()).encode()
            headers = {**HEADERS, "Content-Type": MEDIA_TYPE, "Content-Length": str(len(body)), "Connection": "close"}
            headers |= {"Retry-After": retry} if retry else {}
            response = h11.Response(
                status_code=status, headers=list(headers.items()), reason=STATUS_PHRASES.get(status, b"")
            )
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # whatever the app still answers to the request before, nobody hears it
            self.cycle.message_event.set()
        self.transport.close()


def effective(wanted: int) -> int:
    """As many connections as a process has open files for; it takes more of these, where the system lets it."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _RESERVED
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(min(wanted, soft - _RESERVED), 8)
    return wanted


def quiet_about_open_files(loop: asyncio.AbstractEventLoop) -> None:
    """No more open files: asyncio waits a second and tries again, but tells it a thousand times."""

    def seldom_noted(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _NO_MORE_FILES:
            seldom(log, logging.ERROR, f"no connection can be accepted ({error.strerror}); trying again every second")
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(seldom_noted)
