"""POST /v1/chat/completions and GET /v1/models: for programs that talk to OpenAI's chat interface.

Messages become a conversation, the last one its question; the answer comes from the library, with numbered sources.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from wherefrom import __version__
from wherefrom.server.chat_messages import BadMessages, ChatTurn, asked_of, reply_of, text_of, understood_line
from wherefrom.server.chat_shapes import (
    MODEL,
    MODELS,
    ChatCompletion,
    ChatRequest,
    CitedReply,
    ModelList,
    ModelOut,
    ReplyChoice,
    ReplyMessage,
    TokenUsage,
)
from wherefrom.server.engine import Event, Finished, HitsFound
from wherefrom.server.problems import HTTPProblem, chat_error, note, problem_of
from wherefrom.server.questions import client_of, last_of
from wherefrom.server.state import ServerState
from wherefrom.server.understanding import understood
from wherefrom.types import STYLES, Style, Trace, Turn

router = APIRouter(tags=["chat clients"])

_BEGUN = int(time.time())
_TURNS = 6  # that are understood anew, each by those before it, where it is not known how they were
_FINGERPRINT = f"wherefrom-{__version__}"
# What must not be passed over: who asks for it would take the reply for something else. Their values that ask nothing.
_REFUSED: dict[str, tuple[Any, ...]] = {
    "audio": (None,),
    "functions": (None, []),
    "logprobs": (None, False),
    "modalities": (None, ["text"]),
    "n": (None, 1),
    "prediction": (None,),
    "response_format": (None, {"type": "text"}),
    "tool_choice": (None, "none", "auto"),
    "web_search_options": (None,),
}


@router.get("/v1/models", summary="The names of this library, for chat clients")
async def models() -> ModelList:
    """`wherefrom` answers as the setting write.style has it, the others in the style that they are named for."""
    return ModelList(data=[ModelOut(id=name, created=_BEGUN) for name in MODELS])


@router.get("/v1/models/{model}", summary="One of them")
async def model(model: str) -> ModelOut:
    _style_of(model)
    return ModelOut(id=model, created=_BEGUN)


@router.post(
    "/v1/chat/completions",
    summary="Answer the last message of a conversation",
    response_class=Response,
    responses={
        200: {
            "model": ChatCompletion,
            "description": "The completion; or, with `stream`, its chunks as server-sent events, `[DONE]` the last. "
            "Where the library does not know, the content says so.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    },
)
async def complete(body: ChatRequest, request: Request) -> Response:
    state: ServerState = request.app.state.server
    options = body.wherefrom
    style: Style = (options and options.style) or _style_of(body.model) or request.app.state.style
    _refuse(body)
    try:
        question, earlier = asked_of(body.messages)
        asked_texts = [text_of(message) for message in body.messages]
    except BadMessages as error:
        raise HTTPProblem(
            400, "invalid-messages", str(error), errors=[{"where": error.where, "what": str(error)}]
        ) from error
    turns = await state.off_loop(lambda: _whole(state, earlier))
    part = (options.within.part() or None) if options and options.within else None
    k, least = (options.k, options.min_chance) if options else (None, None)
    events = understood(state, question, turns, style, k, least, part, client_of(request))
    reply = _Reply(body.model, state, asked_texts)
    if not body.stream:
        trace = (await last_of(events, request)).trace
        return Response(reply.completion(trace).model_dump_json(), media_type="application/json")
    first = await anext(events)  # until it is there, what goes wrong still has a status
    wants_usage = body.stream_options is not None and body.stream_options.include_usage
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        reply.chunks(first, events, wants_usage, state.settings.log_texts),
        media_type="text/event-stream",
        headers=headers,
    )


def _style_of(model: str) -> Style | None:
    """The style that a model's name asks for; None for the library's own."""
    if model not in MODELS:
        raise HTTPProblem(404, "model-not-found", f"there is no model '{model[:80]}'; there are {', '.join(MODELS)}")
    styles: dict[str, Style] = {f"{MODEL}-{style}": style for style in STYLES}
    return styles.get(model)


def _refuse(body: ChatRequest) -> None:
    """Parameters that demand what there is not; all others that are unknown change nothing."""
    given = {**(body.model_extra or {}), "n": body.n}
    for name, harmless in _REFUSED.items():
        if name in given and given[name] not in harmless:
            what = f"{name} is not supported here: answers are quoted or written from the library, one at a time"
            raise HTTPProblem(400, "unsupported-parameter", what, errors=[{"where": name, "what": what}])


def _whole(state: ServerState, earlier: Sequence[ChatTurn]) -> list[Turn]:
    """The turns as whole questions; those of other programs' replies are understood by the turns before them."""
    turns: list[Turn] = []
    for each in earlier[-_TURNS:]:
        question = each.turn.question
        if not each.whole and turns:
            meaning = state.library.meanings(question, turns)[0]
            question = question if meaning.typed else meaning.text
        turns.append(Turn(question, each.turn.answer, each.turn.title))
    return turns


class _Reply:
    """One completion on its way to the client."""

    def __init__(self, model: str, state: ServerState, texts: Sequence[str]) -> None:
        self._head: dict[str, Any] = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
        self._state = state
        self._texts = texts

    def completion(self, trace: Trace) -> ChatCompletion:
        text, cited = reply_of(trace)
        text = understood_line(trace.question.text, trace.question.typed) + text
        return ChatCompletion(
            **self._head,
            choices=[ReplyChoice(message=ReplyMessage(content=text))],
            usage=self._usage(text),
            system_fingerprint=_FINGERPRINT,
            wherefrom=cited,
        )

    async def chunks(
        self, first: Event, events: AsyncGenerator[Event], wants_usage: bool, log_texts: bool
    ) -> AsyncIterator[bytes]:
        """How it is understood at once; the answer once it is certain, since nothing can be taken back."""
        yield self._chunk({"role": "assistant", "content": ""})
        sent = ""
        async with aclosing(events) as following:
            try:
                event: Event | None = first
                while event is not None:
                    if isinstance(event, HitsFound) and event.understood and not sent:
                        sent = understood_line(event.understood, event.understood)
                        yield self._chunk({"content": sent})
                    if isinstance(event, Finished):
                        text, cited = reply_of(event.trace)
                        for piece in _pieces(text):
                            yield self._chunk({"content": piece})
                        yield self._chunk({}, "stop", cited)
                        if wants_usage:
                            yield self._data(
                                {**self._common(), "choices": [], "usage": self._usage(sent + text).model_dump()}
                            )
                    event = await anext(following, None)
            except Exception as error:  # noqa: BLE001 - sent in the stream, which has begun
                note(error, log_texts)
                yield self._data(chat_error(problem_of(error)))
                return
        yield b"data: [DONE]\n\n"

    def _common(self) -> dict[str, Any]:
        return {**self._head, "object": "chat.completion.chunk", "system_fingerprint": _FINGERPRINT}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, cited: CitedReply | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        more = {"wherefrom": cited.model_dump()} if cited else {}
        return self._data({**self._common(), "choices": [choice], **more})

    def _data(self, value: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps(value).encode() + b"\n\n"

    def _usage(self, reply: str) -> TokenUsage:
        count = self._state.wordpieces
        prompt, completion = sum(map(count, self._texts)), count(reply)
        return TokenUsage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


def _pieces(text: str) -> list[str]:
    """A word at a time, with the space behind it: together they are the text."""
    *before, last = text.split(" ")
    return [*(part + " " for part in before), last]
