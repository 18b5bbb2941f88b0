"""What every bench does around its measuring: exit codes, verdicts, and result files that are whole or absent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.corpus import DataMissing
from bench.measure import MeasureFailed
from bench.report import Verdict
from wherefrom.durable import write_text
from wherefrom.runtime.weights import WeightsError


def exit_code(measure: Callable[[], Sequence[Verdict]]) -> int:
    """0 done, whatever the verdicts; 1 a measurement failed; 2 no data or weights; 130 interrupted."""
    try:
        verdicts = measure()
    except (DataMissing, WeightsError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except MeasureFailed as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted; no results were written", file=sys.stderr)
        return 130
    for verdict in verdicts:
        print(f"{'met   ' if verdict.met else 'FAILED'}  {verdict.what}: {verdict.measured} ({verdict.asked})")
    return 0


def write(out: Path, markdown: str, data: Mapping[str, Any]) -> None:
    """The Markdown file and the JSON beside it, each whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, markdown)
    write_text(out.with_suffix(".json"), json.dumps(data) + "\n")
