"""All that serves one library in one process, started and stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from wherefrom.config import ServerSettings
from wherefrom.library import Library
from wherefrom.pipeline import Pipeline
from wherefrom.runtime.weights import Weights
from wherefrom.server.connections import quiet_about_open_files
from wherefrom.server.engine import Engine
from wherefrom.server.folder import ServerFolder
from wherefrom.server.ingest_worker import IngestWorker
from wherefrom.server.jobs import Job, Jobs
from wherefrom.server.keys import Keys
from wherefrom.server.memory import give_back
from wherefrom.server.metrics import Metrics
from wherefrom.server.rates import Rates

_READERS = 4  # threads for documents and jobs; each keeps one connection to the database
_LOOK_SECONDS = 0.1
_LOOK_AT_SELF_SECONDS = 5.0

_Result = TypeVar("_Result")


class ServerState:
    """The library, the engine that answers, the worker that writes, and who may come in."""

    def __init__(self, library: Library, settings: ServerSettings, pipeline: Pipeline | None) -> None:
        self.library = library
        self.settings = settings
        self.folder = ServerFolder(library.path)
        self.folder.make()
        self.metrics = Metrics()
        self.keys = Keys(self.folder)
        self.keys.check()
        self.rates = Rates(self.folder)
        self.jobs = Jobs(self.folder)
        self.engine = Engine(library, settings, self.metrics, pipeline)
        self.worker = IngestWorker(library.path, library.settings(), self.folder)
        # Whether the library, of so many documents and passages, answers an example.
        self.tried_examples: dict[tuple[tuple[int, int], str], bool] = {}
        self._weights = Weights.named(library.settings().runtime.reader)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="wherefrom-reader")
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.engine.start()
        self.worker.start()
        quiet_about_open_files(asyncio.get_running_loop())
        self._looking = asyncio.create_task(self._look())

    async def stop(self) -> None:
        """Answer what was asked and leave the jobs as they are: they are kept, and go on with the next start."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        await asyncio.to_thread(self.engine.stop)
        await asyncio.to_thread(self.worker.stop)
        self._readers.shutdown()
        self.keys.close()
        self.rates.close()
        self.library.close()

    def wordpieces(self, text: str) -> int:
        """How many wordpieces the reader network has for a text."""
        return len(self._weights.tokenizer.ids(text))

    async def off_loop(self, work: Callable[[], _Result]) -> _Result:
        """Do something that waits for the disk."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    async def finished(self, job: Job, seconds: float) -> Job:
        """The job as it is when it has finished, or after so many seconds."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        look = partial(self.jobs.get, job.id)
        while not job.finished and loop.time() < until:
            await asyncio.sleep(_LOOK_SECONDS)
            latest = await self.off_loop(look)
            job = latest or job
        return job

    async def _look(self) -> None:
        while True:
            self.metrics.look(self.engine.under_way)
            await self.off_loop(give_back)
            await asyncio.sleep(_LOOK_AT_SELF_SECONDS)
