"""Nothing leaves the machine: real processes of the commands that meet documents, watched from within and without.

From within by an audit hook, in the process and in each that it starts: every socket, every look-up of a name and every
file that Python opens for writing. From without by strace, where it is there, which also sees what native code does, as
onnxruntime's telemetry did. And their home is an empty folder that has to stay empty.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

pytest.importorskip("mcp", reason="`pip install 'wherefrom[server]'` brings mcp")

from bench.measure import ROOT

QUESTION = "When did Iceland become a republic?"
HOOK = """
import os, sys
file = os.open(os.environ["WATCHED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
at_folders = ("os.mkdir", "os.remove", "os.rmdir")
changing = (*at_folders, "os.rename", "os.symlink", "os.link", "os.truncate", "os.chmod", "os.utime", "sqlite3.connect")
own_object = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")

def note(what, about):
    os.write(file, f"{what}\\t{about}\\n".encode("utf-8", "backslashreplace"))

def hook(event, given):
    if event.startswith("socket.") and event != "socket.__new__":
        note(event, given[1:] if event in own_object else given)
    elif (event == "open" and isinstance(given[2], int) and given[2] & writing) or event in changing:
        if isinstance(given[0], (str, bytes)):
            folder = f"/proc/self/fd/{given[-1]}" if event in at_folders and given[-1] >= 0 else "."
            note("write", os.path.join(os.path.realpath(folder), os.fsdecode(given[0])))

sys.addaudithook(hook)
"""
# strace, where it may look at our processes.
MAKING = "creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,truncate"
TRACED = f"network,open,openat,{MAKING}"
# What no test of ours opens for writing, and every process may.
_ANYWHERE = ("/dev/null", "/dev/shm", "/dev/tty", "/proc/self")


@dataclass
class Place:
    """Where the processes live: nothing but `library` and `temporary` may be written to."""

    folder: Path

    @property
    def library(self) -> Path:
        return self.folder / "library"

    def environment(self, notes: Path) -> dict[str, str]:
        fresh = {
            name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_", "WHEREFROM_"))
        }
        before = os.environ.get("PYTHONPATH", "")
        return {
            **fresh,
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "temporary"),
            "PYTHONPATH": os.pathsep.join(part for part in (str(self.folder / "hook"), before) if part),
            "PYTHONDONTWRITEBYTECODE": "1",
            "WATCHED": str(notes),
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("offline")
    for name in ("home", "temporary", "hook", "here", "notes", "sent"):
        (folder / name).mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    for name in ("iceland.html", "greenland.html"):
        for file in (ROOT / "sample" / "library").rglob(name):
            shutil.copy(file, folder / "sent")
    return Place(folder)


@pytest.fixture(scope="module")
def filled(place: Place) -> Place:
    run(place, "ingest", "ingest", str(place.folder / "sent"), "--library", str(place.library), "-q")
    return place


def traceable() -> bool:
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


STRACE = traceable()


def started(place: Place, name: str, *arguments: str, **pipes: object) -> subprocess.Popen[bytes]:
    notes = place.folder / "notes"
    traced = ["strace", "-f", "-qq", "-o", str(notes / f"{name}.trace"), "-e", f"trace={TRACED}"] if STRACE else []
    command = [*traced, sys.executable, "-m", "wherefrom", *arguments]
    environment = place.environment(notes / f"{name}.events")
    return subprocess.Popen(command, cwd=place.folder / "here", env=environment, **pipes)  # type: ignore[call-overload,no-any-return]


def run(place: Place, name: str, *arguments: str, given: bytes = b"") -> str:
    process = started(place, name, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = process.communicate(given, timeout=120)
    assert process.returncode == 0, errors.decode()
    return out.decode()


def harmless(place: Place, name: str, listens: bool = False) -> None:
    """What a command did: no address but our own, no look-up, no file outside the library and the temporary folder."""
    events = [line.split("\t", 1) for line in (place.folder / "notes" / f"{name}.events").read_text().splitlines()]
    assert [each for each in events if each[0] == "write"], "the hook has seen nothing"
    own = [("socket.bind", "('127.0.0.1'"), ("socket.getaddrinfo", "('127.0.0.1'")] if listens else []
    sockets = [
        (event, what)
        for event, what in events
        if event != "write" and not any(event == known and begin in what for known, begin in own)
    ]
    assert sockets == []
    strange(place, [what for event, what in events if event == "write"])
    if STRACE:
        traced(place, (place.folder / "notes" / f"{name}.trace").read_text(errors="replace"), listens)
    assert list((place.folder / "home").iterdir()) == []
    assert list((place.folder / "here").iterdir()) == []
    assert list((place.folder / "temporary").iterdir()) == []


def strange(place: Place, files: list[str]) -> None:
    allowed = (str(place.library), str(place.folder / "temporary"), str(place.folder / "notes"), *_ANYWHERE)
    plain = [re.sub(r".*file:/*(/[^?]*).*", r"\1", file) for file in files]  # SQLite's way to name a file
    assert [file for file in plain if not file.startswith(allowed)] == []


def traced(place: Place, text: str, listens: bool) -> None:
    calls = [line.partition(" ")[2].strip() for line in text.splitlines()]
    spoken_to = [call for call in calls if re.match(r"(connect|sendto|sendmsg|sendmmsg)\(.*AF_INET", call)]
    assert spoken_to == []
    assert [call for call in calls if re.match(r"connect\(.*AF_(UNIX|NETLINK)", call) and "nscd" not in call] == []
    made = [call for call in calls if re.match(r"socket\(AF_(INET|PACKET)", call)]
    assert len(made) <= listens, made
    bound = [call for call in calls if call.startswith("bind(")]
    assert all("127.0.0.1" in call for call in bound)
    assert [call for call in calls if re.search(r'"/etc/(resolv\.conf|hosts)"', call)] == []
    changes = rf"(open|openat)\(.*O_(WRONLY|RDWR|CREAT)|({MAKING.replace(',', '|')})\("
    writing = [call for call in calls if re.match(changes, call)]
    absolute = [re.findall(r'"(/[^"]*)"', call) for call in writing if " = -1 " not in call]
    strange(place, [path for paths in absolute for path in paths])


def test_ingest(filled: Place) -> None:
    harmless(filled, "ingest")


def test_ask(filled: Place) -> None:
    assert "1944" in run(filled, "ask", "ask", QUESTION, "--library", str(filled.library))
    harmless(filled, "ask")


def test_mcp(filled: Place) -> None:
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    asked = {"name": "ask", "arguments": {"question": QUESTION}}
    with started(filled, "mcp", "mcp", str(filled.library), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, (method, parameters) in enumerate((("initialize", hello), ("tools/call", asked))):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        assert b"1944" in line
        process.stdin.close()
        assert process.wait(30) == 0
    harmless(filled, "mcp")


@pytest.fixture
def address(filled: Place) -> Iterator[str]:
    log = filled.folder / "notes" / "serve.log"
    with log.open("wb") as errors:
        process = started(filled, "serve", "serve", str(filled.library), "--port", "0", stderr=errors)
    try:
        until = time.monotonic() + 60
        while not (match := re.search(r"http://[^/]+", log.read_text())):
            assert time.monotonic() < until
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        while not _is_ready(match[0]):
            assert time.monotonic() < until
            time.sleep(0.1)
        yield match[0]
        assert b"INFO" in log.read_bytes()
    finally:
        _ended(process)
    harmless(filled, "serve", listens=True)


def _is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/ready", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Strace passes no signal on: what it started is ended, and it ends with it."""
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
    )
    for number in [int(line) for line in children.stdout.split()] if STRACE else [process.pid]:
        os.kill(number, signal.SIGTERM)
    try:
        process.wait(40)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def test_serve(address: str) -> None:
    answer = httpx.post(f"{address}/ask", json={"question": QUESTION, "stream": False}, timeout=60)
    assert answer.json()["answer"]["text"] == "17 June 1944"
    sent = httpx.post(f"{address}/documents", params={"wait": 30}, files={"files": ("a.txt", b"A text.")}, timeout=60)
    assert sent.json()["state"] == "done", sent.text
    assert httpx.get(f"{address}/", timeout=20).status_code == 200


def test_the_watchers_see_what_they_are_there_for(place: Place, tmp_path: Path) -> None:
    """A process that looks a host up, speaks to an address and writes to its home is noticed."""
    code = (
        "import socket, pathlib\n"
        "pathlib.Path.home().joinpath('id').write_text('me')\n"
        "pathlib.Path.home().joinpath('id').unlink()\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.connect(('203.0.113.1', 9))\n"
        "try: socket.getaddrinfo('telemetry.invalid', 443)\n"
        "except OSError: pass\n"
    )
    notes, trace = place.folder / "notes" / "bad.events", place.folder / "notes" / "bad.trace"
    command = ["strace", "-f", "-qq", "-o", str(trace), "-e", f"trace={TRACED}"] if STRACE else []
    subprocess.run([*command, sys.executable, "-c", code], env=place.environment(notes), cwd=tmp_path, check=True)
    events = notes.read_text()
    assert "socket.connect\t(('203.0.113.1', 9),)" in events
    assert "socket.getaddrinfo\t('telemetry.invalid'" in events
    with pytest.raises(AssertionError):
        harmless(place, "bad")
    if STRACE:
        with pytest.raises(AssertionError, match=r"203\.0\.113\.1"):
            traced(place, trace.read_text(), listens=False)
