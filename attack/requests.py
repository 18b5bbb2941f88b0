"""Odd requests: what the schema allows and what it does not, bytes that are hardly HTTP, and lines that are hardly MCP.

The routes and what they take come from the server's own /openapi.json, so that a new one is attacked from its first
day. None may be answered with 500, leave a traceback in the log, be left without an answer, or end the server.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_from_bytes

from attack.campaign import Attempt, Campaign, Outcome
from attack.damage import PLAIN
from attack.load import serving
from attack.oddities import HEADER_VALUES, HEADERS, NUMBERS, STRINGS
from wherefrom import Library
from wherefrom.server.folder import ServerFolder
from wherefrom.server.keys import Keys
from wherefrom.types import Document

REQUESTS = 2000  # of one attempt
LINES = 200  # of MCP, likewise
HONEST = (501, 503, 504, 507)  # refusals that say what is the matter
ANSWERED_SECONDS = 60.0
_RAW_SECONDS = 0.15  # for bytes that may be half a request, of which the server waits for the rest
_MOST_BYTES = 3_000_000  # of a response that are looked at

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "PROPFIND", "X", "ÿ")


@dataclass(frozen=True)
class Sent:
    """The bytes of one request; `whole` where the server has to answer it."""

    kind: str
    data: bytes
    whole: bool = True


def attempt(given: Attempt) -> Outcome:
    outcome = Outcome()
    chance = given.chance
    library = given.folder / "library"
    ids = _library(library)
    secrets = _keys(library) if given.number % 5 == 4 else []
    networks = given.number % 10 == 9
    chosen = [] if networks else [part for each in PLAIN for part in ("--set", each)]
    log = given.folder / "serve.log"
    with serving(library, *chosen, log=log) as (address, _):
        port = int(address.rpartition(":")[2])
        described = json.loads(_exchanged(port, b"GET /openapi.json HTTP/1.0\r\nHost: localhost\r\n\r\n", 30)[1])
        maker = Maker(chance, described, ids, secrets)
        for _ in range(given.share(REQUESTS // (10 if networks else 1))):
            sent = maker.request()
            outcome.tried += 1
            outcome.count(sent.kind)
            _judged(port, sent, outcome)
        status, _ = _exchanged(port, b"GET /ready HTTP/1.0\r\nHost: localhost\r\n\r\n", ANSWERED_SECONDS)
        if status != 200:
            outcome.break_(f"the server is not ready afterwards: {status}", log.read_text(errors="replace")[-1500:])
    for found in re.findall(r"(?:Traceback|unexpected \w+ at)(?:.*\n?){1,30}", log.read_text(errors="replace"))[:5]:
        outcome.break_("a traceback in the server's log", found)
    _lines(given, library, chosen, outcome)
    return outcome


def _library(path: Path) -> list[str]:
    documents = [
        Document("boiler.md", "The boiler was serviced by Marta in May. It hums.", "The boiler", "/tmp/boiler.md"),
        Document(
            "garden/roses ü 🦊.txt",
            "Roses grow behind the shed. Ivo waters them on Mondays.",
            "Roses",
            date="2024-05-01",
        ),
        Document("a#0", "A name that looks like a passage's. \U0001f98a " * 50, "\u202eTrap"),
        Document("long.txt", "A line of words that say next to nothing.\n" * 3000, "Long"),
    ]
    with Library(path) as library:
        library.put(documents)
    return [document.id for document in documents]


def _keys(path: Path) -> list[str]:
    folder = ServerFolder(path)
    folder.make()
    keys = Keys(folder)
    return [
        keys.add("reader", "read", 10_000_000),
        keys.add("writer", "write", 10_000_000),
        keys.add("slow", "read", 1),
    ]


# ----------------------------------------------------------------------------------------------- requests


class Maker:
    """Makes requests from what the server says that it takes, and from what it does not."""

    def __init__(self, chance: random.Random, described: dict[str, Any], ids: list[str], secrets: list[str]) -> None:
        self._chance = chance
        self._schemas = described["components"]["schemas"]
        self._operations = [
            (method.upper(), path, operation)
            for path, operations in described["paths"].items()
            for method, operation in operations.items()
        ]
        self._ids = ids
        self._secrets = secrets

    def request(self) -> Sent:
        draw = self._chance.random()
        if draw < 0.40:
            return self._described("as described", odd=0.15)
        if draw < 0.62:
            return self._described("bent", odd=0.6)
        if draw < 0.72:
            return self._described("odd headers", odd=0.2, headers=True)
        if draw < 0.80:
            return self._form()
        if draw < 0.87:
            return self._unreadable_body()
        return self._bytes()

    def _described(self, kind: str, odd: float, headers: bool = False) -> Sent:
        """A request for one of the operations, each value with a chance to be an odd one."""
        method, path, operation = self._chance.choice(self._operations)
        content = operation.get("requestBody", {}).get("content", {})
        body, content_type = b"", ""
        if "application/json" in content:
            body = self._dumped(self.value(content["application/json"]["schema"], odd))
            content_type = "application/json"
        elif content:
            return self._form()
        parameters = operation.get("parameters", [])
        query = [
            (each["name"], 0.1 if each["name"] == "wait" else self.value(each["schema"], odd))
            for each in parameters
            if each["in"] == "query" and self._chance.random() < 0.6
        ]
        target = re.sub(r"\{\w+(:\w+)?\}", lambda _: self._id(), path)
        if query:
            target += "?" + "&".join(f"{name}={self._quoted(self._shown(value))}" for name, value in query)
        lines = [("Host", "localhost")]
        lines += [("Content-Type", content_type)] if content_type else []
        if headers:
            lines = self._odd_headers(lines)
        if self._chance.random() < 0.03:
            method = self._chance.choice(_METHODS)
        return Sent(kind, self._http(method, target, lines, body), whole=not headers)

    def value(self, schema: dict[str, Any], odd: float, depth: int = 0) -> Any:
        """Something that fits a schema, or, with the chance `odd` at each place, something that may not."""
        chance = self._chance
        if chance.random() < odd / (2 + depth):
            return self._odd(0)
        if "$ref" in schema:
            return self.value(self._schemas[schema["$ref"].rpartition("/")[2]], odd, depth)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self.value(chance.choice(schema[several]), odd, depth)
        if "enum" in schema:
            return chance.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        match schema.get("type"):
            case "object":
                return self._object(schema, odd, depth)
            case "array":
                most = min(schema.get("maxItems", 4), 4)
                return [self.value(schema.get("items", {}), odd, depth + 1) for _ in range(chance.randrange(most + 1))]
            case "integer":
                return chance.randint(int(schema.get("minimum", -5)), int(min(schema.get("maximum", 1000), 1000)))
            case "number":
                return chance.choice([schema.get("minimum", 0.0), 0.5, schema.get("maximum", 1.0)]) * 1.0
            case "boolean":
                return chance.random() < 0.5
            case "null":
                return None
            case "string":
                return chance.choice([*STRINGS, *self._ids, self._random_text()])
            case _:
                return self._odd(0)

    def _object(self, schema: dict[str, Any], odd: float, depth: int) -> Any:
        needed = schema.get("required", [])
        value = {
            name: self.value(part, odd, depth + 1)
            for name, part in schema.get("properties", {}).items()
            if name in needed or self._chance.random() < 0.4
        }
        if value and self._chance.random() < odd / 4:
            value.pop(self._chance.choice(list(value)))
        if self._chance.random() < odd / 4:
            value[self._chance.choice(STRINGS)] = self._odd(0)
        return value

    def _odd(self, depth: int) -> Any:
        chance = self._chance
        match chance.randrange(8):
            case 0 | 1 | 2:
                return chance.choice(STRINGS)
            case 3 | 4:
                return chance.choice(NUMBERS)
            case 5:
                return chance.choice((None, True, False))
            case 6 if depth < 4:
                return [self._odd(depth + 1) for _ in range(chance.randrange(4))]
            case 7 if depth < 4:
                return {chance.choice(STRINGS): self._odd(depth + 1) for _ in range(chance.randrange(4))}
            case _:
                return self._random_text()

    def _random_text(self) -> str:
        areas = (
            (0, 0x20),
            (0x20, 0x7F),
            (0x80, 0x2FF),
            (0x300, 0x370),
            (0x590, 0x6FF),
            (0x2000, 0x20FF),
            (0xD800, 0xE000),
            (0x1F300, 0x1F6FF),
        )
        length = int(2 ** self._chance.uniform(0, 7))
        return "".join(chr(self._chance.randrange(*self._chance.choice(areas))) for _ in range(length))

    def _dumped(self, value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=self._chance.random() < 0.5).encode("utf-8", "surrogatepass")

    def _shown(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    def _quoted(self, text: str) -> str:
        """Percent-encoded, or now and then not quite."""
        data = text.encode("utf-8", "surrogatepass")
        if self._chance.random() < 0.1:
            return re.sub(rb"[^!-~]", b"%", data).decode("ascii")
        return quote_from_bytes(data, safe="")

    def _id(self) -> str:
        chance = self._chance
        draw = chance.random()
        if draw < 0.4:
            return quote(chance.choice(self._ids), safe=chance.choice(("", "/")))
        if draw < 0.9:
            return self._quoted(chance.choice((chance.choice(STRINGS), self._random_text())))
        return chance.choice(
            ("%", "%zz", "%00", "%ff", "%ed%a0%80", "%c0%ae%c0%ae", "..%2f..%2fetc", "/" * 50, "a" * 60_000)
        )

    def _http(self, method: str, target: str, headers: list[tuple[str, str | bytes]] | Any, body: bytes) -> bytes:
        names = {name.lower() for name, _ in headers}
        if self._secrets and "authorization" not in names and self._chance.random() < 0.9:
            headers = [*headers, ("Authorization", f"Bearer {self._chance.choice(self._secrets)}")]
        if (body or method in ("POST", "PUT", "PATCH")) and not names & {"content-length", "transfer-encoding"}:
            headers = [*headers, ("Content-Length", str(len(body)))]
        lines = [f"{method} {target} HTTP/1.1".encode("utf-8", "surrogatepass")]
        for name, value in [*headers, ("Connection", "close")]:
            lines.append(
                name.encode("utf-8", "surrogatepass")
                + b": "
                + (value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass"))
            )
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    def _odd_headers(self, headers: list[tuple[str, str]]) -> list[tuple[str, Any]]:
        chance = self._chance
        changed: list[tuple[str, Any]] = list(headers)
        for _ in range(chance.randrange(1, 5)):
            changed.insert(chance.randrange(len(changed) + 1), (chance.choice(HEADERS), chance.choice(HEADER_VALUES)))
        if chance.random() < 0.1:
            changed = [each for each in changed if each[0] != "Host"]
        if chance.random() < 0.02:
            changed += [(f"X-{number}", "y" * 50) for number in range(2000)]
        return changed

    def _form(self) -> Sent:
        """An upload, or something like one."""
        chance = self._chance
        boundary = chance.choice(("b", "----x", "a" * 70, "a" * 71, "", 'b"', "ü", "b; c"))
        lines = []
        for _ in range(chance.randrange(4)):
            name = chance.choice(("files", "files", "files", "file", "", "\ud800", "a\0", "wait"))
            file = chance.choice(
                ('; filename="{}"', "; filename={}", "; filename*=utf-8''{}", "", "; filename*=nonsense''{}")
            ).format(
                chance.choice(
                    (
                        *STRINGS,
                        *(
                            f"note-{chance.randrange(9)}.{kind}"
                            for kind in ("txt", "md", "pdf", "docx", "html", "jsonl")
                        ),
                    )
                )
            )
            data = chance.choice(
                (
                    b"A short text of an upload.",
                    b"",
                    b"\xff\xfe\0",
                    b"%PDF-1.4\n%%EOF",
                    b"PK\3\4",
                    chance.randbytes(200),
                    b"\n" * 5000,
                )
            )
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{file}'
            odd = chance.choice(
                (
                    "",
                    "",
                    "\r\nContent-Type: text/\ud800",
                    "\r\nContent-Transfer-Encoding: base64",
                    "\r\nX",
                    "\r\n" + "a" * 9000 + ": b",
                )
            )
            lines.append(f"{head}{odd}\r\n\r\n".encode("utf-8", "surrogatepass") + data)
        body = (
            b"\r\n".join(lines)
            + chance.choice((f"\r\n--{boundary}--\r\n", f"\r\n--{boundary}--", "", "\r\n", "--")).encode()
        )
        kind = chance.choice(
            ("multipart/form-data", "multipart/form-data", "Multipart/Form-Data", "multipart/mixed", "text/plain")
        )
        told = chance.choice(
            (f"; boundary={boundary}", f'; boundary="{boundary}"', "", "; boundary", "; boundary=b; charset=nonsense")
        )
        wait = chance.choice(("", "", "?wait=0.2", "?wait=-1", "?wait=nan", "?wait=1e9"))
        return Sent(
            "forms",
            self._http("POST", f"/documents{wait}", [("Host", "localhost"), ("Content-Type", kind + told)], body),
        )

    def _unreadable_body(self) -> Sent:
        chance = self._chance
        method, path, _ = chance.choice([each for each in self._operations if each[0] == "POST"] or self._operations)
        good = json.dumps({"question": "Who repairs the boiler?", "stream": False}).encode()
        cut = chance.randrange(len(good))
        bodies: tuple[Callable[[], bytes], ...] = (
            lambda: good[:cut],
            lambda: good[:cut] + chance.randbytes(3) + good[cut:],
            lambda: b"[" * chance.choice((100, 1000, 100_000)),
            lambda: b'{"question":' * 3000 + b"1" + b"}" * 3000,
            lambda: b'{"question":"a","k":' + b"9" * chance.choice((20, 400, 5000)) + b"}",
            lambda: b'{"question":"\\ud800","question":"\\u0000"}',
            lambda: good.decode().encode(chance.choice(("utf-16", "utf-32", "utf-16-le", "utf-7", "utf-8-sig"))),
            lambda: chance.randbytes(chance.randrange(300)),
            lambda: b"a" * 262_145,
            lambda: b"null",
            lambda: b'"\xed\xa0\x80"',
        )
        target = re.sub(r"\{\w+(:\w+)?\}", lambda _: self._id(), path)
        kind = chance.choice(
            ("application/json",) * 6 + ("application/problem+json", "text/json", "", "application/json;")
        )
        return Sent(
            "unreadable bodies",
            self._http(method, target, [("Host", "localhost"), ("Content-Type", kind)], chance.choice(bodies)()),
        )

    def _bytes(self) -> Sent:
        """A request with some of its bytes changed: hardly HTTP."""
        chance = self._chance
        data = bytearray(self._described("bytes", odd=0.2).data[:20_000])
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(data) + 1)
            match chance.randrange(6):
                case 0:
                    data[at : at + 1] = bytes([chance.randrange(256)])
                case 1:
                    del data[at : at + int(2 ** chance.uniform(0, 6))]
                case 2:
                    data[at:at] = chance.choice(
                        (b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"\r\n\r\n", b"\xff", b"HTTP/9.9", b"0\r\n\r\n")
                    )
                case 3:
                    data[at:at] = data[: int(2 ** chance.uniform(0, 8))]
                case 4:
                    data = data[:at] or bytearray(b"\r\n")
                case 5:
                    data = data.replace(
                        b"Content-Length:",
                        chance.choice((b"Transfer-Encoding: chunked\r\nX:", b"Content-Length: 5\r\nContent-Length:")),
                    )
        return Sent("bytes", bytes(data), whole=False)


def _judged(port: int, sent: Sent, outcome: Outcome) -> None:
    again = f"{sent.data[:1500]!r}"
    try:
        seconds = ANSWERED_SECONDS if sent.whole else _RAW_SECONDS
        status, body = _exchanged(port, sent.data, seconds, sent.whole)
    except ConnectionRefusedError:
        outcome.break_("the server is gone", sent.kind, again)
        raise
    outcome.count(
        f"status {status}" if status else "no answer to what is hardly HTTP" if not sent.whole else "unanswered"
    )
    if status == 0 and sent.whole:
        outcome.break_(f"no answer to a whole request ({sent.kind})", repr(body[:200]), again)
    if status >= 500 and status not in HONEST:
        outcome.break_(f"status {status} ({sent.kind})", repr(body[:500]), again)
    if re.search(rb'event: error\ndata: \{[^\n]*"status": ?500', body):
        outcome.break_(f"an error of 500 in a stream ({sent.kind})", repr(body[-500:]), again)


def _exchanged(port: int, data: bytes, seconds: float, whole: bool = True) -> tuple[int, bytes]:
    """Status and body; status 0 where nothing came, or no HTTP."""
    received = b""
    until = time.monotonic() + seconds
    with socket.create_connection(("127.0.0.1", port), seconds + 5) as connection:
        with suppress(OSError):  # refused before all was sent: what it says is there to be read
            connection.sendall(data)
        while len(received) < _MOST_BYTES and (left := until - time.monotonic()) > 0:
            connection.settimeout(left)
            try:
                piece = connection.recv(1 << 16)
            except TimeoutError:
                if whole:
                    break
                connection.shutdown(socket.SHUT_WR)  # nothing more comes: now it has to end
                until, whole = until + ANSWERED_SECONDS, True
                continue
            except OSError:
                break
            if not piece:
                break
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.1 (\d{3})", head)
    if match and match[1] == b"100":
        return _status_and_body(body)
    return (int(match[1]), body) if match else (0, received)


def _status_and_body(received: bytes) -> tuple[int, bytes]:
    head, _, body = received.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.1 (\d{3})", head)
    return (int(match[1]), body) if match else (100, received)


# ---------------------------------------------------------------------------------------------------- MCP


def _lines(given: Attempt, library: Path, chosen: list[str], outcome: Outcome) -> None:
    """Odd lines to `wherefrom mcp`: each that is a request is answered, and it lives on."""
    errors = given.folder / "mcp.log"
    command = [sys.executable, "-m", "wherefrom", "mcp", str(library), *chosen]
    with (
        errors.open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "odd", "version": "1"}}
        process.stdin.write(_line({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}))
        heard = _Heard(process.stdout.fileno())
        if not heard.until(b'"id":"hello"', ANSWERED_SECONDS):
            outcome.break_("MCP does not begin", errors.read_text(errors="replace")[-500:])
        for number in range(given.share(LINES)):
            line = _odd_line(given.chance, number)
            outcome.tried += 1
            outcome.count("lines of MCP")
            ping = _line({"jsonrpc": "2.0", "id": f"ping {number}", "method": "ping"})
            try:
                process.stdin.write(line + ping)
            except BrokenPipeError:
                outcome.break_("MCP ends", errors.read_text(errors="replace")[-500:], repr(line[:500]))
                return
            if not heard.until(f'"id":"ping {number}"'.encode(), ANSWERED_SECONDS):
                outcome.break_("MCP hangs", repr(line[:200]), repr(line[:500]))
                break
            if _is_request(line, number) and not heard.until(f'"id":{number}'.encode(), ANSWERED_SECONDS):
                outcome.break_("a request over MCP is not answered", repr(line[:200]), repr(line[:500]))
        process.stdin.close()
        process.wait(30)
    if "Traceback" in (text := errors.read_text(errors="replace")):
        outcome.break_("a traceback of MCP", text[-1500:])


class _Heard:
    """What a process wrote, looked through for what is waited for."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._seen = b""

    def until(self, wanted: bytes, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not re.search(re.escape(wanted) + rb"[,}]", self._seen):
            ready, _, _ = select.select([self._file], [], [], max(end - time.monotonic(), 0))
            piece = os.read(self._file, 1 << 20) if ready else b""
            if not piece:
                return False
            self._seen = (self._seen + piece)[-4_000_000:]
        return True


def _line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _is_request(line: bytes, number: int) -> bool:
    """Whether somebody waits for an answer: it is one message with this number and the name of a method."""
    try:
        message = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(message, dict)
        and message.get("id") == number
        and type(message["id"]) is int
        and isinstance(message.get("method"), str)
    )


def _odd_line(chance: random.Random, number: int) -> bytes:
    maker = Maker(chance, {"components": {"schemas": {}}, "paths": {}}, ["boiler.md", "long.txt"], [])
    arguments: Any = {"question": chance.choice(STRINGS)}
    name = chance.choice(("ask", "search", "read_document", "search", chance.choice(STRINGS)))
    if name == "read_document":
        arguments = {"id": chance.choice((*STRINGS, "boiler.md", "long.txt"))}
    for extra in ("k", "start", "characters", "style", "min_chance", chance.choice(STRINGS)):
        if chance.random() < 0.2:
            arguments[extra] = maker._odd(0)
    if chance.random() < 0.1:
        arguments = maker._odd(0)
    message: Any = {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    draw = chance.random()
    if draw < 0.15:
        message["method"] = chance.choice(
            ("tools/list", "ping", "resources/read", "prompts/get", "initialize", chance.choice(STRINGS))
        )
        message["params"] = maker._odd(0)
    elif draw < 0.25:
        message[chance.choice(("jsonrpc", "id", "params", "method", "result", "error"))] = maker._odd(0)
    line = (
        json.dumps(message).encode()
        if chance.random() < 0.9
        else json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )
    if chance.random() < 0.15:
        at = chance.randrange(len(line))
        line = chance.choice(
            (
                line[:at],
                line[:at] + chance.randbytes(2).replace(b"\n", b"") + line[at:],
                b"[" * 5000,
                b"[" + line + b"]",
                b"",
            )
        )
    return line.replace(b"\n", b"").replace(b"\r", b"") + b"\n"


ODD_REQUESTS = Campaign(
    name="requests",
    unit="requests",
    over="every route of /openapi.json, bytes that are hardly HTTP, and lines of MCP; with and without keys, with and "
    "without the networks",
    attempts=30,
    seconds=1800,
    attempt=attempt,
)
