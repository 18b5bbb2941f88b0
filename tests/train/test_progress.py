"""What is said of long work."""

from __future__ import annotations

from wherefrom.train.progress import paced


def test_progress_tells_rate_and_time_left() -> None:
    said: list[str] = []
    report = paced("judge", said.append, every=0.0)
    report(10, 40)
    report(20, 40)
    report(40, 40)
    assert said[0].startswith("judge: 20 of 40, ")
    assert "/s, " in said[0]
    assert said[0].endswith(" left")
    assert "left" not in said[1]
