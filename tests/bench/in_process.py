"""A bench whose measurements run in this process, where torch is loaded already; but for the first of the shipped form.

That processes of their own start, are watched and fail loudly is tested with the library's bench.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bench.measure import Peak

from bench import measure


def run_children_here(patch: pytest.MonkeyPatch) -> None:
    """Have `measure.child` call the module's `main` in place of starting a process, all times but one."""
    real, seen = measure.child, set[str]()

    def child(
        module: str, job: Mapping[str, Any], name: str, work: Path, watch: bool = True
    ) -> tuple[dict[str, Any], Peak]:
        if job["system"] == "int8" and module not in seen:
            seen.add(module)
            return real(module, job, name, work, watch)
        file = work / f"{name}.job"
        file.write_text(json.dumps(job), encoding="utf-8")
        importlib.import_module(module).main(file)
        result: dict[str, Any] = json.loads(file.with_suffix(".result").read_text(encoding="utf-8"))
        return result, Peak(result["high_water_bytes"], 0)

    patch.setattr(measure, "child", child)
