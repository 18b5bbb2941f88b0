"""How hard the tests try: enough to fail always, much more where WHEREFROM_TEST_ALL=1 asks for it (`make test-all`)."""

from __future__ import annotations

import os

ALL = os.environ.get("WHEREFROM_TEST_ALL", "0") not in ("", "0")


def times(always: int, all_of_them: int) -> int:
    """How often something that happens by chance is tried."""
    return all_of_them if ALL else always
