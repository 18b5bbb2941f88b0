"""Whether what serving needs is installed."""

from __future__ import annotations

from importlib.util import find_spec

from wherefrom.errors import WherefromError


def need(*packages: str) -> None:
    """Say what to install, where a package of the `server` extra is missing."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise WherefromError(
            f"this needs {', '.join(missing)}, which a plain install leaves out; install 'wherefrom[server]'"
        )
