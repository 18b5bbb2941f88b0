"""A server gives back to the system what it no longer needs."""

from __future__ import annotations

import platform
import threading
from pathlib import Path

import psutil
import pytest

pytest.importorskip("fastapi", reason="`pip install 'wherefrom[server]'` brings fastapi")

from fastapi.testclient import TestClient

from wherefrom import Library
from wherefrom.server import state
from wherefrom.server.app import create_app
from wherefrom.server.memory import give_back


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries give back by themselves, or never")
def test_what_lies_free_between_what_is_used_is_given_back() -> None:
    pieces = [bytes(5_000) for _ in range(20_000)]
    kept = pieces[::20]
    full = psutil.Process().memory_info().rss
    del pieces
    give_back()
    assert full - psutil.Process().memory_info().rss > 60_000_000
    assert len(kept) == 1_000


def test_a_machine_without_such_a_c_library_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wherefrom.server.memory._trim", lambda: None)
    give_back()


def test_a_server_does_so_while_it_runs(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = threading.Semaphore(0)
    monkeypatch.setattr(state, "give_back", times.release)
    monkeypatch.setattr(state, "_LOOK_AT_SELF_SECONDS", 0.01)
    with Library(library_path) as library, TestClient(create_app(library)):
        assert all(times.acquire(timeout=60) for _ in range(3))
