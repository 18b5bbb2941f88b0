"""Who may come in: names, origins, keys and routes in every mixture, judged by rules that are written a second time."""

from __future__ import annotations

import json
import random
import re
import socket
from dataclasses import dataclass
from pathlib import Path

from attack.campaign import Attempt, Campaign, Outcome
from attack.damage import PLAIN
from attack.load import serving
from wherefrom import Library
from wherefrom.server.folder import ServerFolder
from wherefrom.server.keys import Keys
from wherefrom.types import Document

CHECKS = 500  # of one attempt
OWN_HOSTS = ("localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:{port}", "[::1]", "[::1]:8765", "localhost:{port}")
FOREIGN_HOSTS = (
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "localhost@evil.example",
    "evil@localhost",
    "[::2]",
    "[::ffff:127.0.0.1]",
    "127.1",
    "0.0.0.0",
    "127.0.0.2",
    "localhost.",
    "2130706433",
    "0x7f000001",
    "xn--localhost",
    "loca\u017fhost",
    "[",
)
ORIGINS_OF_OTHERS = (
    "null",
    "http://[",
    "http://evil.example",
    "https://evil.example:{port}",
    "http://{host}.evil.example",
    "http://evil.example/{host}",
    "http://{host}:1:2",
    "{host}",
    "http://user@{host}",
    "file://",
    "",
    "http://",
    "chrome-extension://abc",
    "http://127.0.0.1:9",
)
SITES_OF_OTHERS = ("cross-site", "same-site", "", "SAME-ORIGIN", "anything")
OPEN = ("/", "/health", "/ready", "/openapi.json")
READING_POSTS = ("/ask", "/search", "/summarize")
WRITING = (("POST", "/documents"), ("POST", "/feedback"), ("DELETE", "/documents/none.txt"), ("DELETE", "/jobs/none"))
NEEDED_HEADERS = ("content-security-policy", "x-content-type-options", "x-frame-options", "referrer-policy")


@dataclass(frozen=True)
class Visit:
    """One request, and what should become of it: a status, or 0 for "let in"."""

    data: bytes
    expected: int
    what: str


def attempt(given: Attempt) -> Outcome:
    outcome = Outcome()
    library = given.folder / "library"
    with Library(library) as opened:
        opened.put([Document("keys.txt", "The spare key hangs in the pantry.", "Keys")])
    secrets = _keys(library) if given.number % 3 else {}
    log = given.folder / "serve.log"
    with serving(library, *(part for each in PLAIN for part in ("--set", each)), log=log) as (address, _):
        port = int(address.rpartition(":")[2])
        for _ in range(given.share(CHECKS)):
            visit = _visit(given.chance, port, secrets)
            outcome.tried += 1
            outcome.count(f"to be {visit.expected}" if visit.expected else "to be let in")
            _judged(visit, _answered(port, visit.data), secrets, outcome)
    said = log.read_text(encoding="utf-8", errors="replace")
    if any(secret in said for secret in secrets.values()):
        outcome.break_("a key stands in the log", "")
    if "unexpected" in said or "Traceback" in said:
        outcome.break_("a traceback in the server's log", said[-1500:])
    return outcome


def _keys(library: Path) -> dict[str, str]:
    folder = ServerFolder(library)
    folder.make()
    keys = Keys(folder)
    secrets = {"read": keys.add("reader", "read", 10_000_000), "write": keys.add("writer", "write", 10_000_000)}
    secrets["removed"] = keys.add("gone", "write")
    keys.remove("gone")
    return secrets


def _visit(chance: random.Random, port: int, secrets: dict[str, str]) -> Visit:
    method, path = _route(chance)
    own_host = chance.random() < 0.8
    host = chance.choice(OWN_HOSTS if own_host else FOREIGN_HOSTS).format(port=port)
    lines = [("Host", host)]
    is_open = path in OPEN and method == "GET"
    foreign = False
    draw = chance.random()
    if draw < 0.2:
        lines.append(("Origin", chance.choice(ORIGINS_OF_OTHERS).format(host=host, port=port)))
        foreign = True
    elif draw < 0.4:
        lines.append(("Origin", f"{chance.choice(('http', 'https'))}://{host}"))
    if chance.random() < 0.3:
        if chance.random() < 0.5:
            lines.append(("Sec-Fetch-Site", chance.choice(SITES_OF_OTHERS)))
            foreign = foreign or not is_open
        else:
            lines.append(("Sec-Fetch-Site", chance.choice(("same-origin", "none"))))
    who, header = _authorization(chance, secrets)
    lines += [("Authorization", header)] if header else []
    writes = (method, path) in WRITING
    if not own_host:
        expected = 421
    elif foreign:
        expected = 403
    elif is_open or not secrets:
        expected = 0
    elif who not in ("read", "write"):
        expected = 401
    else:
        expected = 403 if writes and who == "read" else 0
    body = json.dumps({"question": "Where is the spare key?", "stream": False}).encode() if method == "POST" else b""
    lines += [("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Connection", "close")]
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines) + "\r\n"
    return Visit(head.encode("utf-8") + body, expected, f"{method} {path} {dict(lines)} by {who}")


def _route(chance: random.Random) -> tuple[str, str]:
    reading = [("POST", path) for path in READING_POSTS]
    reading += [
        ("GET", path) for path in ("/documents", "/documents/keys.txt", "/jobs", "/metrics", "/examples?limit=1")
    ]
    return chance.choice([*WRITING, *reading, *(("GET", path) for path in OPEN)])


def _authorization(chance: random.Random, secrets: dict[str, str]) -> tuple[str, str]:
    """Who it is said to be, and how it is said."""
    if not secrets or chance.random() < 0.25:
        return "nobody", chance.choice(
            ("", "", "Bearer", "Bearer wf_", "Basic Og==", "Bearer \u00e9", f"Bearer wf_{'A' * 43}")
        )
    who = chance.choice(("read", "write", "removed"))
    secret = secrets[who]
    if chance.random() < 0.7:
        return who, f"{chance.choice(('Bearer', 'bearer', 'BEARER'))} {secret}"
    spoilt = (
        secret[:-1],
        secret + "x",
        secret.swapcase(),
        secret[3:],
        f"{secret},{secret}",
        secret.replace("_", "-", 1),
    )
    return "nobody", chance.choice(
        (*(f"Bearer {each}" for each in spoilt), secret, f"Basic {secret}", f"Token {secret}")
    )


def _judged(visit: Visit, answer: tuple[int, str, bytes], secrets: dict[str, str], outcome: Outcome) -> None:
    status, head, body = answer
    again = repr(visit.data[:800])
    if visit.expected and status != visit.expected:
        outcome.break_(f"{status} where {visit.expected} should be", visit.what, again)
    elif not visit.expected and status in (0, 401, 403, 421, 500):
        outcome.break_(f"{status} where somebody should be let in", visit.what, again)
    lowered = head.lower()
    if missing := [name for name in NEEDED_HEADERS if f"\n{name}:" not in lowered]:
        outcome.break_(f"an answer without {', '.join(missing)}", visit.what, again)
    if "\naccess-control-" in lowered:
        outcome.break_("an answer that other pages may read", head[:500], again)
    if any(secret.encode() in body or secret in head for secret in secrets.values()):
        outcome.break_("an answer with a key in it", visit.what, again)


def _answered(port: int, data: bytes) -> tuple[int, str, bytes]:
    received = b""
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall(data)
        while piece := connection.recv(1 << 16):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.1 (\d{3})", head)
    return int(match[1]) if match else 0, head.decode("latin-1"), body


GUARD = Campaign(
    name="guard",
    unit="visits",
    over="names of the server, origins, keys of every kind and routes, mixed; with and without keys",
    attempts=20,
    seconds=900,
    attempt=attempt,
)
