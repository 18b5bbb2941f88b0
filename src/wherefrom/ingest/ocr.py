"""What is written on pictures: the lines of a scanned page in reading order, by networks that come with the extra."""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

REMEDY = "`pip install 'wherefrom[ocr]'` reads what is written on it"
_SURE = 0.6  # of a line, as its network says; below, smudges are read as letters
_GAP = 1.0  # of a line's height: what is farther apart, in a column or between columns, belongs to different blocks
_DEEPEST = 12  # cuts of a page, one in the other
_SHARE_OF_TIME = 0.8  # of what a file may take, for its pictures; the rest is for what was read of them
_one_at_a_time = threading.Lock()


def available() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("rapidocr") is not None


class PictureReader:
    """Reads the pictures of one file, as long as there is time for it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds * _SHARE_OF_TIME
        self._begun = (time.monotonic(), time.process_time())

    @property
    def has_time(self) -> bool:
        """Time of the clock and of the processor: whichever is over first."""
        now = (time.monotonic(), time.process_time())
        return all(after - before < self._seconds for before, after in zip(self._begun, now, strict=True))

    def lines(self, picture: NDArray[Any]) -> list[str]:
        """The lines on a picture (height, width, colours), a blank one between blocks."""
        with _one_at_a_time:
            result = _engine()(picture)
        seen = zip(result.boxes, result.txts, result.scores, strict=True) if result.boxes is not None else ()
        boxes = [_Box.around(corners, text) for corners, text, sure in seen if sure >= _SURE and text.strip()]
        lines: list[str] = []
        for block in _blocks(boxes):
            lines += [""] if lines else []
            lines += [" ".join(box.text for box in row) for row in _rows(block)]
        return lines


def unread(page: int, pages: int) -> tuple[str, str]:
    """The complaint about pictures that no time was left for."""
    which = f"page {page}" if page == pages else f"pages {page} to {pages}"
    return which, "no time was left to read what is written there; raise ingest.seconds_per_file"


@cache
def _engine() -> Callable[[NDArray[Any]], Any]:
    """Loaded once a process: it takes a second. Its networks lie in its package, so nothing is fetched."""
    from rapidocr import RapidOCR

    threads = max((os.cpu_count() or 2) // 2, 1)  # the other half writes to the library meanwhile
    params = {"Global.log_level": "critical", "EngineConfig.onnxruntime.intra_op_num_threads": threads}
    engine: Callable[[NDArray[Any]], Any] = RapidOCR(params=params)
    return engine


# ------------------------------------------------------------------------------------------ reading order


@dataclass(frozen=True, slots=True)
class _Box:
    """A line, or a part of one, and where it stands on the picture."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, corners: Sequence[Sequence[float]], text: str) -> _Box:
        across, down = [float(corner[0]) for corner in corners], [float(corner[1]) for corner in corners]
        return cls(" ".join(text.split()), min(across), min(down), max(across), max(down))


def _blocks(boxes: list[_Box], depth: int = 0) -> Iterator[list[_Box]]:
    """The page cut where it is empty from side to side, then from top to bottom, and so on: columns come one by one."""
    if not boxes:
        return
    height = sorted(box.bottom - box.top for box in boxes)[len(boxes) // 2]
    for low, high in (("top", "bottom"), ("left", "right")):
        parts = _cut(boxes, low, high, _GAP * height)
        if low == "left" and min(map(len, parts)) < 3:
            continue  # a table, or a number at the edge: its rows are lines
        if len(parts) > 1 and depth < _DEEPEST:
            for part in parts:
                yield from _blocks(part, depth + 1)
            return
    yield boxes


def _cut(boxes: list[_Box], low: str, high: str, gap: float) -> list[list[_Box]]:
    """The boxes parted where between them nothing is for more than `gap`."""
    ordered = sorted(boxes, key=lambda box: float(getattr(box, low)))
    parts = [[ordered[0]]]
    reached: float = getattr(ordered[0], high)
    for box in ordered[1:]:
        if getattr(box, low) - reached > gap:
            parts.append([])
        parts[-1].append(box)
        reached = max(reached, getattr(box, high))
    return parts


def _rows(boxes: list[_Box]) -> Iterator[list[_Box]]:
    """The lines of a block: what stands at half of the same height is on one line, from left to right."""
    row: list[_Box] = []
    for box in sorted(boxes, key=lambda box: box.top + box.bottom):
        middle = (box.top + box.bottom) / 2
        if row and middle > row[0].bottom - 0.2 * (row[0].bottom - row[0].top):
            yield sorted(row, key=lambda box: box.left)
            row = []
        row.append(box)
    if row:
        yield sorted(row, key=lambda box: box.left)
