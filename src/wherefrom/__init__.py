"""wherefrom answers questions from your own documents and shows where every word came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.2.0"
__all__ = ["Library", "__version__", "why"]

if TYPE_CHECKING:
    from wherefrom.library import Library as Library
    from wherefrom.reasons import why as why


def __getattr__(name: str) -> object:
    """Load the front door only when it is used: `import wherefrom` itself costs nothing."""
    if name == "Library":
        from wherefrom.library import Library

        return Library
    if name == "why":
        from wherefrom.reasons import why

        return why
    raise AttributeError(f"module 'wherefrom' has no attribute '{name}'")
