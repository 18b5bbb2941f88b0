"""The library over the Model Context Protocol, used through the SDK's own client, over standard input and output."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters


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
        assert sorted(tools) == ["ask", "read_document", "search"]
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
