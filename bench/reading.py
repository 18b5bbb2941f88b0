"""Measure what reading and cutting cost a passage, by kind of file: python -m bench.reading FOLDER."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import facts
from bench.running import WORK
from wherefrom.config import IngestSettings
from wherefrom.durable import write_text
from wherefrom.errors import IngestError
from wherefrom.ingest.formats import Record, read
from wherefrom.ingest.split import split


@dataclass
class Reading:
    """Files of one suffix; CPU seconds of this process, so other work on the machine counts for little."""

    files: int = 0
    passages: int = 0
    megabytes: float = 0.0
    read_cpu_s: float = 0.0
    cut_cpu_s: float = 0.0
    refused: int = 0

    def add(self, file: Path) -> None:
        begun = time.process_time()
        try:
            texts = [each.text for each in read(file, IngestSettings(ocr=False)) if isinstance(each, Record)]
        except IngestError:
            self.refused += 1
            return
        done = time.process_time()
        self.passages += sum(len(split(text)) for text in texts)
        self.cut_cpu_s += time.process_time() - done
        self.read_cpu_s += done - begun
        self.files += 1
        self.megabytes += file.stat().st_size / 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.reading", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=WORK / "reading.json", help="(default %(default)s)")
    options = parser.parse_args(arguments)
    kinds: dict[str, Reading] = defaultdict(Reading)
    for file in sorted(options.folder.rglob("*")):
        if file.is_file():
            kinds[file.suffix.removeprefix(".")].add(file)
    report = {
        kind: asdict(each)
        | {"read_us": 1e6 * each.read_cpu_s / each.passages, "cut_us": 1e6 * each.cut_cpu_s / each.passages}
        for kind, each in kinds.items()
        if each.passages
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    commit = facts.collect().commit
    write_text(
        options.out, json.dumps({"facts": {"commit": commit, "date": datetime.now(UTC).date().isoformat()}, **report})
    )
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
