"""Connections: silent, slow, deaf and too many ones end or are refused, and others are served meanwhile."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from server.conftest import serving
from server.test_workers import PLAIN

MOST = 24
HEAD = b"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def served(made_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int, Path]]:
    """A server whose clients have a second: its address, its process and its log."""
    log = tmp_path_factory.mktemp("served") / "log"
    limits = ("--set", "server.client_seconds=1", "--set", f"server.connections={MOST}")
    with serving(made_library, *limits, *PLAIN, log=log) as (address, process):
        yield address, process.pid, log


def connected(address: str, stack: ExitStack | None = None) -> socket.socket:
    host, port = re.findall(r"//(.*):(\d+)", address)[0]
    connection = socket.create_connection((host, int(port)), timeout=15)
    return stack.enter_context(connection) if stack else connection


def heard(connection: socket.socket) -> bytes:
    """All that comes until the server ends the connection; a timeout is an error."""
    pieces = []
    try:
        while piece := connection.recv(65_536):
            pieces.append(piece)
    except ConnectionError:
        pass
    return b"".join(pieces)


def is_served(address: str) -> bool:
    return httpx.get(f"{address}/health", timeout=5).status_code == 200


class TestSlowClients:
    @pytest.mark.parametrize("begin", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: localhost\r\n"])
    def test_one_that_does_not_finish_its_head_is_ended(self, served: tuple[str, int, Path], begin: bytes) -> None:
        with connected(served[0]) as silent:
            silent.sendall(begin)
            begun = time.monotonic()
            answer = heard(silent)
            assert 0.5 < time.monotonic() - begun < 6
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"application/problem+json" in answer

    def test_a_byte_now_and_then_does_not_help(self, served: tuple[str, int, Path]) -> None:
        with connected(served[0]) as slow:
            begun = time.monotonic()
            slow.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")
            while (waited := time.monotonic() - begun) < 8:
                try:
                    slow.sendall(b"x")
                except ConnectionError:
                    break
                time.sleep(0.1)
            assert waited < 8

    def test_nor_in_a_second_request_on_the_same_connection(self, served: tuple[str, int, Path]) -> None:
        with connected(served[0]) as slow:
            slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET ")
            begun = time.monotonic()
            while b"408" not in (answer := slow.recv(65_536)):
                assert answer, "it was ended without a word"
                slow.sendall(b"/")
                time.sleep(0.2)
            assert time.monotonic() - begun < 8

    @pytest.mark.parametrize("length", [b"Content-Length: 5000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n1\r\n"])
    def test_one_that_does_not_finish_its_body_is_ended(self, served: tuple[str, int, Path], length: bytes) -> None:
        with connected(served[0]) as slow:
            slow.sendall(HEAD + length + b"{")
            begun = time.monotonic()
            answer = heard(slow)
            assert 2 < time.monotonic() - begun < 9
        assert answer.startswith(b"HTTP/1.1 408 ")

    def test_a_body_that_comes_steadily_is_taken(self, served: tuple[str, int, Path]) -> None:
        body = json.dumps({"question": "Who serviced the boiler?", "stream": False}).encode() + b" " * 80_000
        with connected(served[0]) as steady:
            steady.sendall(HEAD + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode())
            for at in range(0, len(body), len(body) // 8 + 1):
                steady.sendall(body[at : at + len(body) // 8 + 1])
                time.sleep(0.6)  # longer in all than a body that does not come may take
            assert heard(steady).startswith(b"HTTP/1.1 200 ")

    def test_one_that_does_not_listen_is_ended(self, served: tuple[str, int, Path]) -> None:
        address, process, _ = served
        with connected(address) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            before = len(psutil.Process(process).net_connections("tcp"))
            request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
            deaf.setblocking(False)
            until = time.monotonic() + 20
            gone = False
            while time.monotonic() < until and not gone:
                try:
                    deaf.send(request * 20)
                except BlockingIOError:
                    pass
                except ConnectionError:
                    gone = True
                time.sleep(0.1)
            assert gone
            assert is_served(address)
            assert len(psutil.Process(process).net_connections("tcp")) <= before + 1


class TestManyClients:
    def test_more_than_there_may_be_are_refused_in_words_until_some_go(self, served: tuple[str, int, Path]) -> None:
        address, _, log = served
        with ExitStack() as stack:
            busy = [connected(address, stack) for _ in range(MOST)]
            for each in busy:
                each.sendall(b"GET /he")
            time.sleep(0.2)
            refused = [heard(connected(address, stack)) for _ in range(30)]
        assert {answer[:13] for answer in refused} == {b"HTTP/1.1 503 "}
        assert all(b"Retry-After: 5" in answer and b"too-many-connections" in answer for answer in refused)
        assert log.read_text().count("more are refused") == 1
        time.sleep(0.2)
        assert is_served(address)

    def test_idle_connections_make_room(self, served: tuple[str, int, Path]) -> None:
        address = served[0]
        with ExitStack() as stack:
            for _ in range(MOST):
                idle = connected(address, stack)
                idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert idle.recv(65_536).startswith(b"HTTP/1.1 200 ")
            for _ in range(5):
                assert is_served(address)

    def test_silent_ones_by_the_hundred_stop_it_for_seconds_and_not_for_ever(
        self, served: tuple[str, int, Path]
    ) -> None:
        address = served[0]
        with ExitStack() as stack:
            for _ in range(200):
                connected(address, stack)
            begun = time.monotonic()
            while True:
                try:
                    if is_served(address):
                        break
                except (httpx.TransportError, AssertionError):
                    pass
                assert time.monotonic() - begun < 10
                time.sleep(0.2)

    def test_running_out_of_open_files_is_a_line_and_not_a_flood(self, made_library: Path, tmp_path: Path) -> None:
        log = tmp_path / "log"
        with serving(made_library, *PLAIN, log=log) as (address, process):
            is_served(address)
            server = psutil.Process(process.pid)
            server.rlimit(psutil.RLIMIT_NOFILE, (server.num_fds() + 6, server.num_fds() + 6))
            begun, lines = time.monotonic(), len(log.read_text().splitlines())
            with ExitStack() as stack:
                for _ in range(60):
                    connected(address, stack)
                time.sleep(4)
                written = log.read_text().splitlines()[lines:]
                assert len([line for line in written if "can be accepted" in line]) == 1
                assert len(written) < 10, written[:20]
            while True:
                try:
                    if is_served(address):
                        break
                except httpx.TransportError:
                    time.sleep(0.2)
                assert time.monotonic() - begun < 30


class TestWhatIsNoHTTP:
    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
            (b"GET /health HTTP/9.9\r\nConnection: close\r\n\r\n", b"421"),  # read as one without a host
            (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
            (b"GET / HTTP/1.1\r\nX: \x00\r\n\r\n", b"400"),
            (b"GET /\x80 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000, b"431"),
            (HEAD + b"Content-Length: -1\r\n\r\n", b"400"),
            (HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n", b"400"),
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
            (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", b"501"),
        ],
    )
    def test_is_answered_with_a_problem(self, served: tuple[str, int, Path], sent: bytes, status: bytes) -> None:
        address, _, log = served
        with connected(address) as connection:
            connection.sendall(sent)
            answer = heard(connection)
        assert answer[9:12] == status, answer[:300]
        assert b"application/problem+json" in answer
        assert b"x-content-type-options: nosniff" in answer.lower()
        assert "Traceback" not in log.read_text()

    @pytest.mark.parametrize(
        "target", [b"GET /health", b"POST /ask", b"DELETE /documents/none", b"GET /documents/keys.txt"]
    )
    def test_a_body_that_breaks_off_from_http_is_refused_once(
        self, served: tuple[str, int, Path], target: bytes
    ) -> None:
        """The request is in hand already: its answer was sent behind the refusal of its body, and that failed."""
        address, _, log = served
        before = len(log.read_text())
        with connected(address) as connection:
            head = target + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(head + b"5\r\nhello\r\nzz\r\n")
            answer = heard(connection)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1 ") == 1
        assert is_served(address)
        assert "unexpected" not in log.read_text()[before:]
