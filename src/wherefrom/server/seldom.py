"""Lines of the log that would be written again and again are written once in a while, with how often it was."""

from __future__ import annotations

import logging
import threading
import time

_SECONDS = 30.0  # between two of the same
_MOST = 100  # lines that are remembered

_lock = threading.Lock()
_written: dict[tuple[str, str], tuple[float, int]] = {}  # when, and how often it was left out since


def seldom(log: logging.Logger, level: int, text: str) -> None:
    """Log it, unless the same was logged a moment ago."""
    now = time.monotonic()
    with _lock:
        at, left_out = _written.get((log.name, text), (now - _SECONDS, 0))
        if now - at < _SECONDS:
            _written[log.name, text] = (at, left_out + 1)
            return
        if len(_written) >= _MOST:
            _written.clear()
        _written[log.name, text] = (now, 0)
    log.log(level, "%s%s", text, f" (and {left_out} times more since)" if left_out else "")
