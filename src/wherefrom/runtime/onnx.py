"""onnxruntime, loaded so that it tells nobody: the one place that imports it.

From 1.31 on, its import alone writes an id and a database below the user's cache, and a thread of it looks for a host
to report to. `disable_telemetry_events()` comes too late for both; what stops them is `ORT_DISABLE_TELEMETRY` in the
environment before the import, which `import wherefrom` sees to.
"""

from __future__ import annotations

import functools
import os
import warnings
from contextlib import suppress
from types import ModuleType

_AS_ASKED = 1  # how an arena grows; 0 would double it each time
_OFF = ("1", "true", "yes", "on")  # what onnxruntime takes for yes, in any letters


class TelemetryWarning(UserWarning):
    """onnxruntime was loaded by somebody else, with its telemetry on."""


def onnxruntime() -> ModuleType:
    """The library; warns where the caller's own program loaded it before it could be told to keep quiet."""
    if os.environ.get("ORT_DISABLE_TELEMETRY", "").lower() not in _OFF:
        warnings.warn(
            "onnxruntime was imported before wherefrom, with its telemetry on: it keeps an id and a database in your "
            "cache folder and may look a host up. Import wherefrom first, or set ORT_DISABLE_TELEMETRY=1",
            TelemetryWarning,
            stacklevel=2,
        )
    import onnxruntime

    library: ModuleType = onnxruntime
    return library


@functools.cache
def share_arena() -> None:
    """Let sessions that say `session.use_env_allocators` have one arena: each would keep the most it ever needed.

    An arena gives nothing back before its session ends, and by itself takes twice as much each time it lacks room.
    """
    library = onnxruntime()
    about = library.OrtMemoryInfo("Cpu", library.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, library.OrtMemType.DEFAULT)
    growing = library.OrtArenaCfg({"max_mem": 0, "arena_extend_strategy": _AS_ASKED})
    with suppress(Exception):  # of no base class of its own: the caller's own program has one, which then is ours too
        library.create_and_register_allocator(about, growing)
