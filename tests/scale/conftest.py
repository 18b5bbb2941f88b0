"""Servers that scaled libraries are kept on, each with a folder and a port of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.qdrant import HOW, QdrantProcess, program


@pytest.fixture(scope="session")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantProcess]:
    """A server for all tests of a process; one that kills it starts it again."""
    if program() is None:
        pytest.skip(f"there is no Qdrant server here: {HOW}")
    server = QdrantProcess(tmp_path_factory.mktemp("qdrant"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def own_qdrant(tmp_path: Path) -> Iterator[QdrantProcess]:
    """A server to be killed."""
    if program() is None:
        pytest.skip(f"there is no Qdrant server here: {HOW}")
    server = QdrantProcess(tmp_path / "qdrant")
    server.start()
    yield server
    server.kill()
