"""Errors as problem documents (RFC 9457): what is wrong, with what, and what to do about it."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from wherefrom.errors import LibraryBusy, LibraryError, NotFound, SettingsError, WherefromError, is_full
from wherefrom.server.engine import TooSlow
from wherefrom.server.line import QueueFull
from wherefrom.server.seldom import seldom
from wherefrom.server.space import FULL
from wherefrom.server.uploads import Refused, WrongKind

log = logging.getLogger("wherefrom.server")

MEDIA_TYPE = "application/problem+json"
CHAT = "/v1/"  # addresses of OpenAI's interface begin so; their errors have its form


class HTTPProblem(Exception):
    """A refusal; `kind` names it for programs, `detail` says to people what is wrong and what to do."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        errors: list[dict[str, str]] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers = dict(headers or {})
        self.errors = errors

    def body(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "type": f"urn:wherefrom:problem:{self.kind}",
            "title": self.kind.replace("-", " ").capitalize(),
            "status": self.status,
            "detail": self.detail,
        }
        return document | ({"errors": self.errors} if self.errors else {})

    def response(self) -> Response:
        return Response(
            json.dumps(self.body(), ensure_ascii=True), self.status, headers=self.headers, media_type=MEDIA_TYPE
        )


def problem_of(error: Exception) -> HTTPProblem:
    """The problem that any error is, to a client."""
    if isinstance(error, HTTPProblem):
        return error
    if is_full(error):
        return HTTPProblem(507, "disk-full", f"{FULL}; send it again then", {"Retry-After": "30"})
    match error:
        case QueueFull():
            return HTTPProblem(503, "queue-full", str(error), {"Retry-After": str(error.retry)})
        case TooSlow():
            return HTTPProblem(504, "too-slow", str(error))
        case WrongKind():
            return HTTPProblem(415, "wrong-kind", str(error))
        case Refused():
            return HTTPProblem(422, "refused", str(error))
        case NotFound():
            return HTTPProblem(404, "not-found", str(error))
        case SettingsError():
            return HTTPProblem(422, "settings", str(error))
        case LibraryBusy():
            return HTTPProblem(503, "library-busy", str(error), {"Retry-After": "5"})
        case LibraryError() | OSError():
            # The message names a place on the server's disk, which is nobody else's business. An OSError that is no
            # full disk is one of a disk that fails, or of too many open files.
            return HTTPProblem(
                503,
                "library-unusable",
                "the library cannot be used at the moment; whoever runs the server can see why with `wherefrom check`",
                {"Retry-After": "30"},
            )
        case WherefromError():
            return HTTPProblem(500, "failed", str(error))
        case HTTPException():
            return _from_http(error)
        case _:
            return HTTPProblem(
                500, "unexpected", "something went wrong that should not have; the server's log says more"
            )


def response_to(error: Exception, path: str) -> Response:
    """The answer to a request that fails, in the form that who calls this address reads."""
    problem = problem_of(error)
    if not path.startswith(CHAT):
        return problem.response()
    status = 400 if problem.status == 422 else problem.status  # as OpenAI's clients know it
    return Response(json.dumps(chat_error(problem)), status, headers=problem.headers, media_type="application/json")


def chat_error(problem: HTTPProblem) -> dict[str, Any]:
    """A problem as chat clients read it."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(problem.status, "server_error" if problem.status >= 500 else "invalid_request_error")
    first = problem.errors[0]["where"].removeprefix("body.") if problem.errors else None
    return {"error": {"message": problem.detail, "type": kind, "param": first, "code": problem.kind.replace("-", "_")}}


def note(error: Exception, texts: bool) -> None:
    """Log what whoever runs the server has to know and no client may see."""
    kind = problem_of(error).kind
    if kind == "library-unusable":
        seldom(log, logging.ERROR, f"the library cannot be used: {error}")
    elif kind == "disk-full":
        seldom(log, logging.ERROR, f"the disk is full: {error}")
    elif kind == "unexpected":
        # Where it happened and what kind it was; its message may quote a document.
        description = f"{type(error).__name__}: {error}" if texts else type(error).__name__
        log.error("unexpected %s at\n%s", description, "".join(traceback.format_tb(error.__traceback__)))


def install(app: FastAPI, texts: bool) -> None:
    """Have the app answer every error this way."""

    async def answer(request: Request, error: Exception) -> Response:
        note(error, texts)
        if isinstance(error, HTTPException) and error.status_code == 405:
            return response_to(_wrong_method(request), request.url.path)
        return response_to(error, request.url.path)

    async def invalid(request: Request, error: RequestValidationError) -> Response:
        # Where and what, without the value: it may be private, or hostile.
        errors = [
            {"where": ".".join(str(part) for part in each["loc"])[:200], "what": str(each["msg"])[:300]}
            for each in error.errors()
        ]
        detail = "; ".join(f"{each['where']}: {each['what']}" for each in errors[:5])
        problem = HTTPProblem(422, "invalid", detail or "the request is not what the schema says", errors=errors)
        return response_to(problem, request.url.path)

    app.add_exception_handler(HTTPProblem, answer)
    app.add_exception_handler(WherefromError, answer)
    app.add_exception_handler(HTTPException, answer)
    app.add_exception_handler(RequestValidationError, invalid)  # type: ignore[arg-type]


def _from_http(error: HTTPException) -> HTTPProblem:
    kinds = {404: "no-such-place", 413: "too-large", 415: "wrong-kind"}
    details = {404: "there is nothing at this address; /openapi.json lists what there is"}
    status = error.status_code
    kind = kinds.get(status, HTTPStatus(status).phrase.lower().replace(" ", "-"))
    return HTTPProblem(status, kind, details.get(status, str(error.detail)), dict(error.headers or {}))


def _wrong_method(request: Request) -> HTTPProblem:
    """All methods of the address: each has a route of its own, and the router names only the first one's."""
    methods = {
        method
        for route in (*request.app.routes, *request.app.state.routes)
        if route.matches(request.scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    }
    allowed = ", ".join(sorted(methods))
    return HTTPProblem(
        405,
        "method-not-allowed",
        f"this address does not take {request.method}; it takes {allowed}",
        {"Allow": allowed},
    )
