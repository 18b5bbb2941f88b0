"""A small library, apps over it, and servers in processes of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from wherefrom import Library
from wherefrom.config import ServerSettings, Settings, resolve
from wherefrom.pipeline import Pipeline
from wherefrom.server.app import create_app
from wherefrom.types import Document

LOCAL = "http://127.0.0.1"
DOCUMENTS = [
    Document(
        "boiler.md", "The boiler was serviced by Marta in May. It hums.", "The boiler", "/home/somebody/boiler.md"
    ),
    Document("garden/roses.txt", "Roses grow behind the shed. Ivo waters them on Mondays.", "The garden"),
    Document("keys.txt", "The spare key hangs in the pantry. The pantry is locked.", "Keys"),
]

MakeClient = Callable[..., TestClient]


@pytest.fixture(scope="session")
def made_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of three documents; copied before it is used."""
    path = tmp_path_factory.mktemp("made") / "library"
    with Library(path) as library:
        library.put(DOCUMENTS)
    return path


@pytest.fixture
def library_path(made_library: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made_library, tmp_path / "library"))


@pytest.fixture
def client_with(library_path: Path) -> Iterator[MakeClient]:
    """Makes clients of apps in this process, with settings such as `queue=1`, and perhaps another pipeline."""
    opened: list[TestClient] = []

    def make(
        change: Callable[[Pipeline], Pipeline] | None = None, base_url: str = LOCAL, **settings: object
    ) -> TestClient:
        overrides = [f"server.{name}={json.dumps(value)}" for name, value in settings.items()]
        chosen = resolve(overrides=overrides)
        library = Library(library_path, chosen)
        pipeline = change(library.pipeline()) if change else None
        client = TestClient(create_app(library, chosen.server, pipeline), base_url, raise_server_exceptions=False)
        client.__enter__()
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(client_with: MakeClient) -> TestClient:
    return client_with()


def settings(**changes: object) -> Settings:
    return replace(Settings(), server=replace(ServerSettings(), **changes))  # type: ignore[arg-type]


@contextmanager
def serving(library: Path, *arguments: str, log: Path | None = None) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`wherefrom serve` in a process of its own, on a free port: its address and the process."""
    log = log or library.parent / "serve.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "wherefrom", "serve", str(library), "--port", "0", *arguments],
            stderr=errors,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        address = _address(process, log)
        _wait_until_ready(address, process, log)
        yield address, process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[str], log: Path) -> str:
    for _ in range(600):
        match = re.search(r"http://[^/]+", log.read_text())
        if match:
            return match[0].replace("0.0.0.0", "127.0.0.1")
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(f"no address was told: {log.read_text()}")


def _wait_until_ready(address: str, process: subprocess.Popen[str], log: Path) -> None:
    for _ in range(600):
        try:
            if httpx.get(f"{address}/ready", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(f"not ready: {log.read_text()}")


def events_of(text: str) -> list[tuple[str, dict[str, object]]]:
    """The events of a stream, as (name, data)."""
    events = []
    for block in text.strip().split("\n\n"):
        name, data = re.fullmatch(r"event: (\w+)\ndata: (.*)", block).groups()  # type: ignore[union-attr]
        events.append((name, json.loads(data)))
    return events
