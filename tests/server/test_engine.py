"""Questions under load: read together, bounded in number and time, dropped when nobody waits, spoilt by no other."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from server.conftest import MakeClient, events_of, settings
from server.stages import FailingReader, GatedReader, TypingWriter
from wherefrom import Library
from wherefrom.config import ServerSettings
from wherefrom.runtime.weights import WeightsError
from wherefrom.server.app import create_app
from wherefrom.server.engine import (
    CandidatesRead,
    ChanceJudged,
    Engine,
    Event,
    Finished,
    HitsFound,
    TooSlow,
    WordsWritten,
)
from wherefrom.server.line import QueueFull
from wherefrom.server.metrics import Metrics
from wherefrom.stages import Reader, Writer
from wherefrom.types import Candidate, Hit, Question, Trace

QUESTIONS = ["Who serviced the boiler?", "Who waters the roses?", "Where is the spare key?", "What hums?"]


@asynccontextmanager
async def engine_over(path: Path, **changes: Any) -> AsyncIterator[tuple[Engine, GatedReader]]:
    """An engine whose reader can be held up."""
    is_open, seconds = changes.pop("is_open", True), changes.pop("seconds_each", 0.0)
    with Library(path) as library:
        pipeline = library.pipeline()
        reader = GatedReader(pipeline.reader, is_open, seconds)
        chosen = replace(ServerSettings(), **{"patience_seconds": 600.0, **changes})  # however busy the machine is
        engine = Engine(library, chosen, Metrics(), replace(pipeline, reader=reader))
        engine.start()
        while not engine.warm:
            reader.gate.set()
            await asyncio.sleep(0.01)
        reader.batches.clear()
        reader.entered.clear()
        if not is_open:
            reader.gate.clear()
        yield engine, reader
        reader.gate.set()
        await asyncio.to_thread(engine.stop)


async def answer(engine: Engine, question: str, **options: Any) -> Trace:
    async for event in engine.ask(question, options.pop("style", "short"), **options):
        if isinstance(event, Finished):
            return event.trace
    raise AssertionError("no end")


class TestBatches:
    def test_questions_that_wait_are_read_together(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, is_open=False) as (engine, reader):
                first = asyncio.create_task(answer(engine, QUESTIONS[0]))
                await asyncio.to_thread(reader.entered.wait, 10)
                others = [asyncio.create_task(answer(engine, question)) for question in QUESTIONS[1:]]
                await asyncio.sleep(0.1)
                reader.gate.set()
                traces = await asyncio.gather(first, *others)
                assert reader.batches == [QUESTIONS[:1], QUESTIONS[1:]]
                with Library(library_path) as library:
                    for question, trace in zip(QUESTIONS, traces, strict=True):
                        assert replace(trace, timings={}) == replace(library.ask(question), timings={})

        asyncio.run(run())

    def test_a_question_waits_a_moment_for_others(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, wait_ms=300.0) as (engine, reader):
                await asyncio.gather(*(answer(engine, question) for question in QUESTIONS))
                assert [sorted(batch) for batch in reader.batches] == [sorted(QUESTIONS)]

        asyncio.run(run())

    def test_a_batch_has_its_bound(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, wait_ms=300.0, batch=2) as (engine, reader):
                await asyncio.gather(*(answer(engine, question) for question in QUESTIONS))
                assert [len(batch) for batch in reader.batches] == [2, 2]

        asyncio.run(run())

    def test_different_styles_passages_and_chances_share_a_batch(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, wait_ms=300.0) as (engine, reader):
                short, passage, one, declined = await asyncio.gather(
                    answer(engine, QUESTIONS[0], min_chance=0.0),
                    answer(engine, QUESTIONS[0], style="passage", min_chance=0.0),
                    answer(engine, "the garden or the boiler or the key", k=1, min_chance=0.0),
                    answer(engine, QUESTIONS[0], min_chance=1.0),
                )
                assert len(reader.batches) == 1
                assert short.answer is not None
                assert short.answer.text == "Marta"
                assert passage.answer is not None
                assert passage.answer.text == "The boiler was serviced by Marta in May. It hums."
                assert len(one.hits) == 1
                assert declined.answer is not None
                assert declined.answer.text is None

        asyncio.run(run())

    def test_hits_are_told_while_the_reader_is_busy_with_others(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, is_open=False) as (engine, reader):
                busy = asyncio.create_task(answer(engine, QUESTIONS[0]))
                await asyncio.to_thread(reader.entered.wait, 10)
                events = engine.ask(QUESTIONS[1], "short")
                first = await asyncio.wait_for(anext(events), 5)  # the reader has not even begun with it
                assert isinstance(first, HitsFound)
                assert not busy.done()
                reader.gate.set()
                ranked = await anext(events)
                assert isinstance(ranked, HitsFound)
                assert ranked.stage == "rank"
                assert isinstance(await anext(events), CandidatesRead)
                await events.aclose()
                await busy

        asyncio.run(run())

    def test_one_question_that_fails_spoils_no_other(self, library_path: Path) -> None:
        async def run() -> None:
            with Library(library_path) as library:
                pipeline = library.pipeline()
                failing = replace(pipeline, reader=FailingReader(pipeline.reader))
                engine = Engine(library, replace(ServerSettings(), wait_ms=300.0), Metrics(), failing)
                engine.start()
                good, bad = await asyncio.gather(
                    answer(engine, QUESTIONS[0]), answer(engine, "explode the boiler"), return_exceptions=True
                )
                assert isinstance(good, Trace)
                assert good.answer is not None
                assert good.answer.text == "Marta"
                assert isinstance(bad, ZeroDivisionError)
                assert isinstance(await answer(engine, QUESTIONS[1]), Trace)  # and the thread lives
                await asyncio.to_thread(engine.stop)

        asyncio.run(run())


class TestLimits:
    def test_a_full_queue_refuses_and_has_room_again_afterwards(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, is_open=False, queue=2) as (engine, reader):
                waiting = [asyncio.create_task(answer(engine, question)) for question in QUESTIONS[:2]]
                await asyncio.sleep(0.05)
                with pytest.raises(QueueFull, match="too many questions are under way; ask again in 1 s"):
                    await answer(engine, QUESTIONS[2])
                reader.gate.set()
                await asyncio.gather(*waiting)
                assert engine.under_way == 0
                assert isinstance(await answer(engine, QUESTIONS[2]), Trace)

        asyncio.run(run())

    def test_one_question_is_not_kept_waiting_by_another_client_s_hundred(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, is_open=False, batch=1, queue=100) as (engine, reader):
                order: list[str] = []

                async def asked_by(client: str, number: int) -> None:
                    await answer(engine, f"{QUESTIONS[0]} {number}", client=client)
                    order.append(client)

                busy = [asyncio.create_task(asked_by("busy", number)) for number in range(60)]
                await asyncio.to_thread(reader.entered.wait, 10)
                await asyncio.sleep(0.1)
                late = asyncio.create_task(asked_by("late", 0))
                await asyncio.sleep(0.1)
                reader.gate.set()
                await asyncio.gather(late, *busy)
                assert order.index("late") <= 2

        asyncio.run(run())

    def test_two_hundred_at_once_are_all_answered_or_told_when_to_come_back(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, seconds_each=0.02, batch=4, patience_seconds=0.5) as (engine, _):
                waits: list[int] = []
                answered: list[float] = []

                async def asked(number: int) -> None:
                    begun = time.monotonic()
                    try:
                        await answer(engine, f"{QUESTIONS[number % 4]} {number}", client=f"client {number % 20}")
                        answered.append(time.monotonic() - begun)
                    except QueueFull as refused:
                        waits.append(refused.retry)

                await asyncio.gather(*(asked(number) for number in range(200)))
                assert len(answered) + len(waits) == 200
                assert answered  # how many depends on how busy the machine is
                assert waits
                assert all(1 <= wait <= 60 for wait in waits)
                assert engine.under_way == 0

        asyncio.run(run())

    def test_an_answer_that_takes_too_long_is_given_up(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, is_open=False, seconds=0.2) as (engine, reader):
                begun = time.monotonic()
                with pytest.raises(TooSlow, match=r"within 0\.2 s"):
                    await answer(engine, QUESTIONS[0])
                assert time.monotonic() - begun < 2
                assert engine.under_way == 0
                reader.gate.set()

        asyncio.run(run())

    def test_stopping_answers_what_was_asked(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, seconds_each=0.1, batch=1) as (engine, _):
                tasks = [asyncio.create_task(answer(engine, question)) for question in QUESTIONS]
                await asyncio.sleep(0.02)
                await asyncio.to_thread(engine.stop)
                traces = await asyncio.wait_for(asyncio.gather(*tasks), 1)
                assert all(trace.answer is not None for trace in traces)

        asyncio.run(run())

    def test_what_nobody_waits_for_is_not_read(self, library_path: Path) -> None:
        async def run() -> None:
            async with engine_over(library_path, is_open=False) as (engine, reader):
                first = asyncio.create_task(answer(engine, QUESTIONS[0]))
                await asyncio.to_thread(reader.entered.wait, 10)
                second = asyncio.create_task(answer(engine, QUESTIONS[1]))
                third = asyncio.create_task(answer(engine, QUESTIONS[2]))
                await asyncio.sleep(0.1)
                second.cancel()
                await asyncio.gather(second, return_exceptions=True)
                reader.gate.set()
                await asyncio.gather(first, third)
                assert reader.batches == [[QUESTIONS[0]], [QUESTIONS[2]]]

        asyncio.run(run())


# Over HTTP.


class TestOverHTTP:
    def test_a_full_queue_is_503_with_the_time_to_come_back(self, client_with: MakeClient) -> None:
        readers: list[GatedReader] = []

        def gated(pipeline: Any) -> Any:
            readers.append(GatedReader(pipeline.reader))
            return replace(pipeline, reader=readers[0])

        client = client_with(gated, queue=1)
        _until_ready(client)
        readers[0].gate.clear()
        readers[0].entered.clear()
        done: list[httpx.Response] = []
        asking = threading.Thread(
            target=lambda: done.append(client.post("/ask", json={"question": QUESTIONS[0], "stream": False}))  # type: ignore[arg-type]
        )
        asking.start()
        assert readers[0].entered.wait(10)
        for stream in (True, False):
            refused = client.post("/ask", json={"question": QUESTIONS[1], "stream": stream})
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert refused.json()["type"] == "urn:wherefrom:problem:queue-full"
        readers[0].gate.set()
        asking.join(10)
        assert done[0].status_code == 200

    def test_too_slow_is_504_or_an_error_event_once_the_stream_has_begun(self, client_with: MakeClient) -> None:
        client = client_with(
            lambda pipeline: replace(pipeline, reader=GatedReader(pipeline.reader, seconds=0.8)), seconds=0.3
        )
        _until_ready(client)
        refused = client.post("/ask", json={"question": QUESTIONS[0], "stream": False})
        assert refused.status_code == 504
        assert refused.json()["type"] == "urn:wherefrom:problem:too-slow"
        events = events_of(client.post("/ask", json={"question": QUESTIONS[0]}).text)
        assert (events[0][0], events[-1][0]) == ("hits", "error")
        assert events[-1][1]["status"] == 504

    def test_an_unexpected_error_tells_nothing_of_the_inside(
        self, client_with: MakeClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        client = client_with(lambda pipeline: replace(pipeline, reader=FailingReader(pipeline.reader)))
        with caplog.at_level(logging.ERROR, "wherefrom.server"):
            failed = client.post("/ask", json={"question": "explode the boiler", "stream": False})
        assert failed.status_code == 500
        assert failed.headers["content-type"] == "application/problem+json"
        assert failed.headers["x-content-type-options"] == "nosniff"
        assert "Marta" not in failed.text
        assert "ZeroDivisionError" in caplog.text
        assert "in read_many" in caplog.text  # where it happened
        assert "Marta" not in caplog.text
        caplog.clear()
        with caplog.at_level(logging.ERROR, "wherefrom.server"):
            events = events_of(client.post("/ask", json={"question": "explode the boiler"}).text)
        assert [name for name, _ in events] == ["hits", "hits", "error"]
        assert "ZeroDivisionError" in caplog.text
        assert "Marta" not in caplog.text + str(events[-1])

    def test_a_library_that_cannot_answer_says_why_until_it_can(self, client_with: MakeClient) -> None:
        class LateReader:
            """Weights that are put in place late."""

            there = False

            def __init__(self, reader: Reader) -> None:
                self._reader = reader

            def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
                if not self.there:
                    raise WeightsError("model.onnx is not there; install wherefrom anew")
                return self._reader.read(questions, hits)

        client = client_with(lambda pipeline: replace(pipeline, reader=LateReader(pipeline.reader)))
        for _ in range(500):
            response = client.get("/ready")
            if "model.onnx" in response.text:
                break
            time.sleep(0.01)
        assert response.status_code == 503
        assert "cannot answer yet: model.onnx is not there; install wherefrom anew" in response.json()["detail"]
        LateReader.there = True
        assert client.post("/ask", json={"question": QUESTIONS[0], "stream": False}).status_code == 200
        assert client.get("/ready").status_code == 200

    def test_a_stream_that_ends_in_an_error_ends_properly(self, library_path: Path) -> None:
        library = Library(library_path)
        pipeline = library.pipeline()
        app = create_app(library, settings().server, replace(pipeline, reader=FailingReader(pipeline.reader)))
        with running(app) as address:
            response = httpx.post(
                f"{address}/ask", json={"question": "explode the boiler"}
            )  # or it breaks off: an exception
        assert [name for name, _ in events_of(response.text)] == ["hits", "hits", "error"]

    @pytest.mark.parametrize("stream", [True, False])
    def test_a_client_that_goes_away_has_its_question_dropped(self, library_path: Path, stream: bool) -> None:
        library = Library(library_path)
        pipeline = library.pipeline()
        reader = GatedReader(pipeline.reader)
        app = create_app(library, settings().server, replace(pipeline, reader=reader))
        with running(app) as address:
            reader.gate.clear()
            reader.entered.clear()
            reader.batches.clear()
            with httpx.Client(base_url=address, timeout=30) as first:
                busy = threading.Thread(target=first.post, args=("/ask",), kwargs={"json": {"question": QUESTIONS[0]}})
                busy.start()
                assert reader.entered.wait(10)
                body = {"question": QUESTIONS[1], "stream": stream}
                with httpx.Client(base_url=address, timeout=0.3) as second, pytest.raises(httpx.ReadTimeout):
                    second.post("/ask", json=body)
                for _ in range(100):
                    if app.state.server.engine.under_way == 1:
                        break
                    time.sleep(0.05)
                assert app.state.server.engine.under_way == 1
                reader.gate.set()
                busy.join(10)
            time.sleep(0.1)
            assert reader.batches == [[QUESTIONS[0]]]


@contextmanager
def running(app: Any) -> Iterator[str]:
    """The app behind a real socket, in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        while httpx.get(f"{address}/ready").status_code != 200:
            time.sleep(0.05)
        yield address
    finally:
        server.should_exit = True
        thread.join(30)


def _until_ready(client: TestClient) -> None:
    while client.get("/ready").status_code != 200:
        time.sleep(0.02)


class TestWords:
    """Answers that are written word by word."""

    @asynccontextmanager
    async def engine(self, path: Path, writer: Writer) -> AsyncIterator[Engine]:
        with Library(path) as library:
            engine = Engine(library, ServerSettings(), Metrics(), replace(library.pipeline(), writer=writer))
            engine.start()
            yield engine
            await asyncio.to_thread(engine.stop)

    async def events(self, engine: Engine, question: str = QUESTIONS[0], **options: Any) -> list[Event]:
        return [event async for event in engine.ask(question, "short", **options)]

    @pytest.mark.parametrize("streamed", [0, 1, 3])
    def test_are_told_as_they_come_and_once(self, library_path: Path, streamed: int) -> None:
        async def run() -> None:
            async with self.engine(library_path, TypingWriter("Marta it was .".split(), streamed)) as engine:
                events = await self.events(engine)
                kinds = [type(event).__name__ for event in events]
                assert kinds.index("ChanceJudged") < kinds.index("WordsWritten")
                words = [word.text for event in events if isinstance(event, WordsWritten) for word in event.words]
                assert words == ["Marta", "it", "was", "."]
                assert kinds.count("WordsWritten") == streamed + 1
                assert isinstance(events[-1], Finished)

        asyncio.run(run())

    def test_the_trace_counts_where_it_differs(self, library_path: Path) -> None:
        async def run() -> None:
            writer = TypingWriter(["Marta"], 1, typed=["Ivo"])
            async with self.engine(library_path, writer) as engine:
                events = await self.events(engine)
                words = [word.text for event in events if isinstance(event, WordsWritten) for word in event.words]
                assert words == ["Ivo"]
                last = events[-1]
                assert isinstance(last, Finished)
                assert last.trace.answer is not None
                assert last.trace.answer.text == "Marta"

        asyncio.run(run())

    def test_a_declined_question_is_not_written_for(self, library_path: Path) -> None:
        async def run() -> None:
            writer = TypingWriter(["Marta"], 1)
            async with self.engine(library_path, writer) as engine:
                events = await self.events(engine, min_chance=1.0)
                assert not any(isinstance(event, WordsWritten) for event in events)
                (judged,) = [event for event in events if isinstance(event, ChanceJudged)]
                assert judged.declined
                assert QUESTIONS[0] not in writer.questions

        asyncio.run(run())

    def test_each_hears_its_own(self, library_path: Path) -> None:
        async def run() -> None:
            async with self.engine(library_path, TypingWriter(None, 1)) as engine:
                all_events = await asyncio.gather(
                    *(self.events(engine, question, min_chance=0.0) for question in QUESTIONS)
                )
                for question, events in zip(QUESTIONS, all_events, strict=True):
                    words = [word.text for event in events if isinstance(event, WordsWritten) for word in event.words]
                    assert words == question.split()

        asyncio.run(run())
