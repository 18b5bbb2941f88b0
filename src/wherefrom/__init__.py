"""wherefrom answers questions from your own documents and shows where every word came from."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

__version__ = "0.2.0"
__all__ = ["Library", "__version__", "why"]

if TYPE_CHECKING:
    from wherefrom.library import Library as Library
    from wherefrom.reasons import why as why

# onnxruntime decides on telemetry when it is first imported, by whomever: it is turned off here, for child processes
# too. Where that is too late, `runtime/onnx.py` says so.
if "onnxruntime" not in sys.modules:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def __getattr__(name: str) -> object:
    """Load the front door only when it is used: `import wherefrom` itself costs nothing."""
    if name == "Library":
        from wherefrom.library import Library

        return Library
    if name == "why":
        from wherefrom.reasons import why

        return why
    raise AttributeError(f"module 'wherefrom' has no attribute '{name}'")
