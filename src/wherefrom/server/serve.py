"""Runs the server: one process, or several that share the library."""

from __future__ import annotations

import json
import logging
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from wherefrom.config import Settings, from_mapping, to_mapping
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.server.folder import ServerFolder
from wherefrom.server.keys import Keys
from wherefrom.server.needs import need
from wherefrom.store.postgres_server import keep_password

if TYPE_CHECKING:
    from fastapi import FastAPI

_BACKLOG = 128  # connections that wait to be accepted
_SERVED = "WHEREFROM_SERVE"  # how worker processes learn what to serve


def serve(library: Path, settings: Settings, create: bool, announce: Callable[[str], None]) -> None:
    """Serve until it is stopped; then answer the questions under way, and end."""
    need("fastapi", "uvicorn", "multipart", "prometheus_client")
    import uvicorn

    from wherefrom.library import Library
    from wherefrom.server.connections import Connection, LimitedConfig, Limits, effective
    from wherefrom.server.guard import is_loopback

    server = settings.server
    with Library(library, settings) as opened:
        if create:
            opened.make()
        documents = opened.counts()[0]  # says so, if there is none
    server_folder = ServerFolder(library)
    server_folder.make()
    if not Keys(server_folder).all() and not is_loopback(server.host):
        raise SettingsError(
            f"{server.host} can be reached from other machines, and the library has no keys: anybody could read it. "
            "Make one with `wherefrom keys add NAME`, or leave server.host at 127.0.0.1"
        )
    keep_password(settings.store.url)  # the settings that other processes are given are without it
    os.environ[_SERVED] = json.dumps({"library": str(library.absolute()), "settings": to_mapping(settings)})
    with ExitStack() as around:
        if server.workers > 1:
            # Counts of all workers, added up for each request of /metrics; nobody needs them afterwards.
            folder = around.enter_context(tempfile.TemporaryDirectory(prefix="wherefrom-"))
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        listening = around.enter_context(_bound(server.host, server.port))
        config = LimitedConfig(
            "wherefrom.server.serve:app_of_this_process",
            factory=True,
            host=server.host,
            workers=server.workers,
            http=Connection,
            ws="none",
            backlog=_BACKLOG,
            access_log=False,  # it would name documents; the guard logs without
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_worker_healthcheck=30,  # a worker that reads for others answers its parent late
            timeout_keep_alive=15,
            timeout_graceful_shutdown=int(server.seconds) + 5,
            h11_max_incomplete_event_size=65_536,
        )
        config.limits = Limits(effective(server.connections), server.client_seconds)
        port = listening.getsockname()[1]
        shown = f"[{server.host}]" if ":" in server.host else server.host
        announce(f"serving {documents:,} documents at http://{shown}:{port}/ (Ctrl-C ends it)")
        _log_plainly()
        if server.workers > 1:
            from uvicorn.supervisors import Multiprocess

            Multiprocess(config, sockets=[listening]).run()  # starts a worker again that has died
        else:
            uvicorn.Server(config).run(sockets=[listening])


def app_of_this_process() -> FastAPI:
    """What each worker serves, as the command that started it said."""
    from wherefrom.library import Library
    from wherefrom.server.app import create_app

    served = json.loads(os.environ[_SERVED])
    _log_plainly()
    settings = from_mapping(served["settings"])
    return create_app(Library(served["library"], settings), settings.server)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's delay (40 ms an answer) off only where it is.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise WherefromError(
            f"{host}:{port} cannot be listened on: {error.strerror or error}; name another with --port"
        ) from error
    listening.set_inheritable(True)
    return listening


def _log_plainly() -> None:
    """Requests without what is in them, on standard error."""
    logging.basicConfig(format="%(asctime)s %(process)d %(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # its warnings are of clients that speak no HTTP
