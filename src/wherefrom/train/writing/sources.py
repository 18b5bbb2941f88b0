"""The datasets that writing is learned from, by name; the material's column `source` holds places in this list."""

from __future__ import annotations

from collections.abc import Mapping

from wherefrom.errors import SettingsError

SOURCES = ("ten-passages", "narrativeqa", "qa2d", "vanilla", "vquanda", "paraqa")


def check_shares(shares: Mapping[str, float]) -> None:
    """An error for a name that is no source."""
    for name in shares:
        if name not in SOURCES:
            raise SettingsError(f"shares.{name}: there is no such source; there are {', '.join(SOURCES)}")
