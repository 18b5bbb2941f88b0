"""Who may come in: looked at before anything of a request's body is read.

In this order: is the server meant at all (Host; a page elsewhere can make its own name lead here), does a page of
another origin ask (Origin, Sec-Fetch-Site), who is it (the key), how often (the rate), how much (the length).
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wherefrom.config import ServerSettings
from wherefrom.server.keys import Key, Keys
from wherefrom.server.keys import Scope as KeyScope
from wherefrom.server.metrics import Metrics
from wherefrom.server.problems import HTTPProblem, note, response_to
from wherefrom.server.rates import Rates

# Everything comes from here and nothing from elsewhere; text can never become markup or script (trusted types).
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
OPEN = ("/", "/health", "/ready", "/openapi.json")  # for everyone, and the page's own files
_READING_POSTS = ("/ask", "/search", "/summarize", "/v1/chat/completions")
_UPLOADS = "/documents"
_BODY_BYTES = 262_144  # of any request but an upload

log = logging.getLogger("wherefrom.server")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Stands before the app; also puts the safety headers on every response, and counts and logs it."""

    def __init__(
        self, app: ASGIApp, settings: ServerSettings, keys: Keys, rates: Rates, metrics: Metrics, page: frozenset[str]
    ) -> None:
        self._app = app
        self._settings = settings
        self._keys = keys
        self._rates = rates
        self._metrics = metrics
        self._open = page | set(OPEN)
        self._public = not is_loopback(settings.host)
        named_hosts = {name.strip().lower() for name in settings.hosts.split(",") if name.strip()}
        self._hosts = {"localhost", "127.0.0.1", "[::1]", settings.host.lower()} | named_hosts
        self._any_host = self._public and not named_hosts  # a key is then needed, and no other page has it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            limit = self._admit(scope)
            await self._app(scope, _bounded(receive, limit), sending)
        except ClientDisconnect:
            status = status or 499  # as nginx calls it: nobody is there to be answered
        except Exception as error:  # noqa: BLE001 - the last place where a client can be answered
            note(error, self._settings.log_texts)
            if not status:  # else the response has begun, and breaks off here
                await response_to(error, scope["path"])(scope, receive, sending)
        finally:
            self._metrics.requested(scope["method"], status)
            route = getattr(scope.get("route"), "path", "-")
            log.info("%s %s %d %.0f ms", scope["method"], route, status, 1000 * (time.perf_counter() - begun))

    def _admit(self, scope: Scope) -> int:
        """Refuse, or say how long the body may be."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        is_open = path in self._open and method in ("GET", "HEAD")
        self._check_host(headers)
        self._check_origin(headers, is_open)
        scope.setdefault("state", {})["key"] = ""
        if not is_open:
            self._check_key(scope, headers, path, method)
        limit = _BODY_BYTES
        if path == _UPLOADS and method == "POST":
            limit = int(self._settings.upload_megabytes * 1_000_000)
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > limit:
            raise _too_large(limit)
        return limit

    def _check_host(self, headers: Headers) -> None:
        name = _without_port(headers.get("host", "").lower())
        if not self._any_host and name not in self._hosts:
            raise HTTPProblem(
                421,
                "wrong-host",
                "this server does not go by that name; call it localhost, or have whoever runs it add the name to "
                "server.hosts",
            )

    def _check_origin(self, headers: Headers, is_open: bool) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        foreign = origin is not None and _place(origin) != headers.get("host", "").lower()
        if foreign or (site not in ("same-origin", "none") and not is_open):
            raise HTTPProblem(403, "foreign-page", "a page of another site may not use this server; open its own page")

    def _check_key(self, scope: Scope, headers: Headers, path: str, method: str) -> None:
        if not (self._public or self._keys.needed()):
            return
        kind, _, secret = headers.get("authorization", "").partition(" ")
        key = self._keys.find(secret.strip()) if kind.lower() == "bearer" and secret.strip() else None
        if key is None:
            raise HTTPProblem(
                401,
                "key-needed",
                "this needs a key: send it as `Authorization: Bearer wf_...`; `wherefrom keys add` makes one",
                {"WWW-Authenticate": 'Bearer realm="wherefrom"'},
            )
        needed: KeyScope = "read" if method in ("GET", "HEAD") or path in _READING_POSTS else "write"
        if not key.may(needed):
            raise HTTPProblem(403, "key-may-not", f"the key '{key.name}' may only read; this needs one that may write")
        self._check_rate(key)
        scope["state"]["key"] = key.name

    def _check_rate(self, key: Key) -> None:
        per_minute = key.per_minute or self._settings.per_minute
        wait = self._rates.wait(key.name, per_minute)
        if wait:
            raise HTTPProblem(
                429,
                "too-often",
                f"the key '{key.name}' may ask {per_minute} times a minute; ask again in {wait:.1f} s",
                {"Retry-After": str(math.ceil(wait))},
            )


def _bounded(receive: Receive, limit: int) -> Receive:
    """`receive` for a body that may not have said its length, or not the true one."""
    received = 0

    async def bounded() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise HTTPException(413, str(_too_large(limit)))
        return message

    return bounded


def _too_large(limit: int) -> HTTPProblem:
    return HTTPProblem(
        413, "too-large", f"a request may hold {limit / 1e6:g} MB; send less at once, or raise server.upload_megabytes"
    )


def _place(origin: str) -> str | None:
    """The host and port of an origin; None where it is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _without_port(host: str) -> str:
    return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
