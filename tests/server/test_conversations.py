"""Follow-ups over HTTP and MCP: earlier turns come with the question, and nothing of them is kept."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from mcp import Client

from server.conftest import MakeClient, events_of
from server.stages import GatedReader
from wherefrom import Library
from wherefrom.config import ServerSettings
from wherefrom.pipeline import Pipeline
from wherefrom.server.engine import ChanceJudged, Event, Finished, HitsFound
from wherefrom.server.mcp_tools import tools
from wherefrom.server.state import ServerState
from wherefrom.server.understanding import understood
from wherefrom.types import Meaning, Turn

TURN = {"question": "Who serviced the boiler?", "answer": "Marta", "title": "The boiler"}
FOLLOW_UP = {"question": "and when did she do it?", "turns": [TURN]}
ROSES = {"question": "and the roses?", "turns": [{"question": "Where does the boiler grow?", "answer": None}]}


def test_a_follow_up_is_answered_as_the_question_that_it_means(client: TestClient) -> None:
    trace = client.post("/ask", json={**ROSES, "stream": False, "min_chance": 0}).json()
    assert trace["question"]["text"] == "Where does the roses grow?"
    assert trace["question"]["typed"] == "and the roses?"
    assert trace["answer"]["text"] == "behind the shed"


def test_the_stream_says_at_once_how_it_was_understood(client: TestClient) -> None:
    events = events_of(client.post("/ask", json={**ROSES, "min_chance": 0}).text)
    assert events[0][0] == "hits"
    assert events[0][1]["understood"] == "Where does the roses grow?"
    assert events[-1][1]["question"]["typed"] == "and the roses?"


def test_without_turns_and_for_whole_questions_nothing_changes(client: TestClient) -> None:
    alone = client.post("/ask", json={"question": "and the roses?", "stream": False}).json()
    assert (alone["question"]["text"], alone["question"]["typed"]) == ("and the roses?", "")
    whole = {"question": "Who waters the roses on Mondays?", "turns": [TURN], "stream": False}
    assert client.post("/ask", json=whole).json()["question"]["typed"] == ""


@pytest.mark.parametrize(
    ("turns", "where"),
    [
        ([TURN] * 21, "turns"),
        ([{"answer": "Marta"}], "turns.0.question"),
        ([{"question": "x" * 2001}], "turns.0.question"),
        ([{"question": "Who?", "answer": "y" * 20_001}], "turns.0.answer"),
        ([{"question": "Who?", "asked": 1}], "turns.0.asked"),
        ("Who?", "turns"),
    ],
)
def test_bad_turns_are_named(client: TestClient, turns: Any, where: str) -> None:
    answered = client.post("/ask", json={"question": "why?", "turns": turns})
    assert answered.status_code == 422
    assert answered.json()["errors"][0]["where"] == f"body.{where}"


class TwoMeanings:
    """A library for which every follow-up may mean two things."""

    def __init__(self, library: Library, *texts: str) -> None:
        self._library, self._texts = library, texts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def meanings(self, _question: str, _turns: object) -> list[Meaning]:
        return [Meaning(text, 0.5 - place / 100, False) for place, text in enumerate(self._texts)]


def _events(library: Library, pipeline: Pipeline | None, *texts: str) -> list[Event]:
    async def run() -> list[Event]:
        state = ServerState(library, ServerSettings(), pipeline)
        state.library = TwoMeanings(library, *texts)  # type: ignore[assignment]
        state.start()
        try:
            asked = understood(state, "and it?", [Turn("Who?")], "short", min_chance=0.0)
            return [event async for event in asked]
        finally:
            assert state.engine.under_way == 0
            await state.stop()

    return asyncio.run(run())


def test_of_two_meanings_the_better_answered_is_taken(library_path: Path) -> None:
    events = _events(Library(library_path), None, "Who serviced the zebra?", "Who serviced the boiler?")
    first, last = events[0], events[-1]
    assert isinstance(first, HitsFound)
    assert (first.understood, first.instead) == ("Who serviced the boiler?", ("Who serviced the zebra?",))
    assert isinstance(last, Finished)
    assert last.trace.question.instead == ("Who serviced the zebra?",)
    assert last.trace.answer is not None
    assert last.trace.answer.text == "Marta"
    assert sum(isinstance(event, ChanceJudged) for event in events) == 1


def test_a_client_that_goes_while_two_are_tried_leaves_nothing_behind(library_path: Path) -> None:
    library = Library(library_path)
    pipeline = library.pipeline()
    gated = GatedReader(pipeline.reader, is_open=False)

    async def run() -> None:
        from dataclasses import replace

        state = ServerState(library, ServerSettings(), replace(pipeline, reader=gated))
        state.library = TwoMeanings(library, "Who serviced the zebra?", "Who serviced the boiler?")  # type: ignore[assignment]
        gated.gate.set()  # for the warm-up
        state.start()
        while not state.engine.warm:
            await asyncio.sleep(0.01)
        gated.gate.clear()

        async def follow() -> None:
            async for _ in understood(state, "and it?", [Turn("Who?")], "short"):
                pass

        task = asyncio.create_task(follow())
        while state.engine.under_way < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert state.engine.under_way == 0
        gated.gate.set()
        await state.stop()

    asyncio.run(run())


def test_a_full_line_refuses_both(client_with: MakeClient) -> None:
    client = client_with(queue=1)
    answered = client.post("/ask", json={**ROSES, "stream": False, "min_chance": 0})
    assert answered.status_code in (200, 503)  # two meanings need two places, one needs one
    assert client.post("/ask", json={"question": "Who serviced the boiler?", "stream": False}).status_code == 200


def test_a_program_over_mcp_sends_its_turns(library_path: Path) -> None:
    async def run() -> Any:
        async with Client(tools(Library(library_path))) as client:
            return (await client.call_tool("ask", {**ROSES, "min_chance": 0})).structured_content

    answered = asyncio.run(run())
    assert answered["question"] == "Where does the roses grow?"
    assert answered["answer"] == "behind the shed"
    assert answered["instead"] == []
