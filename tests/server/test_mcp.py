"""The library over the Model Context Protocol, used through the SDK's own client, over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import INVALID_REQUEST, PARSE_ERROR

from wherefrom import Library
from wherefrom.types import Document, Place


def talk(library: Path, conversation: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "wherefrom", "mcp", str(library)], env=dict(os.environ)
        )
        async with Client(command, read_timeout_seconds=30) as client:
            await conversation(client)

    asyncio.run(run())


async def call(client: Client, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    return result.structured_content


def test_the_three_tools(library_path: Path) -> None:
    async def conversation(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["ask", "read_document", "search", "summarize"]
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools.values())

        answered = await call(client, "ask", question="Who serviced the boiler?")
        assert answered["answer"] == "Marta"
        (word,) = answered["words"]
        (evidence,) = answered["evidence"]
        assert (word["text"], word["passage_id"]) == ("Marta", evidence["id"])
        assert evidence["text"][word["start"] : word["end"]] == "Marta"

        unknown = await call(client, "ask", question="What do zebras eat?")
        assert unknown["answer"] is None
        assert (unknown["reason"], unknown["disagrees"]) == ("", [])
        foreign = await call(client, "ask", question="Wer hat den Kessel gewartet?", min_chance=0.0)
        assert foreign["answer"] is None
        assert foreign["reason"] == "out of reach: questions in German are not supported (English only)"

        result = await call(client, "search", question="roses", k=1)
        (passage,) = result["passages"]
        assert passage["document_id"] == "garden/roses.txt"

        narrowed = await call(client, "search", question="roses boiler", within={"folders": ["garden"]})
        assert {each["document_id"] for each in narrowed["passages"]} == {"garden/roses.txt"}
        narrowed = await call(client, "ask", question="Who serviced the boiler?", within={"types": ["md"]})
        assert narrowed["answer"] == "Marta"

        part = await call(client, "read_document", id="garden/roses.txt", start=6, characters=4)
        assert (part["text"], part["start"], part["end"]) == ("grow", 6, 10)
        assert part["length"] == len("Roses grow behind the shed. Ivo waters them on Mondays.")

    talk(library_path, conversation)


def test_words_come_with_their_place_in_the_file(library_path: Path) -> None:
    text = "The lamp stands in the hall. Otto repaired the lamp in June."
    places = (Place(0, "page 3", 3), Place(text.index("Otto"), "page 4", 4))
    with Library(library_path) as library:
        library.put([Document("lamp.pdf", text, "The lamp", places=places)])

    async def conversation(client: Client) -> None:
        answered = await call(client, "ask", question="Who repaired the lamp?")
        assert [(word["text"], word["place"]) for word in answered["words"]] == [("Otto", "page 4")]
        assert [passage["place"] for passage in answered["evidence"]] == ["page 3"]
        (passage,) = (await call(client, "search", question="lamp", k=1))["passages"]
        assert (passage["place"], passage["places"][1]["number"]) == ("page 3", 4)

    talk(library_path, conversation)


def test_what_cannot_be_done_is_told_in_words(library_path: Path) -> None:
    async def conversation(client: Client) -> None:
        for name, arguments, word in (
            ("read_document", {"id": "../../etc/passwd"}, "no document"),
            ("ask", {"question": ""}, "question"),
            ("ask", {"question": "a", "style": "song"}, "style"),
            ("search", {"question": "a", "k": 1000}, "k"),
            ("search", {"question": "a", "within": {"since": "May"}}, "not a date"),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert word in str(result.content)
        assert (await call(client, "search", question="boiler"))["passages"]  # and it goes on

    talk(library_path, conversation)


def test_a_missing_library_is_told_at_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wherefrom", "mcp", str(tmp_path / "none")],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert "there is no library" in done.stderr
    assert done.stdout == ""


ASKING = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"search","arguments":{"question":"%b"}}}'
UNREADABLE = {
    "half a character in a question": (ASKING % (b"2", b"roses \\ud83c"), 2, PARSE_ERROR),
    "another half": (ASKING % (b'"three"', b"roses \\udf39"), "three", PARSE_ERROR),
    "half a character in an id": (ASKING % (b'"\\ud83c"', b"roses"), None, PARSE_ERROR),
    "half a character in a method": (b'{"jsonrpc":"2.0","id":4,"method":"\\ud83c"}', 4, PARSE_ERROR),
    "half a line": (b'{"jsonrpc":"2.0","id":5', None, PARSE_ERROR),
    "no text": (b"\xff\xfe\x00", None, PARSE_ERROR),
    "nested too deeply": (b"[" * 100_000, None, PARSE_ERROR),
    "a number too long": (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', None, PARSE_ERROR),
    "a batch": (b"[]", None, INVALID_REQUEST),
    "a number alone": (b"7", None, INVALID_REQUEST),
    "without a method": (b'{"jsonrpc":"2.0","id":6}', 6, INVALID_REQUEST),
    "an object in place of the protocol": (b'{"jsonrpc":{"id":8},"id":9,"method":"ping"}', 9, INVALID_REQUEST),
    "an older protocol": (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, INVALID_REQUEST),
}


def test_every_line_that_cannot_be_read_is_answered(library_path: Path) -> None:
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    lines = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()]
    lines += [line for line, _, _ in UNREADABLE.values()]
    lines.append(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    command = [sys.executable, "-m", "wherefrom", "mcp", str(library_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in lines]
        process.stdin.close()
        assert process.wait(20) == 0
    assert answers[0]["id"] == 1
    assert answers[-1] == {"jsonrpc": "2.0", "id": "last", "result": {}}  # and it goes on
    for (name, (_, id, code)), answer in zip(UNREADABLE.items(), answers[1:-1], strict=True):
        assert (answer["id"], answer["error"]["code"]) == (id, code), name
