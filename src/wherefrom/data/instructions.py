"""Reading comprehension written as an instruction: `Passage: ... Question: ...` and a list of targets.

The form in which the Super-NaturalInstructions collection keeps Quoref, DROP, ROPES and MultiRC. It put a full stop
after every target, which is taken off again. The labels stand at the beginning of lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from wherefrom.data.faults import RecordPlace
from wherefrom.data.opening import json_records


class Instruction(msgspec.Struct):
    """One instruction."""

    input: str
    target: list[str]


def parts(path: Path, labels: Sequence[str]) -> Iterator[tuple[RecordPlace, Mapping[str, str], tuple[str, ...]]]:
    """Of every record its place, the texts by label and the targets."""
    for place, record in json_records(path, Instruction):
        if not record.target:
            raise place.fault("target: expected at least one answer")
        yield place, _cut(record.input, labels, place), tuple(_bare(target) for target in record.target)


class Passages:
    """Numbers the passages in the order they are first seen: several questions share one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ids: dict[str, str] = {}

    def id(self, text: str) -> str:
        return self._ids.setdefault(text, f"{self._name}-{len(self._ids) + 1}")


def _cut(input: str, labels: Sequence[str], place: RecordPlace) -> dict[str, str]:
    """The texts between the labels; the last mark of a label counts, since a passage may hold the same words."""
    texts: dict[str, str] = {}
    end = len(input)
    for label in reversed(labels):
        at = 0 if label == labels[0] else input.rfind(f"\n{label}", 0, end) + 1
        if not input.startswith(label, at):
            raise place.fault(f"input: expected a line that begins with {label!r}")
        texts[label] = input[at + len(label) : end].strip()
        end = at
    return texts


def _bare(target: str) -> str:
    return target.strip().removesuffix(".")
