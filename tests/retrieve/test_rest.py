"""Asking a server over HTTP: what it refuses, what breaks off, and what is said then."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from wherefrom.errors import LibraryUnreachable, SettingsError
from wherefrom.retrieve import rest
from wherefrom.retrieve.rest import RestError, RestServer


class Peer(BaseHTTPRequestHandler):
    """Tells what it was sent; refuses /no, and closes the connection after each answer where it is told so."""

    protocol_version = "HTTP/1.1"
    hangs_up = False

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        refused = self.path == "/no"
        answer = json.dumps(
            {"status": {"error": "too many"}} if refused else {"body": body, "key": self.headers["api-key"]}
        ).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.close_connection = self.hangs_up  # without a word of it: what a server that is started anew does

    def log_message(self, format: str, *arguments: object) -> None:
        """Tests are quiet."""


@pytest.fixture
def peer() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Peer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def asked(peer: HTTPServer) -> Iterator[RestServer]:
    server = RestServer(f"http://127.0.0.1:{peer.server_port}", "map server", "start it", key="secret")
    yield server
    server.close()


def test_sends_what_is_to_be_sent_with_the_key(asked: RestServer) -> None:
    assert json.loads(asked.send("POST", "/", {"text": "Größe"})) == {"body": {"text": "Größe"}, "key": "secret"}


def test_what_is_refused_is_told_in_the_servers_words(asked: RestServer) -> None:
    with pytest.raises(RestError, match=r"the map server at http://127.* refused POST /no: too many") as error:
        asked.send("POST", "/no", {})
    assert error.value.status == 400


def test_a_connection_that_was_closed_meanwhile_is_made_anew(
    asked: RestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed: list[bool] = []
    asked.renewed = lambda: renewed.append(True)
    monkeypatch.setattr(Peer, "hangs_up", True)
    for number in range(3):
        assert json.loads(asked.send("POST", "/", number))["body"] == number
    assert len(renewed) == 2


def test_a_server_that_is_away_is_an_error_with_the_remedy_after_some_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(rest.time, "sleep", pauses.append)
    away = RestServer("http://127.0.0.1:9", "map server", "start it")
    with pytest.raises(
        LibraryUnreachable, match=r"the map server at http://127.0.0.1:9 does not answer \(.*\); start it"
    ):
        away.send("GET", "/")
    assert pauses == []
    with pytest.raises(LibraryUnreachable):
        away.send("GET", "/", patient=True)
    assert len(pauses) == 3


@pytest.mark.parametrize("url", ["", "localhost:6333", "ftp://host", "http://"])
def test_what_is_no_address_is_a_wrong_setting(url: str) -> None:
    with pytest.raises(SettingsError, match="http://HOST:PORT"):
        RestServer(url, "map server", "start it")
