"""The HTTP server of a library, as an ASGI app."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, Response

from wherefrom import __version__
from wherefrom.config import ServerSettings
from wherefrom.library import Library
from wherefrom.pipeline import Pipeline
from wherefrom.server import chat, chat_shapes, documents, originals, problems, questions, shapes
from wherefrom.server.guard import Guard, is_loopback
from wherefrom.server.metrics import CONTENT_TYPE
from wherefrom.server.problems import HTTPProblem
from wherefrom.server.state import ServerState
from wherefrom.store.feedback import Feedback
from wherefrom.types import STYLES

PAGE = Path(__file__).parent / "page"
# Written here, not guessed by the machine: its table of types may be anything.
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}

router = APIRouter()


def create_app(
    library: Library, settings: ServerSettings | None = None, pipeline: Pipeline | None = None, page: Path = PAGE
) -> FastAPI:
    """An app that answers from `library`, by its own pipeline unless another is given."""
    settings = settings or library.settings().server
    state = ServerState(library, settings, pipeline)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        state.start()
        yield
        await state.stop()

    app = _bare(lifespan)
    app.state.server = state
    app.state.style = library.settings().write.style
    app.state.drawings = originals.Drawings()
    files = _serve_page(app, page)
    problems.install(app, settings.log_texts)
    app.add_middleware(Guard, settings=settings, keys=state.keys, rates=state.rates, metrics=state.metrics, page=files)
    return app


def openapi() -> dict[str, Any]:
    """What the server takes and gives, as /openapi.json says it; needs no library."""
    return _openapi(_bare(None))


def _bare(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None) -> FastAPI:
    """The routes, without anything behind them."""
    app = FastAPI(
        title="wherefrom",
        version=__version__,
        summary="Ask your own documents a question and see, for every word of the answer, where it came from.",
        lifespan=lifespan,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    parts = (questions.router, documents.router, originals.router, chat.router, router)
    for part in parts:
        app.include_router(part)
    app.state.routes = [route for part in parts for route in part.routes]  # FastAPI hides those it has included
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


@router.post("/feedback", summary="Say whether an answer was right", tags=["feedback"], status_code=201)
async def give_feedback(body: shapes.FeedbackRequest, request: Request) -> shapes.FeedbackKept:
    """Kept in the library, with the passages as they are now: `wherefrom feedback export` makes examples of it."""
    state: ServerState = request.app.state.server
    who: str = request.state.key

    def keep() -> int:
        library = state.library
        passages = library.passages(body.passages or body.evidence)
        known = {passage.id for passage in passages}
        return library.add_feedback(
            Feedback(
                question=body.question,
                verdict=body.verdict,
                answer=body.answer,
                better=body.better,
                style=body.style,
                passages=tuple(passages),
                evidence=tuple(id for id in body.evidence if id in known),
                who=who,
                given=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        )

    return shapes.FeedbackKept(number=await state.off_loop(keep))


@router.get("/health", summary="Whether the process lives", tags=["running it"])
async def health() -> shapes.Alive:
    return shapes.Alive(version=__version__)


@router.get("/ready", summary="Whether it can answer", tags=["running it"])
async def ready(request: Request) -> shapes.Ready:
    """The networks are loaded, the library can be read, and the threads live."""
    state: ServerState = request.app.state.server
    if trouble := state.engine.trouble:
        raise HTTPProblem(503, "not-ready", f"the library cannot answer yet: {trouble}")
    if not (state.engine.warm and state.engine.alive and state.worker.alive):
        raise HTTPProblem(
            503, "not-ready", "the server is starting, or ending; ask again in a moment", {"Retry-After": "1"}
        )
    documents_in_all, passages = await state.off_loop(state.library.counts)
    settings = state.library.settings()
    return shapes.Ready(
        documents=documents_in_all,
        passages=passages,
        keys_needed=not is_loopback(state.settings.host) or state.keys.needed(),
        styles=list(STYLES),
        style=settings.write.style,
        min_chance=settings.judge.min_chance,
    )


@router.get(
    "/metrics",
    summary="Counts and times for Prometheus",
    tags=["running it"],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    state: ServerState = request.app.state.server
    jobs = await state.off_loop(state.jobs.waiting)
    return Response(state.metrics.text(state.engine.under_way, jobs), headers={"Content-Type": CONTENT_TYPE})


def _serve_page(app: FastAPI, folder: Path) -> frozenset[str]:
    """Add a route for each file of the page, and return the paths: no other file of the disk can be requested."""
    paths = set()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _MEDIA):
        path = "/" + file.relative_to(folder).as_posix()
        paths.add(path)
        for served in (path, "/") if path == "/index.html" else (path,):
            app.add_api_route(
                served, _sender(file), methods=["GET", "HEAD"], include_in_schema=False, response_model=None
            )
    return frozenset(paths)


def _sender(file: Path) -> Any:
    async def send() -> FileResponse:
        return FileResponse(file, headers={"Content-Type": _MEDIA[file.suffix], "Cache-Control": "no-cache"})

    return send


# ------------------------------------------------------------------------------------------ /openapi.json

PROBLEMS = {
    400: "The request cannot be read.",
    401: "A key is needed.",
    403: "The key may not do that, or a page of another site asks.",
    404: "There is no such thing.",
    413: "It is too large.",
    415: "It is of a kind that is not read.",
    421: "The server does not go by that name.",
    422: "Something in the request is not as the schema says.",
    429: "The key asks too often.",
    500: "Something went wrong that should not have.",
    503: "Too much to do, or the library cannot be used; `Retry-After` says when to come back.",
    504: "The answer was not ready in time.",
    507: "The disk of the server is full; nothing was kept of what was sent.",
}
_FOR_ALL = (401, 403, 421, 429, 500, 503)
_FOR_BODIES = (400, 413, 415, 422, 507)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's schema, with problem documents in place of its own errors, and the key."""
    if app.openapi_schema:
        return app.openapi_schema
    schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    components = schema["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    problem = shapes.ProblemOut.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"].update(problem.pop("$defs", {}))
    components["schemas"]["Problem"] = problem
    chat_error = chat_shapes.ChatError.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"].update(chat_error.pop("$defs", {}))
    components["schemas"]["ChatError"] = chat_error
    components["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "Made by `wherefrom keys add`; none on loopback."}
    }
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            _add_problems(operation, path, method)
            if path not in ("/health", "/ready"):
                operation["security"] = [{}, {"key": []}]
    app.openapi_schema = schema
    return schema


def _add_problems(operation: dict[str, Any], path: str, method: str) -> None:
    """The problem documents that an operation may answer with."""
    statuses = set(_FOR_ALL)
    if method == "post":
        statuses |= set(_FOR_BODIES)
    if operation.get("parameters"):
        statuses.add(422)
    if "{id}" in path:
        statuses.add(404)
    if path.startswith(problems.CHAT):
        statuses = (statuses | {404, 504}) - {422}  # the model, or what `within` leaves; 400 in place of 422
        operation["responses"].pop("422", None)
    if path in ("/ask", "/search", "/summarize"):
        statuses |= {404, 504}  # no document fits `within`, or one that is named is not there
    media, name = (
        ("application/json", "ChatError") if path.startswith(problems.CHAT) else (problems.MEDIA_TYPE, "Problem")
    )
    for status in sorted(statuses):
        operation["responses"][str(status)] = {
            "description": PROBLEMS[status],
            "content": {media: {"schema": {"$ref": f"#/components/schemas/{name}"}}},
        }
