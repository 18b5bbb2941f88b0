"""The folder with real datasets, for the tests that read them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder that WHEREFROM_DATA names."""
    named = os.environ.get("WHEREFROM_DATA")
    if not named:
        pytest.skip("WHEREFROM_DATA does not name a folder with the real datasets")
    return Path(named)
