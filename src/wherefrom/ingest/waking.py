"""When a watch looks at its folders again: when the system reports a change, else every so often."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wherefrom.ingest.watch import Polling, Waker

_POLL_SECONDS = 2.0  # a look at 10,000 files takes a tenth of a second


@contextmanager
def waker(folders: Sequence[Path], stop: threading.Event, poll: float | None) -> Iterator[Waker]:
    """Reports of the system, where `watchfiles` is installed and `poll` is None; else a look every `poll` seconds."""
    if poll is not None or importlib.util.find_spec("watchfiles") is None:
        yield Polling(_POLL_SECONDS if poll is None else poll, stop)
        return
    reports = Reports(folders, stop)
    try:
        yield reports
    finally:
        reports.end()


class Reports:
    """Hears from the system that something has changed; what exactly, a look tells better.

    A folder that is not there, or a system that has no more reports to give, is looked at now and then instead.
    """

    def __init__(self, folders: Sequence[Path], stop: threading.Event) -> None:
        self._folders = folders
        self._stop = stop
        self._happened = threading.Event()
        self._ending = threading.Event()
        self._listening = threading.Thread(target=self._listen, name="wherefrom-watch", daemon=True)
        self._listening.start()

    def wait(self, seconds: float) -> None:
        if not self._listening.is_alive():
            self._stop.wait(min(seconds, _POLL_SECONDS))
            if not self._ending.is_set() and all(folder.is_dir() for folder in self._folders):
                self._listening = threading.Thread(target=self._listen, name="wherefrom-watch", daemon=True)
                self._listening.start()
            return
        step = 0.2  # in which a stop is noticed
        while seconds > 0 and not self._stop.is_set() and not self._happened.wait(min(step, seconds)):
            seconds -= step
        self._happened.clear()

    def end(self) -> None:
        self._ending.set()
        self._listening.join(5.0)

    def _listen(self) -> None:
        from watchfiles import watch

        try:
            for _ in watch(
                *self._folders, watch_filter=None, debounce=200, stop_event=self._ending, raise_interrupt=False
            ):
                self._happened.set()
        except OSError:  # a folder that is not there, or too many to be reported of
            pass
        finally:
            self._happened.set()
