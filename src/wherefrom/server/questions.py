"""POST /ask, /search and /summarize, and GET /examples."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse

from wherefrom.server.engine import CandidatesRead, ChanceJudged, Event, Finished, HitsFound, WordsWritten
from wherefrom.server.examples import examples
from wherefrom.server.problems import HTTPProblem, note, problem_of
from wherefrom.server.shapes import AskRequest, ExampleQuestions, SearchRequest, SummarizeRequest
from wherefrom.server.state import ServerState
from wherefrom.server.understanding import understood
from wherefrom.types import Trace

router = APIRouter(tags=["questions"])

_MADE = 3  # times as many examples are made as are shown: some are declined
_EXAMPLES_SECONDS = 6.0  # after which no more of them are tried
_KEPT_EXAMPLES = 500

NAMES: dict[type[Any], str] = {
    HitsFound: "hits",
    CandidatesRead: "candidates",
    ChanceJudged: "chance",
    WordsWritten: "words",
    Finished: "trace",
}
_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"type": "string", "enum": [*NAMES.values(), "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
EXAMPLE_EVENTS = """event: hits
data: {"stage": "retrieve", "hits": [{"passage": {...}, "score": 9.1, "features": {"retrieve": 9.1}}, ...],
data:  "understood": "", "instead": []}

event: candidates
data: {"candidates": [{"text": "17 June 1944", "passage": {...}, "start": 32, "end": 44, "score": 1.2, ...}, ...]}

event: chance
data: {"chance": 0.93, "declined": false, "style": "short"}

event: words
data: {"words": [{"text": "17", "source": "passage", "passage_id": "places/iceland.html#1", "start": 32, "end": 34,
data:   "share": 1.0, "space": ""}, ...]}

event: trace
data: {"question": {...}, "hits": [...], "candidates": [...], "answer": {...}, "summary": null, "timings": {...}}
"""


@router.post(
    "/ask",
    summary="Answer a question",
    response_class=Response,
    responses={
        200: {
            "model": Trace,
            "description": "The trace; or, with `stream`, server-sent events: `hits` (after `retrieve`, and again "
            "after `rank`), `candidates`, `chance`, `words` (none where it declines, several where the answer is "
            "written word by word) and `trace`, which is the last and counts where its words differ; or `error` with a "
            "problem document.",
            "content": {"text/event-stream": {"itemSchema": _EVENT, "example": EXAMPLE_EVENTS}},
        }
    },
)
async def ask(body: AskRequest, request: Request) -> Response:
    state: ServerState = request.app.state.server
    style = body.style or request.app.state.style
    turns = [turn.turn() for turn in body.turns]
    events = understood(
        state, body.question, turns, style, body.k, body.min_chance, within=body.part(), client=client_of(request)
    )
    if body.why or body.expect is not None:
        events = _reasoned(events, body, state)
    if not body.stream:
        return _json((await last_of(events, request)).trace)
    first = await anext(events)  # until it is there, what goes wrong still has a status
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _streamed(first, events, state.settings.log_texts), media_type="text/event-stream", headers=headers
    )


@router.post("/search", summary="Find passages", response_class=Response, responses={200: {"model": Trace}})
async def search(body: SearchRequest, request: Request) -> Response:
    """A trace with hits, without an answer."""
    state: ServerState = request.app.state.server
    style, client = request.app.state.style, client_of(request)
    events = state.engine.ask(body.question, style, body.k, only_search=True, within=body.part(), client=client)
    return _json((await last_of(events, request)).trace)


@router.get("/examples", summary="Questions to begin with")
async def example_questions(request: Request, limit: Annotated[int, Query(ge=1, le=20)] = 6) -> ExampleQuestions:
    """Made from sentences of the library, and asked before they are shown; none where none is answered."""
    state: ServerState = request.app.state.server
    made = await state.off_loop(lambda: examples(state.library, _MADE * limit))
    until = asyncio.get_running_loop().time() + _EXAMPLES_SECONDS
    shown: list[str] = []
    for question in made:
        if len(shown) == limit or asyncio.get_running_loop().time() > until:
            break
        if await _answers(question, request, state):
            shown.append(question)
    return ExampleQuestions(questions=shown)


async def _answers(question: str, request: Request, state: ServerState) -> bool:
    """Whether the library answers it; what was found out is kept as long as the answer can be the same."""
    known = state.tried_examples
    at = (await state.off_loop(state.library.counts), question)
    if at not in known:
        events = state.engine.ask(question, request.app.state.style, client=client_of(request))
        answer = (await last_of(events, request)).trace.answer
        while len(known) >= _KEPT_EXAMPLES:
            del known[next(iter(known))]
        known[at] = answer is not None and answer.text is not None
    return known[at]


@router.post(
    "/summarize",
    summary="Tell many documents around a question",
    response_class=Response,
    responses={
        200: {
            "model": Trace,
            "description": "The trace, with a `summary` whose sentences say of every word where it stands, and without "
            "an answer; or, with `stream`, server-sent events: `hits`, `words` for each sentence, and `trace`. Where "
            "the documents hold nothing on the question there are no sentences, and `reason` says so; where they hold "
            "little, it says that. A document that is named and not there: 404.",
            "content": {"text/event-stream": {"itemSchema": _EVENT, "example": EXAMPLE_EVENTS}},
        }
    },
)
async def summarize(body: SummarizeRequest, request: Request) -> Response:
    state: ServerState = request.app.state.server
    words = body.words or (await state.off_loop(state.library.settings)).summarize.words
    part = await state.off_loop(partial(state.library.part_of, body.documents, body.part()))
    style, client = request.app.state.style, client_of(request)
    events = state.engine.ask(body.question, style, body.k, within=part, client=client, words=words)
    if not body.stream:
        return _json((await last_of(events, request)).trace)
    first = await anext(events)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _streamed(first, events, state.settings.log_texts), media_type="text/event-stream", headers=headers
    )


def client_of(request: Request) -> str:
    """Whose turn it is: a key's, from one address."""
    return f"{request.state.key} {request.client.host if request.client else ''}"


async def _reasoned(events: AsyncGenerator[Event], body: AskRequest, state: ServerState) -> AsyncGenerator[Event]:
    """The same events, the trace at the end with the reasons."""
    async with aclosing(events) as following:
        async for event in following:
            if isinstance(event, Finished):
                reasons = await state.off_loop(partial(state.library.why, event.trace, body.min_chance, body.expect))
                yield Finished(replace(event.trace, why=reasons))
            else:
                yield event


async def last_of(events: AsyncGenerator[Event], request: Request) -> Finished:
    """The end of the events; if the client goes away before it, the question is dropped."""

    async def follow() -> Finished:
        async with aclosing(events) as following:
            async for event in following:
                if isinstance(event, Finished):
                    return event
        raise AssertionError("the events ended without the last one")

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    answering, leaving = asyncio.create_task(follow()), asyncio.create_task(gone())
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise HTTPProblem(499, "gone", "the client has gone")
        return answering.result()
    finally:
        for task in (answering, leaving):
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def _streamed(first: Event, events: AsyncGenerator[Event], texts: bool) -> AsyncIterator[bytes]:
    async with aclosing(events) as following:
        try:
            yield _event(NAMES[type(first)], first)
            async for event in following:
                data = event.trace if isinstance(event, Finished) else event
                yield _event(NAMES[type(event)], data)
        except Exception as error:  # noqa: BLE001 - sent in the stream, which has begun
            note(error, texts)
            yield _event("error", problem_of(error).body())


def _event(name: str, data: object) -> bytes:
    """One server-sent event; JSON holds no line ends of its own."""
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
