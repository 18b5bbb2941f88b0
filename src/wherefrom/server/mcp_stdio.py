"""MCP over standard input and output, where every line is answered: what is no message of the protocol, with an error.

The SDK leaves such a line without an answer, and whoever sent it waits for ever: JSON with half a character in it (a
lone surrogate, which some programs make of an emoji cut in two), JSON nested too deeply, half a line, a batch.
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError


async def serve(server: MCPServer) -> None:
    """As the SDK's own `run_stdio_async`, which lets nobody see what it could not read."""
    lowlevel = server._lowlevel_server  # no public way to it; the test of this file tells when it goes
    async with stdio_server() as (messages, answers):
        with_errors = _Answered(messages, answers)
        await lowlevel.run(with_errors, answers, lowlevel.create_initialization_options())


class _Answered:
    """A stream of messages; errors in it are answered and left out."""

    def __init__(self, messages: Any, answers: Any) -> None:
        self._messages = messages
        self._answers = answers

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(message := await self._messages.receive(), Exception):
            await self._answers.send(SessionMessage(refusal(message)))
        return message  # type: ignore[no-any-return]

    async def aclose(self) -> None:
        await self._messages.aclose()

    @property
    def last_context(self) -> Any:
        return self._messages.last_context

    def __aiter__(self) -> _Answered:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Answered:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def refusal(error: Exception) -> JSONRPCError:
    """What is wrong with a line, for whoever sent it: with its id where it has one that can be sent back."""
    faults: list[Any] = list(error.errors(include_url=False)) if isinstance(error, ValidationError) else []
    unread = [fault for fault in faults if fault["type"] == "json_invalid"]
    if unread:
        code, message, sent = (
            PARSE_ERROR,
            f"this line cannot be read: {unread[0]['msg']}",
            _as_python(unread[0]["input"]),
        )
    else:
        code, message = INVALID_REQUEST, "this line is no message of the protocol (JSON-RPC 2.0, one message a line)"
        # What lacks something is the message itself; what is wrong otherwise may be a part of it.
        sent = next((fault["input"] for fault in faults if fault["type"] == "missing" and len(fault["loc"]) == 2), None)
    return JSONRPCError(jsonrpc="2.0", id=_id(sent), error=ErrorData(code=code, message=message))


def _as_python(line: object) -> object:
    """What Python reads in a line, which is less strict: half characters and NaN are nothing to it."""
    try:
        return json.loads(line) if isinstance(line, str) else None
    except (ValueError, RecursionError):
        return None


def _id(sent: object) -> str | int | None:
    """One that is half a character cannot be sent back either."""
    id = sent.get("id") if isinstance(sent, dict) else None
    if isinstance(id, bool) or not isinstance(id, str | int):
        return None
    return None if isinstance(id, str) and any("\ud800" <= character <= "\udfff" for character in id) else id
